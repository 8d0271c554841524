"""Numba: kernels written in Python, compiled while the program runs; by NVIDIA's linker, or by the driver from PTX."""

import claims
import real

LOADER = "cydriver."  # cuda-bindings, through which Numba speaks with the driver


def from_memory(entry):
    assert entry["library"] is None and claims.base(entry["loaded_by"]).startswith(LOADER)
    assert "add_one" in (entry.get("name") or entry["kernel"]) and entry["demangled"].startswith("__main__::add_one")


def test_a_numba_kernel_is_made_for_the_gpu_there_is_and_the_report_is_one_line(run):
    out = real.start(run, "numba", "numba_add.py", sm=80)
    assert out.stdout == "copied\nadded\n"
    real.healthy(out)
    (kernel,) = out.report["kernels"]
    from_memory(kernel)
    assert (kernel["launches"], kernel["runs"], kernel["has"]) == (1, "native", ["sm_80"])


def test_ptx_that_numba_hands_to_the_driver_runs_where_the_driver_can_compile_it(run):
    out = real.start(run, "numba", "numba_ptx.py", 80, sm=86)
    assert out.stdout == "PTX 9.0 sm_80\nadded\n"
    real.healthy(out)
    (kernel,) = out.report["kernels"]
    from_memory(kernel)
    assert (kernel["launches"], kernel["runs"], kernel["has"]) == (1, "jit", ["compute_80@9.0"])


def refused(out, api, code, reason):
    assert out.code == 1 and "added" not in out.stdout
    failure = claims.one_failure(out.report)
    from_memory(failure)
    assert (failure["api"], failure["code"], failure["reason"]) == (api, code, reason)
    assert real.program_lines(failure, "numba_ptx.py") == [real.line_of("numba_ptx.py", "launch(stream,")]
    return failure


def test_ptx_for_a_newer_gpu_is_named_with_its_target(run):
    out = real.start(run, "numba", "numba_ptx.py", 90, sm=80)
    failure = refused(out, "cuLaunchKernelEx", 209, "ptx-higher-than-gpu")
    assert failure["has"] == ["compute_90@9.0"] and "sm_80" in failure["needs"]
    assert "memory, not a file; loaded by cuda-bindings 13.0.3" in real.shown(out)


def test_ptx_that_is_newer_than_the_driver_is_told_from_a_missing_image(run):
    """The error that users of Numba know best: a new toolkit on an old driver."""
    out = real.start(run, "numba", "numba_ptx.py", 80, sm=80, driver=12040)
    failure = refused(out, "cuLaunchKernelEx", 222, "ptx-newer-than-driver")
    assert failure["has"] == ["compute_80@9.0"] and "a driver for CUDA 13.0" in failure["needs"]
    text = " ".join(real.shown(out).split())
    assert "its PTX is of a newer version than this driver can compile" in text and "PTX 9.0 needs CUDA 13.0" in text
