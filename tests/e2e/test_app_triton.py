"""Triton and torch.compile: kernels that are compiled while the program runs, and have no library that they came with."""

import claims
import pytest
import real


@pytest.fixture(scope="module")
def cached(tmp_path_factory):
    """The environment of a user whose Triton has compiled before: each kernel is compiled once in all tests."""
    folder = tmp_path_factory.mktemp("triton")
    fusion = {"TRITON_DEFAULT_FP_FUSION": "1"}  # else it warns of its future
    return {"TRITON_CACHE_DIR": folder / "triton", "TORCHINDUCTOR_CACHE_DIR": folder / "inductor", **fusion}


def add(run, cached, *arguments, **keywords):
    return real.start(run, "triton", "triton_add.py", *arguments, env=cached, **keywords)


MADE = {70: "sm_70", 80: "sm_80", 120: "sm_120a"}  # from sm_90 on Triton compiles for the very GPU, with what only it has


@pytest.mark.parametrize("sm", MADE)
def test_a_triton_kernel_is_made_for_the_gpu_there_is_and_the_report_is_one_line(run, cached, sm):
    """Also on sm_70, that PyTorch itself has nothing for: no kernel of PyTorch's was wanted."""
    out = add(run, cached, sm=sm)
    assert out.stdout == "added\n"
    real.healthy(out)
    (kernel,) = out.report["kernels"]
    assert (kernel["name"], kernel["launches"], kernel["runs"], kernel["has"]) == ("add_one", 1, "native", [MADE[sm]])
    assert kernel["library"] is None  # it was loaded from memory
    assert claims.base(kernel["loaded_by"]).startswith("cuda_utils.")


def test_compiling_under_the_library_changes_nothing(run, cached):
    """Triton starts ptxas and the C compiler, which the library is preloaded into too."""
    real.healthy(add(run, {**cached, "TRITON_ALWAYS_COMPILE": "1"}, sm=80))


def test_a_triton_kernel_that_was_made_for_another_gpu_is_named_with_its_target(run, cached):
    out = add(run, cached, 90, sm=80)
    assert out.code == 1 and f"Triton Error [CUDA]: {real.NO_IMAGE}" in out.stderr
    failure = claims.one_failure(out.report)
    assert (failure["kind"], failure["api"], failure["code"]) == ("load", "cuModuleLoadData", 209)
    assert failure["candidates"] == ["add_one"] and failure["has"] == ["sm_90a"]
    assert "sm_80" in failure["needs"] and failure["reason"] == "arch-specific"
    assert failure["library"] is None and claims.base(failure["loaded_by"]).startswith("cuda_utils.")
    lines = real.program_lines(failure, "triton_add.py")
    assert lines == [real.line_of("triton_add.py", "compiled[(4, 1, 1)]")]
    text = real.shown(out)
    for part in ("add_one", "memory, not a file; loaded by", f"at    triton_add.py:{lines[0]} in <module>"):
        assert part in text, f"{part} is not in\n{text}"


def compiled(run, cached, **keywords):
    return real.start(run, "triton", "torch_compile.py", env=cached, timeout=300, **keywords)


def test_what_torch_compile_makes_is_named_by_its_file_in_the_cache(run, cached):
    out = compiled(run, cached, sm=80)
    assert out.stdout == "forward\nbackward (64, 64)\n"
    real.healthy(out)
    made = [k for k in out.report["kernels"] if k["name"].startswith("triton_")]
    assert len(made) >= 2 and all(k["runs"] == "native" and k["has"] == ["sm_80"] for k in made)
    for kernel in made:
        assert kernel["library"].startswith(str(cached["TRITON_CACHE_DIR"]))
        assert claims.base(kernel["library"]) == kernel["name"] + ".cubin"
        assert claims.base(kernel["loaded_by"]) == "libtorch_python.so"
    own = [k for k in out.report["kernels"] if k not in made]
    assert all(claims.base(k["library"]) == "libtorch_cuda.so" for k in own)


def test_a_kernel_that_the_compiler_itself_needs_is_blamed_and_none_that_it_made(run, cached):
    """Triton compiles for sm_70, but while it does for the way back, PyTorch computes a constant on the GPU."""
    out = compiled(run, cached, sm=70)
    assert out.code == 1 and out.stdout == "forward\n" and "BackendCompilerFailed" in out.stderr
    failure = claims.one_failure(out.report)
    assert (failure["package"], claims.base(failure["library"])) == ("torch", "libtorch_cuda.so")
    assert "FillFunctor" in failure["kernel"] and "sm_70" in failure["needs"]
    line = real.line_of("torch_compile.py", ".backward(")
    assert real.program_lines(failure, "torch_compile.py")[-1] == line
    assert f"at    torch_compile.py:{line} in <module>" in real.shown(out)
    made = [k for k in out.report["kernels"] if k["name"].startswith("triton_")]
    assert made and all((k["failed"], k["runs"], k["has"]) == (0, "native", ["sm_70"]) for k in made)
