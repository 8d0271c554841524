"""TensorFlow: most of its kernels are generated, lie in fat binaries of their own, and are loaded from memory.

640 MB that nobody downloads who did not ask for them: scripts/get-apps tensorflow."""

import pytest

import claims
import real
import sets

ASKED_FOR = (sets.SETS / "tensorflow" / "pip-set.done").exists()
pytestmark = pytest.mark.xfail(not ASKED_FOR, run=False, reason="only where it is asked for: scripts/get-apps tensorflow (640 MB)")
SCRIPT, KERNEL = "tensorflow_add.py", "AddV2_GPU_DT_FLOAT_DT_FLOAT_kernel"


def add(run, sm):
    return real.start(run, "tensorflow", SCRIPT, sm=sm, env={"TF_CPP_MIN_LOG_LEVEL": "3"})


@pytest.mark.parametrize("sm, how", [(80, "native"), (90, "jit")])
def test_where_there_is_code_tensorflow_computes_and_the_report_is_one_line(run, sm, how):
    out = add(run, sm)
    assert out.stdout == "added on device:GPU:0\nsummed\n"
    real.healthy(out)
    assert real.kernels(out.report)[KERNEL]["runs"] == how


@pytest.mark.parametrize("sm, code", [(50, 209), (120, 218)])
def test_invalid_handle_is_explained_by_the_kernel_that_was_refused_before(run, sm, code):
    """Its header says PTX for sm_90, its text sm_90a: on newer GPUs "invalid handle" is all that TensorFlow says."""
    out = add(run, sm)
    assert out.code == 1 and "CUDA_ERROR_INVALID_HANDLE" in out.stderr
    failure = claims.one_failure(out.report)
    assert (failure["code"], failure["class"], failure["candidates"]) == (code, "missing-image", [KERNEL]), failure
    assert (failure["package"], failure["reason"]) == ("tensorflow", "arch-specific"), failure
    assert failure["has"] == ["sm_60", "sm_70", "sm_80", "sm_89", "compute_90a@8.3"], failure
    assert (failure["surfaced"]["api"], failure["surfaced"]["code"]) == ("cuLaunchKernel", 400), failure
    assert real.program_lines(failure, SCRIPT) == [real.line_of(SCRIPT, "tf.constant")]
    if sm == 120:
        assert "tensorflow 2.21.0 runs on sm_120" in real.shown(out)
