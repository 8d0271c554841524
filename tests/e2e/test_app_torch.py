"""What training on PyTorch is made of, with the real cuBLAS: attention under autocast, CUDA graphs, a Llama."""

import claims
import pytest
import real


def blamed(out, script, text, sm=70):
    """One kernel of PyTorch's has no image, and that line of the script wanted it."""
    assert out.code == 1 and real.NO_IMAGE in out.stderr
    failure = claims.one_failure(out.report)
    assert (failure["code"], failure["package"], claims.base(failure["library"])) == (209, "torch", "libtorch_cuda.so")
    assert (failure["runs"], failure["reason"]) == ("none", "no-image") and f"sm_{sm}" in failure["needs"]
    line = real.line_of(script, text)
    assert real.program_lines(failure, script) == [line]
    assert f"{script}:{line} in <module>" in real.shown(out)
    assert out.report["summary"]["missing"] == 1
    return failure


def launched(out):
    return [kernel for kernel in out.report["kernels"] if kernel["launches"]]


def test_attention_under_autocast_raises_no_alarm_and_who_brought_each_kernel_is_known(run):
    out = real.start(run, "cudnn", "torch_attention.py", sm=80)
    assert out.lines[1:] == ["attention (2, 4, 16, 16) torch.float16", "gradient (2, 16, 64)"]
    real.healthy(out)
    assert all(kernel["runs"] == "native" and kernel["failed"] == 0 for kernel in launched(out))
    # cuBLAS unpacks its kernels of half precision by itself: they come from memory, and who loaded them is known.
    unpacked = [kernel for kernel in launched(out) if kernel["package"] != "torch"]
    assert unpacked and all("cutlass" in kernel["name"] and kernel["library"] is None for kernel in unpacked)
    assert {claims.base(kernel["loaded_by"]) for kernel in unpacked} == {"libcublasLt.so.13"}
    assert any("flash" in kernel["name"] for kernel in launched(out))


def test_under_autocast_the_cast_that_has_no_image_is_named(run):
    """Nobody wrote that kernel: autocast makes half precision of the weights before they are multiplied."""
    out = real.start(run, "cudnn", "torch_attention.py", sm=70)
    failure = blamed(out, "torch_attention.py", "in layer(x).chunk")
    assert "copy_kernel_cuda" in failure["kernel"]


def test_a_captured_step_is_counted_once_and_raises_no_alarm_when_it_is_replayed(run):
    out = real.start(run, "cudnn", "torch_graph.py", sm=80)
    assert out.lines == ["copied", "captured", "replayed (1024,)"]
    real.healthy(out)
    assert any("MulFunctor" in kernel["name"] and kernel["launches"] == 1 for kernel in launched(out))


@pytest.mark.parametrize("place", ["get", "launch"])
def test_a_kernel_without_image_is_named_while_it_is_captured(run, place):
    out = real.start(run, "cudnn", "torch_graph.py", sm=70, no_image_at=place)
    assert out.stdout == "copied\n"
    failure = blamed(out, "torch_graph.py", "(x * weight)")
    assert "MulFunctor" in failure["kernel"]


def test_two_steps_of_training_a_llama_raise_no_alarm(run):
    out = real.start(run, "diffusers", "llama_step.py", sm=80)
    assert out.lines == ["on the GPU 22688", "step 0", "step 1"]
    real.healthy(out)
    packages = {kernel["package"] for kernel in launched(out)}
    assert packages == {"torch", "nvidia-cublas"} and out.report["summary"]["launched"] > 40
    assert any("multi_tensor_apply_kernel" in kernel["name"] for kernel in launched(out))  # AdamW


def test_a_llama_that_cannot_take_a_step_is_explained_with_the_line_of_the_script(run):
    out = real.start(run, "diffusers", "llama_step.py", sm=70)
    failure = blamed(out, "llama_step.py", "labels=words")
    files = [frame["file"] for frame in failure["python_stack"]]
    assert any("/transformers/" in file for file in files)  # the frames between are in the JSON
