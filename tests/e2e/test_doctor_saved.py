"""`nokernel doctor --save` and `--compare`: what changed since an environment worked, and the way back."""

import json
import shutil

import pytest
import scanning
from doctoring import Environment, can_be_run, checked, run as run_doctor
from fixtures import images

GPU = ("--gpu", "sm_80@580", "--recordings", "none")


@pytest.fixture
def library(store):
    return lambda *words: scanning.shared(store, nv_fatbin=[images.container(store, words, ["_Z3k_aPf"])])


@pytest.fixture
def env(tmp_path, library):
    env = Environment(tmp_path / "root")
    env.install("torch", "2.4.1+cu121", {"torch/lib/libtorch_cuda.so": library("80", "90")})
    env.install("torchvision", "0.19.1+cu121")
    env.install("xformers", "0.0.28.post1")
    return env


@pytest.fixture
def saved(env, tmp_path):
    path = tmp_path / "worked.json"
    done = run_doctor(*GPU, "--save", path, python=env)
    assert done.returncode == 0, done.stderr
    return path


def compare(where, saved, *more, code=0, **how):
    done = run_doctor(*(how.pop("gpu", GPU)), "--json", "--compare", saved, *more, python=where, **how)
    assert done.returncode == code, done.stderr
    out = checked(done.stdout, "nokernel-doctor-compare-1.json")
    for back in out["back"]:
        can_be_run(back["command"])
    return out


def changes(out):
    return {(c["area"], c["name"]): (c["then"], c["now"]) for c in out["changes"]}


def replaced(env, name, version, files=None):
    shutil.rmtree(next(env.site.glob(f"{name}-*.dist-info")))
    env.install(name, version, files)


def test_what_is_saved_fits_its_schema_and_names_everything(saved):
    out = checked(saved.read_text(), "nokernel-doctor-saved-1.json")
    assert out["gpus"] == "sm_80" and out["python"] == "3.11.7"
    assert {n: p["version"] for n, p in out["packages"].items()} == {
        "torch": "2.4.1+cu121", "torchvision": "0.19.1+cu121", "xformers": "0.0.28.post1",
    }
    assert all(p["content"] for p in out["packages"].values()) and "torch/lib/libtorch_cuda.so" in out["libraries"]


def test_saving_reports_as_always(env, tmp_path):
    done = run_doctor(*GPU, "--save", tmp_path / "f", python=env)
    assert done.stdout == run_doctor(*GPU, python=env).stdout


def test_that_what_is_saved_does_not_work_is_said(env, tmp_path):
    assert run_doctor(*GPU, "--save", tmp_path / "f", python=env).stderr == ""
    info = next(env.site.glob("torch-*.dist-info"))
    (info / "RECORD").write_text((info / "RECORD").read_text() + "torch/lib/libtorch_cuda_linalg.so,sha256=x,1\n")
    done = run_doctor(*GPU, "--save", tmp_path / "f", python=env)
    assert done.returncode == 0 and (tmp_path / "f").exists()
    assert done.stderr.count("\n") == 1 and "something fails here (D406)" in done.stderr


def test_another_driver_that_is_asked_about_is_a_change(env, tmp_path):
    run_doctor("--gpu", "sm_80@550", "--save", tmp_path / "f", python=env)
    out = compare(env, tmp_path / "f", gpu=("--gpu", "sm_80@580"))
    assert changes(out) == {("driver", ""): ("sm_80: CUDA 12.4", "sm_80: CUDA 13.0")}


def test_nothing_has_changed(env, saved):
    out = compare(env, saved)
    assert out["changes"] == [] and out["back"] == [] and (out["packages"], out["libraries"]) == (3, 1)


def test_a_changed_package_comes_back_from_its_index(env, saved):
    replaced(env, "torch", "2.7.0+cu128")
    out = compare(env, saved)
    assert changes(out)["package", "torch"] == ("2.4.1+cu121", "2.7.0+cu128")
    assert [b["command"] for b in out["back"]] == [
        '/venv/bin/python -m pip install --force-reinstall --no-deps "torch==2.4.1+cu121" '
        "--index-url https://download.pytorch.org/whl/cu121"
    ]


def test_a_library_that_changed_with_its_package_is_not_told_twice(env, saved, library):
    replaced(env, "torch", "2.7.0+cu128", {"torch/lib/libtorch_cuda.so": library("80", "90", "120")})
    assert list(changes(compare(env, saved))) == [("package", "torch")]


def test_packages_of_two_indexes_are_two_commands(env, saved):
    replaced(env, "torch", "2.7.0+cu128")
    replaced(env, "torchvision", "0.22.0+cu128")
    replaced(env, "xformers", "0.0.30")
    commands = [b["command"] for b in compare(env, saved)["back"]]
    assert len(commands) == 2
    assert '"torch==2.4.1+cu121" "torchvision==0.19.1+cu121" --index-url' in commands[0]
    assert commands[1].endswith('--no-deps "xformers==0.0.28.post1"')


def test_what_has_come_since_is_removed_and_what_went_comes_back(env, saved):
    shutil.rmtree(next(env.site.glob("xformers-*.dist-info")))
    env.install("flash-attn", "2.6.3")
    out = compare(env, saved)
    assert changes(out) == {("package", "xformers"): ("0.0.28.post1", ""), ("package", "flash-attn"): ("", "2.6.3")}
    assert out["back"][0]["command"].endswith("-m pip uninstall -y flash-attn")
    assert '"xformers==0.0.28.post1"' in out["back"][1]["command"]


# ---- by the installer of each package


def of_conda(env, name, version, conda, build, channel="https://conda.anaconda.org/conda-forge/linux-64"):
    """A distribution that conda installed, under conda's own name."""
    for old in [*env.site.glob(f"{name}-*.dist-info")]:
        shutil.rmtree(old)
    for old in env.folder.glob(f"conda-meta/{conda}-*.json"):
        old.unlink()
    info = env.install(name, version, installer="conda")
    meta = env.folder / "conda-meta"
    meta.mkdir(exist_ok=True)
    (meta / "history").touch()
    (meta / f"{conda}-{version}-{build}.json").write_text(json.dumps({
        "build": build, "channel": channel, "name": conda, "version": version,
        "files": [str((info / "METADATA").relative_to(env.folder))]}))


@pytest.fixture
def conda(tmp_path):
    env = Environment(tmp_path / "root", base=None)
    of_conda(env, "torch", "2.4.1", "pytorch", "cuda120_py311h_0")
    of_conda(env, "torchvision", "0.19.1", "torchvision", "cuda120_1")
    path = tmp_path / "worked.json"
    assert run_doctor(*GPU, "--save", path, python=env).returncode == 0
    return env, path


def commands(env, saved):
    return [b["command"] for b in compare(env, saved)["back"]]


PYTORCH, VISION = '"conda-forge::pytorch=2.4.1=cuda120_py311h_0"', '"conda-forge::torchvision=0.19.1=cuda120_1"'


def test_what_conda_calls_its_packages_is_saved(conda):
    out = checked(conda[1].read_text(), "nokernel-doctor-saved-1.json")
    assert {n: (p["installer"], p["spec"]) for n, p in out["packages"].items()} == {
        "torch": ("conda", PYTORCH.strip('"')), "torchvision": ("conda", VISION.strip('"'))}


def test_packages_of_conda_come_back_by_conda_in_the_builds_that_worked(conda):
    env, saved = conda
    of_conda(env, "torch", "2.5.1", "pytorch", "cpu_generic_py311h_0")
    of_conda(env, "torchvision", "0.20.1", "torchvision", "cpu_0")
    assert commands(env, saved) == [f"conda install --force-reinstall --prefix /venv {PYTORCH} {VISION}"]


def test_what_pip_has_put_over_a_package_of_conda_leaves_before_that_comes_back(conda):
    env, saved = conda
    (env.folder / "conda-meta" / "pytorch-2.4.1-cuda120_py311h_0.json").unlink()
    replaced(env, "torch", "2.7.0+cu128")
    assert commands(env, saved) == ["/venv/bin/python -m pip uninstall -y torch",
                                    f"conda install --force-reinstall --prefix /venv {PYTORCH}"]


def test_what_conda_has_put_over_a_package_of_pip_leaves_before_that_comes_back(env, saved):
    of_conda(env, "torch", "2.5.1", "pytorch", "cpu_0")
    assert commands(env, saved) == [
        "conda remove --prefix /venv pytorch",
        '/venv/bin/python -m pip install --force-reinstall --no-deps "torch==2.4.1+cu121" '
        "--index-url https://download.pytorch.org/whl/cu121"]


def test_what_conda_has_brought_since_is_removed_by_conda(conda):
    env, saved = conda
    of_conda(env, "xformers", "0.0.28", "xformers", "h_0")
    assert commands(env, saved) == ["conda remove --prefix /venv xformers"]


def test_a_file_that_does_not_tell_what_conda_calls_a_package_gets_the_name_that_is_known(conda):
    env, saved = conda
    data = json.loads(saved.read_text())
    for package in data["packages"].values():
        del package["spec"]  # as before there was one
    saved.write_text(json.dumps(data))
    of_conda(env, "torch", "2.5.1", "pytorch", "cpu_0")
    assert commands(env, saved) == ['conda install --force-reinstall --prefix /venv "pytorch=2.4.1"']


def test_an_environment_of_uv_is_brought_back_by_uv(tmp_path):
    env = Environment(tmp_path / "root")
    env.install("torch", "2.4.1+cu121", installer="uv")
    saved = tmp_path / "worked.json"
    run_doctor(*GPU, "--save", saved, python=env)
    shutil.rmtree(next(env.site.glob("torch-*.dist-info")))
    env.install("torch", "2.7.0+cu128", installer="uv")
    env.install("flash-attn", "2.6.3", installer="uv")
    assert commands(env, saved) == [
        "uv pip uninstall --python /venv/bin/python flash-attn",
        'uv pip install --force-reinstall --no-deps --python /venv/bin/python "torch==2.4.1+cu121" '
        "--index-url https://download.pytorch.org/whl/cu121"]
    shutil.rmtree(next(env.site.glob("torch-*.dist-info")))  # gone: who it was installed by stands in the file
    assert commands(env, saved)[1].startswith("uv pip install --force-reinstall")


@pytest.mark.parametrize("url, operand", [
    ({"url": "https://github.com/o/fa", "vcs_info": {"vcs": "git", "commit_id": "c0ffee"}},
     '"flash-attn @ git+https://github.com/o/fa@c0ffee"'),
    ({"url": "file:///home/anna/my%20wheels/fa.whl", "archive_info": {}}, r"~/my\ wheels/fa.whl"),
    ({"url": "file:///src/fa", "dir_info": {"editable": True}}, "-e /src/fa"),
])
def test_what_came_from_no_index_comes_back_from_where_it_came(tmp_path, url, operand):
    env = Environment(tmp_path / "root")
    info = env.install("flash-attn", "2.6.3")
    (info / "direct_url.json").write_text(json.dumps(url))
    saved = tmp_path / "worked.json"
    run_doctor(*GPU, "--save", saved, python=env)
    checked(saved.read_text(), "nokernel-doctor-saved-1.json")
    shutil.rmtree(info)
    env.install("flash-attn", "2.8.0")
    assert commands(env, saved) == [f"/venv/bin/python -m pip install --force-reinstall --no-deps {operand}"]


@pytest.mark.parametrize("spec", ["git+https://x/$(id)", 'git+https://x/"; id', "file:-r x", "editable:;id", "git+https://x\nid"])
def test_an_origin_that_a_file_says_is_no_command_either(env, saved, spec):
    data = json.loads(saved.read_text())
    data["packages"]["torch"]["spec"] = spec
    saved.write_text(json.dumps(data))
    replaced(env, "torch", "2.7.0+cu128")
    (command,) = commands(env, saved)
    assert '"torch==2.4.1+cu121"' in command and "id" not in command and "-r" not in command.replace("-reinstall", "")


def test_a_package_of_debian_comes_back_by_apt(tmp_path):
    env = Environment(tmp_path / "root", place="/usr", base=None)
    saved = tmp_path / "worked.json"
    for version in ("1.13.1", "2.6.0"):
        for old in env.site.glob("torch-*.dist-info"):
            shutil.rmtree(old)
        info = env.install("torch", version, installer="debian")
        env.file("/var/lib/dpkg/info/python3-torch-cuda.list", env.inside(info / "METADATA") + "\n")
        env.file("/var/lib/dpkg/status", f"Package: python3-torch-cuda\nArchitecture: amd64\nVersion: {version}+dfsg-4\n\n")
        if not saved.exists():
            run_doctor(*GPU, "--save", saved, python=env)
    out = compare(env, saved)["back"]
    assert [(b["command"], b["safe"]) for b in out] == [
        ('sudo apt-get install --reinstall "python3-torch-cuda=1.13.1+dfsg-4"', False)]


def test_a_specification_that_a_file_says_is_no_command_either(conda):
    env, saved = conda
    data = json.loads(saved.read_text())
    data["packages"]["torch"]["spec"] = "pytorch=1; id"
    data["packages"]["torchvision"]["spec"] = "--prefix=/"
    saved.write_text(json.dumps(data))
    of_conda(env, "torch", "2.5.1", "pytorch", "cpu_0")
    of_conda(env, "torchvision", "0.20.1", "torchvision", "cpu_0")
    assert commands(env, saved) == []


def test_a_package_of_the_same_version_with_other_files_is_a_change(env, saved):
    replaced(env, "xformers", "0.0.28.post1", {"xformers/new.py": ""})
    out = compare(env, saved)
    assert list(changes(out)) == [("package", "xformers")] and '"xformers==0.0.28.post1"' in out["back"][0]["command"]


def test_a_library_that_was_replaced_in_place_is_a_change(env, saved, library):
    shutil.copy(library("80"), env.site / "torch" / "lib" / "libtorch_cuda.so")
    out = compare(env, saved)
    assert list(changes(out)) == [("library", "torch/lib/libtorch_cuda.so")]
    assert "install its package anew" in out["back"][0]["text"]


def test_settings_that_changed_are_put_back(env, tmp_path):
    path = tmp_path / "f.json"
    run_doctor(*GPU, "--save", path, python=env, env={"CUDA_MODULE_LOADING": "LAZY"})
    out = compare(env, path, env={"CUDA_LAUNCH_BLOCKING": "1"})
    assert changes(out) == {("setting", "CUDA_MODULE_LOADING"): ("LAZY", ""), ("setting", "CUDA_LAUNCH_BLOCKING"): ("", "1")}
    assert [b["command"] for b in out["back"]] == ["export CUDA_MODULE_LOADING=LAZY", "unset CUDA_LAUNCH_BLOCKING"]
    assert all(b["safe"] for b in out["back"])


def test_gpu_and_driver_that_changed_are_told(env, tmp_path):
    path = tmp_path / "f.json"
    none = ("--recordings", "none")
    run_doctor(*none, "--save", path, python=env, sm="80", driver=12040)
    out = compare(env, path, gpu=none, sm="90", driver=13000)
    assert {area for area, _ in changes(out)} == {"GPU", "driver"}
    assert changes(out)["driver", ""] == ("580.65.06, CUDA 12.4", "580.65.06, CUDA 13.0")
    assert not any(b["command"] for b in out["back"])


def test_what_a_file_says_is_no_command(env, saved):
    """A saved file may come from somebody else."""
    data = json.loads(saved.read_text())
    data["packages"]["a; rm -rf ~"] = data["packages"]["b"] = {"version": "1`id`", "content": "", "installer": "pip"}
    data["settings"] = {"X; id": "1", "CUDA_LAUNCH_BLOCKING": "$(id)"}
    saved.write_text(json.dumps(data))
    commands = [b["command"] for b in compare(env, saved)["back"]]
    assert [c for c in commands if c] == ["export CUDA_LAUNCH_BLOCKING=\\$\\(id\\)"]


def test_the_text_tells_the_same(env, saved):
    replaced(env, "torch", "2.7.0+cu128")
    text = run_doctor(*GPU, "--compare", saved, python=env).stdout
    assert text.startswith("nokernel doctor: 1 change since 20") and "package torch  2.4.1+cu121 -> 2.7.0+cu128" in text
    assert '--no-deps "torch==2.4.1+cu121"' in text.replace("\\\n", "").replace("  ", "")


def test_what_changed_is_said_in_chinese_too(env, saved):
    chinese = {"NOKERNEL_LANG": "zh"}
    assert "以来没有变化（" in run_doctor(*GPU, "--compare", saved, python=env, env=chinese).stdout
    replaced(env, "torch", "2.7.0+cu128")
    assert "以来有 1 处变化（" in run_doctor(*GPU, "--compare", saved, python=env, env=chinese).stdout
    out = compare(env, saved, env=chinese)
    assert (out["language"], out["back"][0]["text"]) == ("zh", "恢复可用时的软件包版本")
    replaced(env, "xformers", "0.0.30")
    assert "以来有 2 处变化（" in run_doctor(*GPU, "--compare", saved, python=env, env=chinese).stdout


def test_fail_on_warning_ends_with_4_when_something_changed(env, saved):
    compare(env, saved, "--fail-on", "warning")
    env.install("flash-attn", "2.6.3")
    compare(env, saved, "--fail-on", "warning", code=4)
    compare(env, saved, "--fail-on", "failure")


@pytest.mark.parametrize("content, words", [(None, "No such file"), ("{", "expected"), ('{"schema": "x/1"}', 'this one says "x/1"'), ("[]", "--save was expected")])
def test_a_file_that_was_not_saved_is_refused(env, tmp_path, content, words):
    path = tmp_path / "f.json"
    if content is not None:
        path.write_text(content)
    done = run_doctor(*GPU, "--compare", path, python=env)
    assert done.returncode == 3 and words in done.stderr and not done.stdout


def test_a_file_that_cannot_be_written_is_said(env):
    done = run_doctor(*GPU, "--save", "/nonexistent/f.json", python=env)
    assert done.returncode == 1 and "/nonexistent/f.json: cannot be written" in done.stderr
