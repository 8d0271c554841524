"""A real training on a real PyTorch under NOKERNEL_SYNC=trail: left alone when all is well, and explained when a kernel faults."""

import claims
import pytest
import sets

TRAIL = {"NOKERNEL_SYNC": "trail"}
ALL = pytest.mark.parametrize("name", ["torch-cuda12", "torch-cuda13"])


def train(run, name, env):
    return run(sets.python(name), sets.TRAIN, env=sets.environment(name, **TRAIL, **env), sm=80)


@ALL
def test_a_training_under_the_trail_ends_as_without_it(run, name):
    claims.nothing_failed(train(run, name, {}))


@ALL
@pytest.mark.parametrize("markers", ["some", "all"])
def test_the_kernel_that_faulted_is_a_suspect_though_python_learns_of_it_later(run, name, markers):
    """The 2500th launch ends with an illegal address; `run` compares what the script prints with a run without the library."""
    out = train(run, name, {"SIM_FAIL": "cuLaunchKernel@2500~700", "NOKERNEL_MARKERS": markers})
    assert "illegal memory access" in out.stderr
    failure = claims.one_failure(out.report)
    assert (failure["pinned"], failure["code"]) == ("trail", 700), failure
    [stream] = [s for s in failure["trail"] if s["ended"] < s["launched"]]
    suspects = [x for x in stream["launches"] if x["suspect"]]
    [faulted] = [x for x in suspects if x["number"] == 2500]
    assert faulted["package"] == "torch" and failure["python_stack"]
    assert len(suspects) == 1 or markers == "some"
    assert failure["kernel"] == (faulted["kernel"] if len({x["kernel"] for x in suspects}) == 1 else None)
    assert len(suspects) < 256 and "suspect" in out.text
