"""Whose library it is, however it came there: the package in every report and in scan, and the command of its installer."""

import json
import os
import shutil

import pytest

import claims
import scanning
from conftest import command
from fixtures import images, programs, toolkit

OLD, HERE, NEW = "50 60 70 75 80 86 90", "90", "75 80 86 90 100 120"
SITE = "lib/python3.11/site-packages"


def library(store, words):
    objects = [programs.compiled(store, "plugin.c"),
               *programs.kernels(store, words.split(), words.split(), ["--compress-mode=none"])]
    return programs.linked(store, "lib.so", objects, toolkit.runtime_flags("12.9", True), shared=True)


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.fixture
def place(store, tmp_path):
    """place(images, path, {file: text}) copies a library to tmp_path/path with files beside it, and returns its path."""

    def copy(words, path, files=None):
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library(store, words), target)
        for name, text in (files or {}).items():
            put(tmp_path / name, text)
        return target

    return copy


@pytest.fixture
def calls(run, store):
    """calls(library, ..., sm=) -> Outcome of a program that opens the libraries and launches their kernels."""
    host = programs.linked(store, "opens_plugin", [programs.compiled(store, "opens_plugin.c")], ["-ldl"])
    return lambda *paths, sm=120, **more: run(host, *paths, sm=sm, driver=12080, **more)


def wheel(prefix, name, version, path, installer="pip", **files):
    """The files of an installed wheel: {path below tmp_path: text}."""
    info = f"{prefix}/{SITE}/{name.replace('-', '_')}-{version}.dist-info"
    return {f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
            f"{info}/RECORD": f"{path},,\n", f"{info}/INSTALLER": installer + "\n",
            **{f"{info}/{key}.json": text for key, text in files.items()}}


def belongs(out, path, package, version, source, origin=None):
    """The failing library is that package's in the report, and in a scan of the file alone."""
    failure = out.report["failures"][0]
    assert (failure["package"], failure["version"]) == (package, version), failure
    named = next(entry for entry in out.report["libraries"] if claims.base(entry["path"]) == claims.base(path))
    assert (named["package"], named["version"], named["source"], named["origin"]) == (package, version, source, origin), named
    assert not package or f"{package} {version}" in out.text
    item = scanning.scan(path)["items"][0]
    assert (item["package"], item["version"], item["origin"]) == (package, version, origin), item


def best(out):
    return out.report["advice"][0]["command"]


TORCH = "torch/lib/libtorch_cuda.so"


def test_a_wheel_in_an_environment(calls, place, tmp_path):
    path = place(OLD, f"venv/{SITE}/{TORCH}", wheel("venv", "torch", "2.4.1+cu121", TORCH))
    out = calls(path)
    belongs(out, path, "torch", "2.4.1+cu121", "pip")
    assert best(out).startswith(f"{tmp_path}/venv/bin/python3 -m pip install --upgrade ")


def test_the_cuda_of_a_wheel_without_a_local_version_is_read_from_its_own_file(calls, place):
    files = wheel("venv", "torch", "2.4.1", TORCH)
    path = place(OLD, f"venv/{SITE}/{TORCH}", {**files, f"venv/{SITE}/torch/version.py": "__version__ = '2.4.1'\ncuda = '12.1'\n"})
    belongs(calls(path), path, "torch", "2.4.1+cu121", "pip")


def test_an_environment_of_uv_gets_uvs_command(calls, place, tmp_path):
    path = place(OLD, f"venv/{SITE}/{TORCH}", wheel("venv", "torch", "2.4.1+cu121", TORCH, installer="uv"))
    out = calls(path)
    belongs(out, path, "torch", "2.4.1+cu121", "pip")
    assert best(out).startswith(f'uv pip install --upgrade --python {tmp_path}/venv/bin/python3 "torch>=2.7.0"')
    assert next(e for e in out.report["libraries"])["installer"] == "uv"


def test_the_users_own_site_keeps_being_the_users(calls, place):
    path = place(OLD, f"home/.local/{SITE}/{TORCH}", wheel("home/.local", "torch", "2.4.1+cu121", TORCH))
    out = calls(path)
    belongs(out, path, "torch", "2.4.1+cu121", "pip")
    assert " -m pip install --upgrade --user " in best(out)


def test_a_package_of_conda_leaves_conda_before_pip_comes(calls, place, tmp_path):
    files = {"env/conda-meta/pytorch-2.4.1-py3.11_cuda12.1_cudnn9.1.0_0.json":
             json.dumps({"name": "pytorch", "version": "2.4.1", "files": [f"{SITE}/{TORCH}"]}),
             **wheel("env", "torch", "2.4.1", TORCH, installer="conda")}
    path = place(OLD, f"env/{SITE}/{TORCH}", files)
    out = calls(path)
    belongs(out, path, "pytorch", "2.4.1", "conda")
    assert best(out).startswith(
        f'conda remove --prefix {tmp_path}/env pytorch && {tmp_path}/env/bin/python3 -m pip install --upgrade "torch>=2.7.0"')
    assert not out.report["advice"][0]["safe"]


def test_a_library_of_condas_own_folder_is_condas(calls, place, tmp_path):
    files = {"env/conda-meta/libtorch-2.4.1-cuda120_h0.json":
             json.dumps({"name": "libtorch", "version": "2.4.1", "files": ["lib/libtorch_cuda.so"]})}
    path = place(OLD, "env/lib/libtorch_cuda.so", files)
    out = calls(path)
    belongs(out, path, "libtorch", "2.4.1", "conda")
    assert '-m pip install --upgrade "torch>=2.7.0"' in best(out)


# ---- extensions: where their source is
EXTENSION = "ops/_C.so"


def with_torch(calls, place, extension):
    torch = place(NEW, f"venv/{SITE}/{TORCH}", wheel("venv", "torch", "2.7.1+cu128", TORCH))
    return calls(torch, extension)


def test_an_extension_of_an_index_is_built_again_from_there(calls, place):
    path = place(HERE, f"venv/{SITE}/{EXTENSION}", wheel("venv", "ops", "1.0", EXTENSION))
    out = with_torch(calls, place, path)
    belongs(out, path, "ops", "1.0", "pip")
    assert '--no-binary ops "ops==1.0"' in best(out)


def test_an_extension_of_a_repository_is_built_again_from_its_commit(calls, place):
    url = json.dumps({"url": "https://github.com/o/ops", "vcs_info": {"vcs": "git", "commit_id": "c0ffee"}})
    path = place(HERE, f"venv/{SITE}/{EXTENSION}", wheel("venv", "ops", "1.0", EXTENSION, direct_url=url))
    out = with_torch(calls, place, path)
    belongs(out, path, "ops", "1.0", "pip", "git+https://github.com/o/ops@c0ffee")
    assert best(out).endswith('"ops @ git+https://github.com/o/ops@c0ffee"') and best(out).startswith("TORCH_CUDA_ARCH_LIST")


def test_an_extension_that_is_used_in_place_is_built_there(calls, place, tmp_path):
    """An editable install: the library lies in the source tree, and only its pyproject.toml says whose it is."""
    path = place(HERE, "src/ops/ops/_C.so", {"src/ops/pyproject.toml": '[project]\nname = "ops"\nversion = "1.0"\n'})
    out = with_torch(calls, place, path)
    belongs(out, path, "ops", "1.0", "folder", f"editable:{tmp_path}/src/ops")
    assert best(out).endswith(f" -e {tmp_path}/src/ops")


def test_a_source_tree_of_setuptools_is_known_by_its_egg_info(calls, place, tmp_path):
    path = place(HERE, "src/ops/ops/_C.so", {"src/ops/ops.egg-info/PKG-INFO": "Name: ops\nVersion: 0.2.dev1\n"})
    out = with_torch(calls, place, path)
    belongs(out, path, "ops", "0.2.dev1", "folder", f"editable:{tmp_path}/src/ops")
    assert best(out).endswith(f" -e {tmp_path}/src/ops")


def test_a_wheel_of_nowhere_gets_no_command_that_would_fetch_another(calls, place):
    """Installed from a file: the index may hold another project of that name."""
    url = json.dumps({"url": "file:///tmp/ops-1.0-cp311-cp311-linux_x86_64.whl", "archive_info": {}})
    path = place(HERE, f"venv/{SITE}/{EXTENSION}", wheel("venv", "ops", "1.0", EXTENSION, direct_url=url))
    out = with_torch(calls, place, path)
    belongs(out, path, "ops", "1.0", "pip", "file:/tmp/ops-1.0-cp311-cp311-linux_x86_64.whl")
    assert all("--no-binary" not in (repair["command"] or "") for repair in out.report["advice"]), out.report["advice"]


def test_no_password_and_no_home_directory_is_in_an_origin(calls, place, tmp_path):
    secret = json.dumps({"url": "https://me:hunter2@host/o/ops", "vcs_info": {"vcs": "git", "commit_id": "c0ffee"}})
    path = place(HERE, f"venv/{SITE}/{EXTENSION}", wheel("venv", "ops", "1.0", EXTENSION, direct_url=secret))
    out = with_torch(calls, place, path)
    belongs(out, path, "ops", "1.0", "pip", "git+https://host/o/ops@c0ffee")
    assert "hunter2" not in json.dumps(out.report) + out.text
    assert b"hunter2" not in out.recordings[0].read_bytes()
    local = json.dumps({"url": "file:///home/anna/my%20ops", "dir_info": {"editable": True}})
    place(HERE, f"venv/{SITE}/{EXTENSION}", wheel("venv", "ops", "1.0", EXTENSION, direct_url=local))
    out = with_torch(calls, place, path)
    (named,) = [e for e in out.report["libraries"] if e["package"] == "ops"]
    assert named["origin"] == "editable:~/my ops" and best(out).endswith(r" -e ~/my\ ops")


def test_a_library_of_nobody_is_known_by_its_build_id(run, store, calls, place):
    objects = [programs.compiled(store, "plugin.c"), *programs.kernels(store, ["90"], ["90"], ["--compress-mode=none"])]
    built = programs.linked(store, "libmine.so", objects, [*toolkit.runtime_flags("12.9", True), "-Wl,--build-id=0x00c0ffee"],
                            shared=True)
    out = calls(built)
    (entry,) = [e for e in out.report["libraries"] if claims.base(e["path"]) == "libmine.so"]
    assert (entry["package"], entry["build_id"]) == (None, "00c0ffee")
    assert "of no package; build-id 00c0ffee" in out.text
    item = scanning.scan(built)["items"][0]
    assert item["package"] is None


def test_a_library_of_nobody_has_the_version_in_its_own_name(calls, place):
    path = place(OLD, "opt/libmine.so.4.10.0")
    link = path.with_name("libmine.so.410")
    link.symlink_to(path.name)
    out = calls(link)
    assert (out.report["failures"][0]["package"], out.report["failures"][0]["version"]) == (None, "4.10.0")
    assert "of no package; version 4.10.0 by its name" in out.text


# ---- and in doctor
def doctor(prefix, folder):
    done = command("doctor", "--json", "--python", prefix, "--gpu", "sm_120@12.8",
                   env={"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8"})
    assert done.returncode == 0, done.stderr
    return [repair["command"] for finding in json.loads(done.stdout)["findings"] for repair in finding["repairs"]]


def environment(place, prefix, words, name, version, path, **more):
    library = place(words, f"{prefix}/{SITE}/{path}", wheel(prefix, name, version, path, **more))
    python = put(library.parents[5] / "bin" / "python3.11", "\x7fELF")  # what looks like one
    python.chmod(0o755)
    python.with_name("python3").symlink_to("python3.11")


def test_doctor_gives_the_command_of_the_installer_too(place, tmp_path):
    environment(place, "a", OLD, "torch", "2.4.1+cu121", TORCH, installer="uv")
    assert any("uv pip install --upgrade" in c for c in doctor(tmp_path / "a", tmp_path))
    conda = {"name": "pytorch", "version": "2.4.1", "files": [f"{SITE}/{TORCH}"]}
    put(tmp_path / "b/conda-meta/pytorch-2.4.1-0.json", json.dumps(conda))
    environment(place, "b", OLD, "torch", "2.4.1", TORCH, installer="conda")
    assert any(f"conda remove --prefix ~/b pytorch && " in c for c in doctor(tmp_path / "b", tmp_path))
