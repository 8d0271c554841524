"""`nokernel doctor` on real PyTorch, in the situations in which other tools were compared (S1 to S6)."""

import doctoring
import sets
from doctoring import area, codes, doctor, finding

def examine(name, gpu, *more, **how):
    return doctor("--gpu", gpu, *more, python=sets.python(name), **how)


def test_s1_an_old_torch_on_a_new_gpu_is_the_cause_and_gets_the_index_that_serves_it():
    out = examine("torch-cuda12", "sm_120@580")
    found = finding(out, "D602", "torch")
    assert found["primary"] and found["severity"] == "failure"
    assert any("libtorch_cuda.so" in line and "sm_90" in line and "no PTX" in line for line in found["evidence"])
    assert found["repairs"][0]["command"].endswith(
        'python -m pip install --upgrade "torch>=2.7.0" --index-url https://download.pytorch.org/whl/cu128'
    )
    assert not found["repairs"][0]["safe"]


def test_s1_says_that_a_driver_would_not_help():
    found = finding(examine("torch-cuda12", "sm_120@580"), "D602", "torch")
    assert "newer driver would help" in found["does_not_mean"]
    assert not any("driver" in repair["text"] and "newer driver" in repair["text"] for repair in found["repairs"])


def test_s2_a_new_torch_on_an_old_gpu_keeps_its_version_and_changes_the_index():
    found = finding(examine("torch-cuda13", "sm_70@580"), "D602", "torch")
    assert found["primary"] and '"torch==2.15.0+cu126"' in found["repairs"][0]["command"]


def test_s3_a_gap_in_linear_algebra_alone_is_a_note_and_no_cause():
    out = examine("torch-cuda13", "sm_75@580")
    found = finding(out, "D603", "torch")
    assert found["severity"] == "note" and not found["primary"] and out["nothing_to_change"]
    assert len(found["evidence"]) == 1 and "libtorch_cuda_linalg.so" in found["evidence"][0]
    assert "preferred_linalg_library" in found["repairs"][0]["text"]


def test_s4_what_covers_the_gpu_gives_no_finding_about_coverage():
    for sm in ("sm_86", "sm_89", "sm_90"):
        out = examine("torch-cuda12", f"{sm}@580")
        assert not [c for c in codes(out) if c.startswith("D6")]
        assert area(out, "coverage")["status"] == "ok"


def test_s4_a_driver_of_the_same_major_version_is_not_too_old():
    """torch for CUDA 13.2 on a driver for CUDA 13.0."""
    assert "D114" not in codes(examine("torch-cuda13", "sm_120@13.0"))


def test_a_driver_of_an_older_major_version_is_too_old():
    found = finding(examine("torch-cuda13", "sm_80@12.4"), "D114")
    assert found["primary"] and found["package"] == "torch"


def test_the_gpus_of_the_driver_are_asked_and_each_gets_a_verdict():
    out = doctor(python=sets.python("torch-cuda12"), sm="120,80")
    assert [gpu["sm"] for gpu in out["gpus"]] == ["sm_120", "sm_80"]
    verdicts = {l["path"]: l["verdicts"] for l in out["libraries"]}["torch/lib/libtorch_cuda.so"]
    assert (verdicts["sm_120"]["word"], verdicts["sm_80"]["word"]) == ("none", "native")
    assert finding(out, "D602", "torch")["gpu"] == "sm_120"


def test_the_command_is_for_the_interpreter_that_was_examined():
    found = finding(examine("torch-cuda12", "sm_120@580", "--paths", "full"), "D602", "torch")
    assert all(r["command"].split()[0] == str(sets.python("torch-cuda12")) for r in found["repairs"])


def test_nothing_of_the_framework_is_run():
    """The interpreter is examined under a PATH and a HOME where nothing could be started."""
    out = examine("torch-cuda12", "sm_120", env={"PATH": "/nonexistent"})
    assert out["python"]["version"].startswith("3.") and finding(out, "D602", "torch")
