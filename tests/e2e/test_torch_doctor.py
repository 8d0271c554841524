"""`nokernel doctor` on real PyTorch, in the situations in which other tools were compared (S1 to S6)."""

import doctoring
import re
import shutil

import pytest
import sets
from doctoring import Environment, area, checked, codes, doctor, finding, run as run_doctor


@pytest.fixture
def whole(tmp_path):
    """whole(set) is an environment with that set's real packages, and metadata of all that its torch requires.

    The sets have stand-ins for cuBLAS and others, which the loader finds as it does in a run.
    """

    def stage(name):
        env = Environment(tmp_path, whole=False, base=tmp_path)
        for entry in sets.site(name).iterdir():
            (env.site / entry.name).symlink_to(entry)
        metadata = next(env.site.glob("torch-*.dist-info")).joinpath("METADATA").read_text()
        required = re.findall(r"^Requires-Dist: ((?:nvidia|cuda|triton)[\w-]*)[^(<>=~;]*\(?[<>=~,\d]*[=~]=?([\d.]+)", metadata, re.M)
        assert len(required) > 5, metadata
        for package, version in required:
            if not list(env.site.glob(f"{package.replace('-', '_')}-{version}.dist-info")):
                env.install(package, version)
        return env

    return stage


def examine(name, gpu, *more, env=None, python=None, **how):
    words = ("--gpu", gpu, "--recordings", "none", *more)
    return doctor(*words, python=python or sets.python(name), env=sets.environment(name) | (env or {}), **how)


def about_code(out):
    return [c for c in codes(out) if c.startswith("D6")]


def test_s1_an_old_torch_on_a_new_gpu_is_the_cause_and_gets_the_index_that_serves_it(whole):
    out = examine("torch-cuda12", "sm_120@580", python=whole("torch-cuda12"))
    assert [c for c in codes(out) if not c.startswith("D7")] == ["D602"]
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


def test_s2_a_new_torch_on_an_old_gpu_keeps_its_version_and_changes_the_index(whole):
    found = finding(examine("torch-cuda13", "sm_70@580", python=whole("torch-cuda13")), "D602", "torch")
    assert found["primary"] and '"torch==2.15.0+cu126"' in found["repairs"][0]["command"]


def test_s3_a_gap_in_linear_algebra_alone_is_a_note_and_no_cause(whole):
    out = examine("torch-cuda13", "sm_75@580", python=whole("torch-cuda13"))
    found = finding(out, "D603", "torch")
    assert out["nothing_to_change"] and about_code(out) == ["D603"]
    assert found["severity"] == "note" and not found["primary"]
    assert len(found["evidence"]) == 1 and "libtorch_cuda_linalg.so" in found["evidence"][0]
    assert "preferred_linalg_library" in found["repairs"][0]["text"]


def test_s4_a_healthy_environment_has_nothing_to_change(whole):
    """Also on the architectures on which others saw a mismatch."""
    for name, gpus in (("torch-cuda12", "sm_61,sm_86,sm_89,sm_90"), ("torch-cuda13", "sm_80,sm_89,sm_103,sm_121")):
        env = whole(name)
        out = examine(name, ",".join(f"{gpu}@580" for gpu in gpus.split(",")), python=env)
        assert out["nothing_to_change"] and about_code(out) == []
        shutil.rmtree(env.folder)
        assert area(out, "coverage")["status"] == "ok"


def test_s4_on_a_live_driver_there_is_nothing_to_change(whole):
    env = sets.environment("torch-cuda12")
    out = doctor("--recordings", "none", python=whole("torch-cuda12"), sm="86,90", env=env)
    assert out["nothing_to_change"] and about_code(out) == [] and out["driver"]["state"] == "works"


def test_s6_without_a_gpu_the_driver_is_the_cause_and_not_the_package(whole):
    env = sets.environment("torch-cuda12")
    env["LD_LIBRARY_PATH"] = env["LD_LIBRARY_PATH"].split(":", 1)[1]  # without the simulated driver
    out = doctor("--recordings", "none", python=whole("torch-cuda12"), env=env)
    assert [f["area"] for f in out["findings"] if f["primary"]] == ["driver"]
    assert about_code(out) == [] and area(out, "coverage")["status"] == "not checked"


def test_s7_a_wrong_torchvision_beside_a_real_torch(whole):
    env = whole("torch-cuda12")
    env.install("torchvision", "0.15.2+cu118", requires=["torch (==2.0.1)"])
    found = finding(examine("torch-cuda12", "sm_86@580", python=env), "D407", "torchvision")
    assert found["primary"] and '"torchvision==0.16.2+cu121"' in found["repairs"][0]["command"]


def test_s4_a_driver_of_the_same_major_version_is_not_too_old():
    """torch for CUDA 13.2 on a driver for CUDA 13.0."""
    assert "D114" not in codes(examine("torch-cuda13", "sm_120@13.0"))


def test_a_driver_of_an_older_major_version_is_too_old():
    found = finding(examine("torch-cuda13", "sm_80@12.4"), "D114")
    assert found["primary"] and found["package"] == "torch"


def test_the_gpus_of_the_driver_are_asked_and_each_gets_a_verdict():
    out = doctor("--recordings", "none", python=sets.python("torch-cuda12"), sm="120,80")
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


# ---- recordings of earlier runs


def with_recordings(folder, gpu, **how):
    env = sets.environment("torch-cuda12")
    return doctor("--gpu", gpu, "--recordings", folder, python=sets.python("torch-cuda12"), env=env, **how)


def test_a_refused_launch_that_was_recorded_is_the_evidence(run):
    trained = run(sets.python("torch-cuda12"), sets.TRAIN, sm=120, env=sets.environment("torch-cuda12"))
    out = with_recordings(trained.folder, "sm_120@580")
    found = finding(out, "D601", "torch")
    assert found["severity"] == "failure" and found["primary"] and "D602" not in codes(out)
    assert any("elementwise_kernel" in line and "was refused (209)" in line for line in found["evidence"])
    assert '"torch>=2.7.0"' in found["repairs"][0]["command"]


def test_a_recording_that_cannot_be_read_disturbs_nothing(tmp_path):
    (tmp_path / "broken.nkr").write_bytes(b"NKR" * 100)
    assert finding(with_recordings(tmp_path, "sm_120@580"), "D602", "torch")


# ---- a combination that worked


def test_saved_on_one_torch_and_compared_with_another(tmp_path):
    path = tmp_path / "f.json"
    env = sets.environment("torch-cuda12")
    words = ("--gpu", "sm_80@580", "--recordings", "none")
    assert run_doctor(*words, "--save", path, python=sets.python("torch-cuda12"), env=env).returncode == 0
    done = run_doctor(*words, "--json", "--compare", path, python=sets.python("torch-cuda13"), env=env)
    out = checked(done.stdout, "nokernel-doctor-compare-1.json")
    version = re.search("__version__ = '(.*)'", (sets.site("torch-cuda12") / "torch" / "version.py").read_text())[1]
    assert [c["then"] for c in out["changes"] if c["name"] == "torch"] == [version]
    assert any(f'"torch=={version}" --index-url https://download.pytorch.org/whl/cu121' in b["command"] for b in out["back"])
    assert path.stat().st_size < 100_000
