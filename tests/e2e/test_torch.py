"""The main job: a real training script on a real, unmodified PyTorch, with and without an image for the GPU.

The script is examples/train.py; the sets are PyTorch for CUDA 12 (2.1.2 where there is one for this Python) and for CUDA
13 (2.15.0). `run` compares stdout, stderr and exit status with those of a run without the library."""

import re

import claims
import pytest
import sets

NO_IMAGE = "CUDA error: no kernel image is available for execution on the device"
UNSUPPORTED = {"torch-cuda12": 120, "torch-cuda13": 70}
# Where a driver may refuse, and this runtime asks: SIM_NO_IMAGE_AT. None is the simulated driver's own choice.
LAZY_PLACES = {
    "torch-cuda12": [None, "load", "module", "modget", "launch", "all"],
    "torch-cuda13": [None, "load", "get", "launch", "all"],
}
EAGER_PLACES = {"torch-cuda12": [None, "module", "launch"], "torch-cuda13": [None, "get", "launch"]}
# Here an EAGER runtime gives up while it starts, before anybody has asked for a kernel.
AT_START = {"torch-cuda12": ["load", "modget", "all"], "torch-cuda13": ["load", "all"]}
MODES = pytest.mark.parametrize("eager", [False, True], ids=["lazy", "eager"])
ALL = pytest.mark.parametrize("name", UNSUPPORTED)


def places(table):
    return pytest.mark.parametrize("name, place", [(n, p) for n, places in table.items() for p in places])


def train(run, name, *arguments, env=None, **keywords):
    return run(sets.python(name), sets.TRAIN, *arguments, env=sets.environment(name, **(env or {})), **keywords)


def traceback(out):
    """(line, function) of each line of the script in Python's own words, the innermost first."""
    found = re.findall(rf'File "{re.escape(str(sets.TRAIN))}", line (\d+), in (\S+)', out.stderr)
    return [(int(line), function) for line, function in reversed(found)]


def explained(out, name, sm, gpu=0):
    """PyTorch says what it always says; the report says which kernel of which library of which package, what it needs, and
    which lines of the script launched it."""
    assert out.code == 1
    assert NO_IMAGE in out.stderr
    version, archs = sets.torch(name)
    failure = claims.one_failure(out.report)
    assert failure["code"] == 209 and failure["gpu"] == gpu
    assert "elementwise_kernel" in failure["kernel"] and "MulFunctor" in failure["kernel"]  # b * x in forward()
    assert sets.short(failure["library"]) == "lib/libtorch_cuda.so"
    assert (failure["package"], failure["version"]) == ("torch", version)
    assert failure["has"] == archs
    assert f"sm_{sm}" in failure["needs"]
    assert (failure["runs"], failure["reason"]) == ("none", "no-image")
    assert {frame["file"] for frame in failure["python_stack"]} == {str(sets.TRAIN)}
    lines = [(frame["line"], frame["function"]) for frame in failure["python_stack"]]
    assert lines == traceback(out) and [function for _, function in lines] == ["forward", "main", "<module>"]
    assert f"train.py:{lines[0][0]} in forward" in out.text
    assert out.report["summary"]["missing"] == 1 and not out.report["summary"]["healthy"]
    for part in (f"torch {version} ", "libtorch_cuda.so", " ".join(archs), f"needs sm_{sm}", "elementwise_kernel"):
        assert part in out.text, f"{part} is not in\n{out.text}"
    return failure


@MODES
@ALL
def test_on_a_supported_gpu_the_training_ends_well_and_the_report_is_one_line(run, name, eager):
    out = train(run, name, sm=80, eager=eager)
    assert out.code == 0 and out.lines[-1].startswith("sin(x) ~ ")
    claims.nothing_failed(out)
    assert re.fullmatch(r"nokernel: \d+ kernels launched, all had an image for this GPU \(sm_80\)\n", out.text)
    assert out.report["summary"]["healthy"] and out.report["summary"]["launched"] >= 10


@places(LAZY_PLACES)
def test_on_an_unsupported_gpu_the_failing_kernel_is_named_wherever_the_driver_refuses(run, name, place):
    out = train(run, name, sm=UNSUPPORTED[name], no_image_at=place)
    explained(out, name, UNSUPPORTED[name])


@places(EAGER_PLACES)
def test_refusals_at_an_eager_start_are_no_failures_until_the_kernel_is_launched(run, name, place):
    out = train(run, name, sm=UNSUPPORTED[name], no_image_at=place, eager=True)
    explained(out, name, UNSUPPORTED[name])


@places(AT_START)
def test_when_an_eager_start_gives_up_the_library_is_named_and_no_kernel_is_invented(run, name, place):
    out = train(run, name, sm=UNSUPPORTED[name], no_image_at=place, eager=True)
    assert out.code == 1 and "no kernel image is available for execution on the device" in out.stderr
    assert out.report["failures"] == []
    assert [sets.short(r["library"]) for r in out.report["refused"]] == ["lib/libtorch_cuda.so"]
    assert "libtorch_cuda.so" in out.text
    assert not out.report["summary"]["healthy"]
    # What is known is enough to say what the library lacks on this GPU, and what to do.
    assert [gpu["sm"] for gpu in out.report["gpus"]] == [f"sm_{UNSUPPORTED[name]}"]
    assert f"needs sm_{UNSUPPORTED[name]}" in out.text and "    has " in out.text
    assert [a["for"] for a in out.report["advice"]][:1] and out.report["advice"][0]["for"].startswith("torch ")


@pytest.mark.parametrize("bad", [0, 1])
@ALL
def test_of_two_gpus_only_the_unsupported_one_is_blamed(run, name, bad):
    sms = [80, 80]
    sms[bad] = UNSUPPORTED[name]
    sm = ",".join(map(str, sms))
    good = train(run, name, f"cuda:{1 - bad}", sm=sm)
    assert good.code == 0
    claims.nothing_failed(good)
    explained(train(run, name, f"cuda:{bad}", sm=sm), name, UNSUPPORTED[name], gpu=bad)


@ALL
def test_without_synchronised_launches_the_report_is_the_same(run, name):
    out = train(run, name, sm=UNSUPPORTED[name], env={"NOKERNEL_SYNC": "off"})
    explained(out, name, UNSUPPORTED[name])


@pytest.mark.parametrize("version", ["12.4", "12.9"])
def test_a_later_runtime_12_under_the_same_pytorch_is_seen_too(run, version):
    runtime = sets.toolkit.runtime_folder(version) / "libcudart.so.12"
    explained(train(run, "torch-cuda12", sm=120, after=[runtime]), "torch-cuda12", 120)


@ALL
def test_computing_on_the_processor_leaves_no_recording_and_no_word(run, name):
    """Without autograd: its threads ask the driver how many GPUs there are, even if all tensors are on the processor."""
    out = run(sets.python(name), "-c", "import torch; print((torch.ones(3) + 1).sum())", env=sets.environment(name))
    assert out.code == 0 and out.recordings == [] and "nokernel" not in out.stderr


@ALL
def test_a_driver_that_runs_what_has_no_image_is_contradicted_in_words(run, name):
    """It refuses only where this runtime never asks, so everything is launched: something is wrong, and it is said."""
    out = train(run, name, sm=UNSUPPORTED[name], no_image_at="global")
    assert out.code == 0 and out.report["failures"] == []
    assert out.report["summary"]["contradictions"] >= 1
    assert "please report this" in " ".join(out.text.split())
