"""`nokernel doctor` and recordings: a refused launch is a failure, what was replaced since then is not its cause."""

import os
import shutil

import pytest
from doctoring import Environment, codes, doctor, finding
from fixtures import programs

pytestmark = pytest.mark.plain


@pytest.fixture
def recorded(run, program, store, tmp_path):
    """An extension for sm_80 only, installed, and the folder of a recording of its refused launch on sm_90."""
    env = Environment(tmp_path / "python", whole=False)
    plugin = program("plugin", "12.9", ["80"], ["80"], static=True, shared=True)
    info = env.install("gpuops", "1.0", {"gpuops/libplugin.so": plugin})
    os.utime(info, (1, 1))  # installed long before it ran
    host = programs.linked(store, "opens_plugin", [programs.compiled(store, "opens_plugin.c")], ["-ldl"])
    out = run(host, env.site / "gpuops" / "libplugin.so", sm=90)
    assert out.report["failures"], "nothing was refused"
    return env, out.folder


def examine(env, folder, gpu="sm_90@580"):
    return doctor("--gpu", gpu, "--recordings", folder, python=env)


def test_a_refused_launch_names_the_kernel_and_takes_the_place_of_the_gap(recorded):
    out = examine(*recorded)
    found = finding(out, "D601", "gpuops")
    assert found["severity"] == "failure" and found["primary"] and "D602" not in codes(out)
    assert any("was refused (209) in gpuops/libplugin.so" in line for line in found["evidence"])
    assert found["repairs"][0]["text"].startswith("use a GPU that it has code for")


def test_without_the_recording_it_is_a_gap(recorded):
    env, _ = recorded
    out = examine(env, "none")
    assert finding(out, "D602", "gpuops")["severity"] == "warning" and "D601" not in codes(out)


def test_a_package_that_was_installed_since_is_not_what_failed(recorded):
    env, folder = recorded
    info = next(env.site.glob("gpuops-*.dist-info"))
    later = max(path.stat().st_mtime for path in folder.rglob("*.nkr")) + 60
    os.utime(info, (later, later))
    assert "D601" not in codes(examine(env, folder))


def test_a_recording_from_another_gpu_is_no_evidence(recorded):
    assert codes(examine(*recorded, gpu="sm_80@580")) == []
    assert "D601" not in codes(examine(*recorded, gpu="sm_100@580"))


def test_a_recording_of_another_environment_is_no_evidence(recorded, tmp_path):
    env, folder = recorded
    other = Environment(tmp_path / "other", whole=False)
    other.install("gpuops", "1.0", {"gpuops/libplugin.so": env.site / "gpuops" / "libplugin.so"})
    out = examine(other, folder)
    assert "D601" not in codes(out) and finding(out, "D602", "gpuops")


def test_only_the_newest_recordings_are_read(recorded, tmp_path):
    """Of many, 32: an old one behind them is not looked at."""
    env, folder = recorded
    many = tmp_path / "many"
    many.mkdir()
    old = shutil.copy(next(folder.rglob("*.nkr")), many / "old.nkr")
    os.utime(old, (1, 1))
    assert "D601" in codes(examine(env, many))
    for i in range(32):
        (many / f"{i}.nkr").write_bytes(b"")
    assert "D601" not in codes(examine(env, many))
