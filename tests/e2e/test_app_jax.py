"""JAX: XLA compiles every kernel for the GPU there is, and hands it over from memory."""

import claims
import real
from fixtures import toolkit

# Not the simulated driver's affair: how much memory is taken at once, and versions of libraries that are stand-ins.
SETTINGS = {
    "JAX_PLATFORMS": "cuda",
    "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1",
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    "XLA_FLAGS": f"--xla_gpu_cuda_data_dir={toolkit.NVCC.parent.parent}",  # its ptxas
}


def step(run, *arguments, **keywords):
    return real.start(run, "jax", "jax_step.py", *arguments, env=SETTINGS, **keywords)


def test_what_jax_compiles_is_named_with_who_loaded_it_and_the_report_is_one_line(run):
    out = step(run, sm=80)
    assert out.stdout == "on NVIDIA A100-SXM4-40GB\ncompiled\ncomputed\n"
    real.healthy(out)
    kernels = out.report["kernels"]
    assert len(kernels) >= 2 and any("fusion" in kernel["name"] for kernel in kernels)
    for kernel in kernels:
        assert (kernel["runs"], kernel["has"], kernel["library"]) == ("native", ["sm_80"], None)
        assert claims.base(kernel["loaded_by"]) == "xla_cuda_plugin.so"


def test_a_step_that_was_kept_from_another_gpu_is_refused_by_jax_itself_and_nothing_is_invented(run, tmp_path):
    """XLA compares architectures before it asks the driver: there is no kernel to blame, and none is blamed."""
    kept = tmp_path / "step"
    real.healthy(step(run, "save", kept, sm=90))
    out = step(run, "load", kept, sm=80)
    assert out.code == 1 and "compute capability of serialized executable doesn't match" in out.stderr
    assert out.report["failures"] == [] and out.report["probes"] == []
    assert real.shown(out) == "nokernel: no kernel was launched; it ended with 1\n"
