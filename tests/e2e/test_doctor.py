"""`nokernel doctor` on staged environments: each finding is shown where it belongs, and stays silent where it does not."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import scanning
from conftest import COMMAND, ROOT, SIM, command
from doctoring import Environment, area, codes, doctor, finding, run as run_doctor
from fixtures import fatbin, images

pytestmark = pytest.mark.sanitized
NAME = "_Z3k_aPf"
ASKED = ("--gpu", "sm_86@580", "--recordings", "none")


@pytest.fixture
def env(tmp_path):
    return Environment(tmp_path)


@pytest.fixture
def library(store):
    """library("80", "90") is a shared library with one kernel, in images for these."""
    return lambda *words: scanning.shared(store, nv_fatbin=[images.container(store, words, [NAME])])


@pytest.fixture
def torch(env, library):
    """torch 2.4.1 for CUDA 12.1 with code for sm_80 and sm_90, in the environment."""
    env.install("torch", "2.4.1+cu121", {"torch/lib/libtorch_cuda.so": library("80", "90"), "torch/__init__.py": ""})
    return env


def examine(where, *more, gpu="sm_86@580", **how):
    return doctor("--gpu", gpu, "--recordings", "none", *more, python=where, **how)


# ---- healthy


def test_nothing_is_to_change_where_all_is_well(torch):
    out = examine(torch)
    assert out["nothing_to_change"] and codes(out) == []
    assert area(out, "coverage")["status"] == area(out, "framework")["status"] == "ok"


def test_what_was_not_checked_is_not_called_healthy(torch):
    """The driver is not asked when a GPU is named; without a GPU coverage cannot be judged."""
    assert area(examine(torch), "driver")["status"] == "not checked"
    out = doctor("--recordings", "none", python=torch)
    assert area(out, "coverage")["status"] == "not checked"


def test_the_text_says_how_much_could_not_be_checked(torch):
    done = run_doctor(*ASKED, python=torch)
    assert done.stdout.startswith("nokernel doctor: nothing to change in what could be checked (1 area could not)\n")


def test_that_there_is_nothing_to_change_is_said_in_chinese_too(torch):
    done = run_doctor(*ASKED, python=torch, env={"NOKERNEL_LANG": "zh"})
    assert done.stdout.startswith("nokernel doctor: 在能检查的范围内无须更改（有 1 项无法检查）\n")


def test_text_and_json_tell_the_same_findings(env, library):
    env.install("torch", "2.4.1+cu121", {"torch/lib/libtorch_cuda.so": library("80")})
    out, text = examine(env, gpu="sm_120@580"), run_doctor("--gpu", "sm_120@580", "--recordings", "none", python=env).stdout
    assert codes(out) == ["D602"]
    flat = " ".join(text.split())
    for f in out["findings"]:
        assert f["code"] in text and f["text"] in flat and f["means"] in flat and f["does_not_mean"] in flat
        for repair in f["repairs"]:
            assert repair["text"] in flat and repair["command"] in " ".join(text.replace("\\\n", " ").split())


def test_the_output_is_the_same_twice(torch):
    assert run_doctor(*ASKED, python=torch).stdout == run_doctor(*ASKED, python=torch).stdout


def test_the_text_fits_80_columns(torch):
    lines = run_doctor("--gpu", "sm_120@580,sm_90", "--recordings", "none", python=torch).stdout.splitlines()
    assert max(map(len, lines)) <= 80


# ---- coverage


def test_d602_of_a_framework_is_a_failure_and_of_an_extension_a_warning(torch, library):
    torch.install("my-extension", "1.0", {"my_extension/_C.so": library("80")})
    out = examine(torch, gpu="sm_120@580")
    assert finding(out, "D602", "torch")["severity"] == "failure"
    assert finding(out, "D602", "my-extension")["severity"] == "warning"


def test_s5_an_extension_without_the_gpu_is_named_with_the_command_that_builds_it(torch, library):
    """torch has code for sm_90, the extension does not."""
    torch.install("my-extension", "1.0", {"my_extension/_C.so": library("80")})
    out = examine(torch, gpu="sm_90@580")
    found = finding(out, "D602")
    assert found["package"] == "my-extension" and found["primary"]
    assert any("my_extension/_C.so" in line and "sm_80" in line for line in found["evidence"])
    assert found["repairs"][0]["command"].startswith('TORCH_CUDA_ARCH_LIST="9.0" ')


def test_d603_a_library_of_several_without_code_is_a_note(env, library):
    env.install("torch", "2.4.1+cu121", {"torch/lib/libtorch_cuda.so": library("80"), "torch/lib/libother.so": library("90")})
    out = examine(env)
    found = finding(out, "D603", "torch")
    assert found["severity"] == "note" and out["nothing_to_change"]
    assert len(found["evidence"]) == 1 and "libother.so" in found["evidence"][0]


def test_d604_code_that_runs_from_ptx_is_a_note(env, library):
    env.install("fast", "1.0", {"fast/_C.so": library("80", "ptx80")})
    assert finding(examine(env, gpu="sm_120@580"), "D604")["severity"] == "note"
    assert "D604" not in codes(examine(env, gpu="sm_80@580"))


def test_the_text_of_ptx_counts_where_its_header_says_something_else(env, store):
    """The header says compute_90, which sm_120 could compile; the text says sm_90a."""
    text = images.ptx_text("ptx90a", [NAME])
    box = [{"kind": "ptx", "target": "90", "isa": "8.0", "text": text}]
    path = store.make(f"doctor lie {text}", "lie.fatbin", lambda path: path.write_bytes(fatbin.fatbin([box])))
    env.install("fast", "1.0", {"fast/_C.so": scanning.shared(store, nv_fatbin=[path])})
    assert finding(examine(env, gpu="sm_120@580"), "D602", "fast") and "D602" not in codes(examine(env, gpu="sm_90@580"))


def test_d602_ptx_that_is_newer_than_the_driver_asks_for_a_driver(env, library):
    env.install("fast", "1.0", {"fast/_C.so": library("ptx75:8.7")})
    found = finding(examine(env, gpu="sm_120@12.4"), "D602")
    assert any("driver" in repair["text"] for repair in found["repairs"])
    assert "D602" not in codes(examine(env, gpu="sm_120@13.0"))


def test_d605_code_of_an_unknown_kind_is_neither_good_nor_missing(env, store):
    box = [{"kind": 99, "target": "80", "hex": "00" * 16}]
    path = store.make("doctor unknown kind", "unknown.fatbin", lambda path: path.write_bytes(fatbin.fatbin([box])))
    env.install("fast", "1.0", {"fast/_C.so": scanning.shared(store, nv_fatbin=[path])})
    out = examine(env)
    assert finding(out, "D605", "fast")["severity"] == "note" and "D602" not in codes(out)
    assert area(out, "coverage")["found"].endswith("0 of 1 library covered")


def test_a_container_that_lacks_the_gpu_counts_beside_one_that_has_it(env, store):
    boxes = [images.container(store, words, [NAME]) for words in (["80", "90"], ["80"])]
    env.install("torch", "2.4.1+cu121", {"torch/lib/libtorch_cuda.so": scanning.shared(store, nv_fatbin=boxes)})
    found = finding(examine(env, gpu="sm_90@580"), "D603", "torch")
    assert found["evidence"][0].startswith("torch/lib/libtorch_cuda.so: 1 of 2 containers do not run")


def test_a_library_of_nvidia_that_picks_kernels_by_gpu_is_no_gap(env, store):
    boxes = [images.container(store, words, [NAME]) for words in (["80"], ["90"])]
    env.install("nvidia-cublas-cu12", "12.4.5.8", {"nvidia/cublas/lib/libcublasLt.so.12": scanning.shared(store, nv_fatbin=boxes)})
    out = examine(env, gpu="sm_90@580")
    assert not [c for c in codes(out) if c.startswith("D60")]


def test_of_bitsandbytes_only_the_library_of_torchs_cuda_counts(torch, library):
    torch.install("bitsandbytes", "0.45.5", {
        "bitsandbytes/libbitsandbytes_cuda121.so": library("80", "90"), "bitsandbytes/libbitsandbytes_cuda118.so": library("80"),
    })
    assert "bitsandbytes" not in [f["package"] for f in examine(torch, gpu="sm_90@580")["findings"]]
    out = examine(torch, gpu="sm_90@580", env={"BNB_CUDA_VERSION": "118"})
    assert "libbitsandbytes_cuda118.so" in finding(out, "D602", "bitsandbytes")["evidence"][0]


def test_of_two_gpus_one_that_is_served_makes_it_a_warning(torch):
    assert finding(examine(torch, gpu="sm_80@580,sm_120@580"), "D602", "torch")["severity"] == "warning"
    out = examine(torch, gpu="sm_70@580,sm_120@580")
    assert [f["severity"] for f in out["findings"] if f["code"] == "D602"] == ["failure"] * 2


def test_an_editable_install_is_looked_at_where_its_source_is(env, library):
    env.file("/src/ext/_C.so", library("80"))
    info = env.install("xformers", "0.0.28", {"__editable__.xformers.pth": "/src\n"})
    (info / "direct_url.json").write_text('{"dir_info": {"editable": true}, "url": "file:///src"}')
    found = finding(examine(env, gpu="sm_90@580"), "D602", "xformers")
    assert found["evidence"][0].startswith("/src/ext/_C.so: has sm_80")


# ---- installed


def test_s7_a_torchvision_for_another_torch_gets_the_one_that_belongs_to_it(torch):
    torch.install("torchvision", "0.20.0+cu121", requires=["numpy", "torch (==2.5.0)"])
    out = examine(torch)
    found = finding(out, "D407", "torchvision")
    assert found["primary"] and found["severity"] == "warning"
    assert found["text"] == "torchvision 0.20.0+cu121 was built for torch 2.5.0; torch 2.4.1+cu121 is installed"
    assert found["repairs"][0]["command"].endswith(
        '-m pip install --force-reinstall --no-deps "torchvision==0.19.1+cu121" --index-url https://download.pytorch.org/whl/cu121'
    )
    assert found["repairs"][0]["safe"] and "nms does not exist" in found["means"]


def test_an_environment_of_uv_gets_the_commands_of_uv(torch):
    for name, version, requires in (("torchvision", "0.20.0+cu121", ["torch (==2.5.0)"]), ("torch", "2.3.0", [])):
        torch.install(name, version, requires=requires, installer="uv")
    out = examine(torch)
    found = finding(out, "D407", "torchvision")
    assert found["repairs"][0]["command"].startswith(
        'uv pip install --force-reinstall --no-deps --python /venv/bin/python "torchvision==')
    assert found["verify"] == "uv pip check --python /venv/bin/python"
    command = finding(out, "D404", "torch")["repairs"][0]["command"]
    assert command.startswith("uv pip uninstall --python /venv/bin/python torch && uv pip uninstall --python /venv/bin/python torch && "
                              'uv pip install --python /venv/bin/python "torch==')
    assert not any("-m pip" in text for f in out["findings"] for text in (f["verify"], *(r["command"] for r in f["repairs"])))


def test_what_came_from_a_repository_is_installed_again_from_there(torch, library):
    info = torch.install("flash-attn", "2.6.3", {"flash_attn_2_cuda.so": library("80")})
    (info / "direct_url.json").write_text(
        '{"url": "https://github.com/o/fa", "vcs_info": {"vcs": "git", "commit_id": "c0ffee"}}')
    (info / "RECORD").write_text((info / "RECORD").read_text() + "flash_attn_3.so,sha256=x,1\n")
    out = examine(torch)
    command = finding(out, "D406", "flash-attn")["repairs"][0]["command"]
    assert command.endswith('install --force-reinstall --no-deps "flash-attn @ git+https://github.com/o/fa@c0ffee"')
    origins = {p["name"]: p["origin"] for p in out["packages"]}
    assert origins == {"torch": None, "flash-attn": "git+https://github.com/o/fa@c0ffee"}


@pytest.mark.parametrize("installer", ["conda", "debian"])
def test_what_conda_and_debian_installed_gets_no_command_of_pip(torch, installer):
    torch.install("torchvision", "0.20.0+cu121", requires=["torch (==2.5.0)"], installer=installer)
    (repair,) = finding(examine(torch), "D407", "torchvision")["repairs"]
    assert (repair["text"], repair["command"]) == ("install the one that belongs to this torch", "")


def test_s7_without_a_requirement_the_table_of_pairs_tells(torch):
    torch.install("torchaudio", "2.5.0+cu121")
    found = finding(examine(torch), "D407", "torchaudio")
    assert '"torchaudio==2.4.1+cu121"' in found["repairs"][0]["command"]


def test_s7_what_belongs_together_is_no_finding(torch):
    torch.install("torchvision", "0.19.1+cu121", requires=["torch (==2.4.1)"])
    torch.install("torchaudio", "2.4.1+cu121", requires=["torch (==2.4.1)"])
    torch.install("flash-attn", "2.6.3+cu123torch2.4cxx11abiFALSE", requires=["torch"])
    assert codes(examine(torch)) == []


def test_d407_a_wheel_that_names_another_torch_in_its_version(torch):
    torch.install("flash-attn", "2.6.3+cu123torch2.3cxx11abiFALSE", requires=["torch"])
    assert finding(examine(torch), "D407", "flash-attn")["evidence"] == ["its version says torch 2.3"]


def test_d408_a_torchvision_of_another_cuda(torch):
    torch.install("torchvision", "0.19.1+cu118", requires=["torch (==2.4.1)"])
    found = finding(examine(torch), "D408", "torchvision")
    assert '"torchvision==0.19.1+cu121"' in found["repairs"][0]["command"] and found["severity"] == "warning"


def test_d408_another_cuda_of_the_same_major_version_is_a_note(torch):
    torch.install("torchvision", "0.19.1+cu124", requires=["torch (==2.4.1)"])
    assert finding(examine(torch), "D408", "torchvision")["severity"] == "note"


def test_d408_a_torchvision_for_the_cpu_beside_a_torch_for_cuda(torch):
    torch.install("torchvision", "0.19.1+cpu", requires=["torch (==2.4.1)"])
    assert finding(examine(torch), "D408", "torchvision")


def test_d408_a_torchvision_for_cuda_beside_a_torch_for_the_cpu_gets_the_one_for_the_cpu(env):
    env.install("torch", "2.4.1+cpu", {"torch/__init__.py": ""})
    env.install("torchvision", "0.19.1+cu121", requires=["torch (==2.4.1)"])
    command = finding(examine(env), "D408", "torchvision")["repairs"][0]["command"]
    assert command.endswith('"torchvision==0.19.1+cpu" --index-url https://download.pytorch.org/whl/cpu')


def test_d402_a_build_for_the_cpu_gets_one_that_serves_the_gpu(env):
    env.install("torch", "2.4.1+cpu", {"torch/__init__.py": ""})
    repairs = finding(examine(env, gpu="sm_120@580"), "D402", "torch")["repairs"]
    assert repairs[0]["command"].endswith('install --upgrade "torch>=2.7.0" --index-url https://download.pytorch.org/whl/cu128')
    assert "D602" not in codes(examine(env))


def test_d402_a_build_for_the_cpu_keeps_its_version_where_that_has_a_build_for_the_gpu(env):
    env.install("torch", "2.4.1+cpu", {"torch/__init__.py": ""})
    env.install("torchvision", "0.19.1+cpu", {"torchvision/__init__.py": ""})
    repair = finding(examine(env, gpu="sm_90@580"), "D402", "torch")["repairs"][0]
    assert '"torch==2.4.1+cu12' in repair["command"] and '"torchvision==0.19.1+cu12' in repair["command"]


def test_d402_a_jetson_gets_no_wheel_for_another_machine(env):
    env.install("torch", "2.4.1+cpu", {"torch/__init__.py": ""})
    commands = [r["command"] or "" for r in finding(examine(env, gpu="sm_87"), "D402", "torch")["repairs"]]
    assert commands and not any("download.pytorch.org" in c for c in commands)


def test_d402_a_build_for_the_cpu_is_known_by_version_py(env):
    env.install("torch", "2.4.1", {"torch/version.py": "__version__ = '2.4.1+cpu'\ncuda = None\n"})
    assert finding(examine(env), "D402", "torch")


def test_a_torch_of_conda_is_known_without_a_record(env, library):
    """conda's packages keep no dist-info with a RECORD; version.py tells of CUDA."""
    env.file("/venv/conda-meta/history")
    site = env.inside(env.site)
    env.file(f"{site}/torch-2.1.2-py3.11.egg-info/PKG-INFO", "Metadata-Version: 2.1\nName: torch\nVersion: 2.1.2\n")
    env.file(f"{site}/torch/version.py", "__version__ = '2.1.2'\ncuda: Optional[str] = '12.1'\n")
    env.file(f"{site}/torch/lib/libtorch_cuda.so", library("80"))
    out = examine(env, gpu="sm_90@580")
    assert area(out, "framework")["found"] == "torch 2.1.2 (CUDA 12.1)" and finding(out, "D602", "torch")


def test_what_metadata_says_is_no_command(torch):
    torch.install("xformers", "1.0", requires=["triton==1`id`", "flash-attn==2.6.3"])
    torch.install("flash-attn", "2.6.3$(id)")
    commands = [r["command"] for f in examine(torch)["findings"] for r in f["repairs"]]
    assert commands and not any("`" in c or "$" in c for c in commands)


def test_d402_a_version_that_says_cpu_is_not_believed_against_the_code(env, library):
    env.install("torch", "2.4.1+cpu", {"torch/lib/libtorch_cuda.so": library("80", "90")})
    assert "D402" not in codes(examine(env))


def test_d401_no_framework_is_a_note(env):
    env.install("requests", "2.32.0")
    assert finding(examine(env), "D401")["severity"] == "note"


def test_d409_a_requirement_that_is_not_met(torch):
    torch.install("triton", "3.1.0")
    torch.install("vllm", "0.6.0", requires=["triton<3.1", "pillow"])
    found = finding(examine(torch), "D409", "vllm")
    assert found["text"] == "vllm 0.6.0 requires triton<3.1; installed is 3.1.0"
    assert found["repairs"][0]["command"].endswith('-m pip install "triton<3.1"')


def test_d409_requirements_of_extras_and_other_systems_do_not_count(torch):
    torch.install("triton", "3.1.0")
    torch.install(
        "vllm",
        "0.6.0",
        requires=['triton<3 ; extra == "old"', "triton<3 ; platform_system == 'Windows'", 'triton<3; python_version < "3.9"'],
    )
    assert codes(examine(torch)) == []


def test_d410_requirements_that_are_not_there_are_one_finding_with_one_command(env, library):
    env.install(
        "torch",
        "2.4.1+cu121",
        {"torch/lib/libtorch_cuda.so": library("80")},
        requires=["nvidia-cublas-cu12 (==12.1.3.1)", "nvidia-cudnn-cu12 (==9.1.0.70)", "filelock"],
    )
    found = finding(examine(env), "D410", "torch")
    assert found["text"].startswith("torch 2.4.1+cu121 requires nvidia-cublas-cu12==12.1.3.1 and 1 more")
    assert found["repairs"][0]["command"].endswith('install "nvidia-cublas-cu12==12.1.3.1" "nvidia-cudnn-cu12==9.1.0.70"')


def test_d411_libraries_for_two_cuda_versions(torch):
    torch.install("nvidia-cublas-cu12", "12.1.3.1")
    assert "D411" not in codes(examine(torch))
    torch.install("nvidia-cublas-cu11", "11.11.3.6")
    assert "nvidia-cublas-cu11, nvidia-cublas-cu12" in finding(examine(torch), "D411")["text"]


def test_d412_two_packages_that_own_one_folder(torch):
    torch.install("onnxruntime-gpu", "1.20.0")
    assert "D412" not in codes(examine(torch))
    torch.install("onnxruntime", "1.20.0")
    assert finding(examine(torch), "D412")["repairs"][0]["command"].endswith("-m pip install onnxruntime-gpu")


def test_d403_an_interrupted_upgrade(torch):
    (torch.site / "~umpy").mkdir()  # not of a package that matters here
    assert "D403" not in codes(examine(torch))
    (torch.site / "~orch").mkdir()
    assert finding(examine(torch), "D403")["text"].startswith(torch.inside(torch.site / "~orch"))


def test_d404_the_metadata_of_two_versions(torch):
    torch.install("torchvision", "0.19.1+cu121")
    assert "D404" not in codes(examine(torch))
    torch.install("torch", "2.1.2+cu121")
    found = finding(examine(torch), "D404")
    assert "2.1.2+cu121, 2.4.1+cu121" in found["text"] and found["repairs"][0]["command"].endswith(
        ' -m pip uninstall -y torch && /venv/bin/python -m pip install "torch==2.4.1+cu121" '
        '--index-url https://download.pytorch.org/whl/cu121')


def test_d405_a_library_that_no_package_lists(torch, library):
    assert "D405" not in codes(examine(torch))
    shutil.copy(library("80"), torch.site / "torch" / "lib" / "libtorch_cuda_cu.so")
    found = finding(examine(torch), "D405", "torch")
    assert any(line.endswith("torch/lib/libtorch_cuda_cu.so") for line in found["evidence"])
    assert found["repairs"][0]["command"] == (
        f'/venv/bin/python -m pip uninstall -y torch && rm -r {torch.inside(torch.site)}/torch/lib && /venv/bin/python -m pip '
        'install --force-reinstall --no-deps "torch==2.4.1+cu121" --index-url https://download.pytorch.org/whl/cu121')


def test_d406_a_library_that_is_listed_and_lost(torch):
    info = next(torch.site.glob("torch-*.dist-info"))
    record = (info / "RECORD").read_text()
    (info / "RECORD").write_text(record + "torch/lib/libtorch_cuda_linalg.so,sha256=x,1\n")
    found = finding(examine(torch), "D406", "torch")
    assert found["severity"] == "failure" and "libtorch_cuda_linalg.so" in found["evidence"][0]
    assert found["repairs"][0]["command"].endswith(
        '--no-deps "torch==2.4.1+cu121" --index-url https://download.pytorch.org/whl/cu121')


# ---- the interpreter


def test_d301_a_python_that_is_not_there(tmp_path):
    found = finding(doctor("--gpu", "sm_80", "--root", tmp_path, "--python", "/none"), "D301")
    assert "there is no such interpreter or environment" in found["text"]


def test_d302_a_virtual_environment_whose_python_is_gone(tmp_path, library):
    env = Environment(tmp_path, base="/nonexistent/python3.11")
    assert finding(examine(env), "D302")["severity"] == "failure"


def test_d303_an_active_environment_that_is_not_the_python_that_runs(tmp_path):
    runs, other = (Environment(tmp_path, place=place, whole=False) for place in ("/runs", "/other"))
    path = {"PATH": str(runs.python.parent)}
    out = doctor(*ASKED, env={**path, "VIRTUAL_ENV": str(other.folder)})
    found = finding(out, "D303")
    assert str(other.folder) in found["text"] and found["repairs"][0]["command"] == f"{runs.python} -m pip install PACKAGE"
    assert "D303" not in codes(doctor(*ASKED, env={**path, "VIRTUAL_ENV": str(runs.folder)}))


def test_an_empty_environment_that_uv_made_gets_the_commands_of_uv(tmp_path):
    runs, other = (Environment(tmp_path, place=place, whole=False) for place in ("/runs", "/other"))
    config = runs.folder / "pyvenv.cfg"
    config.write_text(config.read_text() + "uv = 0.13.9\n")
    out = doctor(*ASKED, env={"PATH": str(runs.python.parent), "VIRTUAL_ENV": str(other.folder)})
    assert finding(out, "D303")["repairs"][0]["command"] == f"uv pip install --python {runs.python} PACKAGE"


def test_d304_a_package_of_the_users_folder_comes_first(tmp_path, library):
    python = Environment(tmp_path, place="/python", base=None)
    python.install("torch", "2.4.1+cu121", {"torch/lib/libtorch_cuda.so": library("80")})
    user = tmp_path / "home" / ".local" / "lib" / "python3.11" / "site-packages"
    python.install("torch", "2.1.2+cu121", {"torch/lib/libtorch_cuda.so": library("80")}, site=user)
    out = examine(python, home="/home")
    assert finding(out, "D304")["package"] == "torch" and area(out, "framework")["found"].startswith("torch 2.1.2")
    out = examine(python, home="/home", env={"PYTHONNOUSERSITE": "1"})
    assert "D304" not in codes(out) and area(out, "framework")["found"].startswith("torch 2.4.1")


def test_what_lies_in_the_users_folder_is_installed_there_again(tmp_path, library):
    python = Environment(tmp_path, place="/python", base=None)
    user = tmp_path / "home" / ".local" / "lib" / "python3.11" / "site-packages"
    info = python.install("torch", "2.1.2+cu121", {"torch/lib/libtorch_cuda.so": library("80")}, site=user)
    (info / "RECORD").write_text((info / "RECORD").read_text() + "torch/lib/libtorch_cuda_linalg.so,sha256=x,1\n")
    command = finding(examine(python, home="/home"), "D406", "torch")["repairs"][0]["command"]
    assert ' -m pip install --force-reinstall --no-deps --user "torch==2.1.2+cu121" --index-url ' in command


def test_a_virtual_environment_does_not_see_the_users_folder(torch, tmp_path, library):
    user = tmp_path / "home" / ".local" / "lib" / "python3.11" / "site-packages"
    torch.install("torch", "2.1.2+cu121", site=user)
    out = examine(torch, home="/home")
    assert codes(out) == [] and area(out, "framework")["found"].startswith("torch 2.4.1")


def test_d305_a_package_of_pythonpath_comes_first(torch, tmp_path):
    torch.install("torch", "2.1.2+cu121", site=tmp_path / "elsewhere")
    out = examine(torch, env={"PYTHONPATH": "/elsewhere"})
    assert finding(out, "D305")["package"] == "torch"
    assert "D305" not in codes(examine(torch))


def test_d306_a_package_that_is_there_twice(torch, tmp_path):
    torch.install("torch", "2.1.2+cu121", site=tmp_path / "chained")
    (torch.site / "chain.pth").write_text("/chained\nimport sys; never_run\n")
    found = finding(examine(torch), "D306")
    assert found["text"].startswith("torch is installed in two places; 2.4.1+cu121")


def test_an_environment_may_be_named_by_its_folder(torch):
    out = doctor(*ASKED, "--root", torch.root, "--python", "/venv")
    assert out["python"]["exe"] == "/venv/bin/python"


def test_a_shim_of_pyenv_leads_to_its_python(tmp_path):
    behind = Environment(tmp_path, place="/pyenv/versions/3.11.7", base=None, whole=False)
    behind.install("torch", "2.4.1+cu121")
    shim = tmp_path / "pyenv" / "shims" / "python"
    shim.parent.mkdir()
    shim.write_text("#!/bin/sh\nexit 1\n")
    shim.chmod(0o755)
    (tmp_path / "pyenv" / "version").write_text("3.11.7\n")
    out = doctor(*ASKED, env={"PATH": str(shim.parent)})
    assert area(out, "framework")["found"].startswith("torch 2.4.1")


def test_a_script_that_is_no_shim_is_said_to_be_one(tmp_path):
    (tmp_path / "python").write_text("#!/bin/sh\n")
    (tmp_path / "python").chmod(0o755)
    assert "it is a script, not an interpreter" in finding(doctor(*ASKED, "--python", tmp_path / "python"), "D301")["text"]


# ---- the command line


def test_the_exit_status_is_0_whatever_was_found(env, library):
    env.install("torch", "2.4.1+cu121", {"torch/lib/libtorch_cuda.so": library("80")})
    assert finding(examine(env, gpu="sm_120"), "D602")["severity"] == "failure"


@pytest.mark.parametrize("gpu, severity, code", [
    ("sm_120@580", "failure", 4), ("sm_86@580", "failure", 0), ("sm_86@580", "warning", 0), ("sm_86@580", "note", 0),
])
def test_fail_on_ends_with_4_when_something_is_that_severe(torch, gpu, severity, code):
    examine(torch, "--fail-on", severity, gpu=gpu, code=code)


@pytest.mark.parametrize("words, sentence", [
    (["--gpu", "sm_banana"], "--gpu"),
    (["--fail-on", "everything"], "note, warning or failure was expected"),
    (["--paths", "long"], "short or full was expected"),
    (["--root", "relative"], "the absolute path of a folder was expected"),
    (["something"], "it takes options only"),
])
def test_words_that_make_no_sense_end_with_2(words, sentence):
    done = run_doctor(*words)
    assert done.returncode == 2 and sentence in done.stderr and not done.stdout


def test_chinese_has_the_same_codes_and_commands(torch):
    english, chinese = (examine(torch, gpu="sm_120@580", env={"NOKERNEL_LANG": lang}) for lang in ("en", "zh"))
    assert codes(english) == codes(chinese) and english["findings"][0]["text"] != chinese["findings"][0]["text"]
    pairs = zip(english["findings"][0]["repairs"], chinese["findings"][0]["repairs"])
    assert all(a["command"] == b["command"] for a, b in pairs)


def test_each_finding_has_a_test_that_shows_it():
    texts = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*doctor*.py"))
    catalogue = re.findall(r'^NK_FINDING\((D\d+), \w+, "(\w+)"', (ROOT / "include/advice/findings.def").read_text(), re.M)
    assert len(catalogue) > 50
    assert [code for code, about in catalogue if about != "probe" and f'"{code}"' not in texts] == []


def test_explain_lists_the_findings_and_tells_of_each():
    done = command("explain", "findings")
    assert done.returncode == 0 and "D101" in done.stdout and "D802" in done.stdout
    assert "does_not_mean" in command("explain", "--json", "D602").stdout


def test_explain_says_of_every_finding_what_to_do():
    codes = re.findall(r"^  (D\d+) ", command("explain", "findings").stdout, re.M)
    assert len(codes) > 50
    explained = json.loads(command("explain", "--json", *codes).stdout)["explained"]
    assert [e["word"] for e in explained if not e.get("do")] == []


SPY = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int tell(const char *name)
{
    int fd = open(getenv("SPY_LOG"), O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (write(fd, name, strlen(name)) < 0) abort();
    close(fd);
    return -1;
}
int socket(int a, int b, int c) { return tell("socket "); }
int connect(int a, void *b, unsigned c) { return tell("connect "); }
int getaddrinfo(void *a, void *b, void *c, void *d) { return tell("getaddrinfo "); }
int execve(const char *a, char *const *b, char *const *c) { return tell("execve "); }
int execv(const char *a, char *const *b) { return tell("execv "); }
int execvp(const char *a, char *const *b) { return tell("execvp "); }
int posix_spawn(int *a, void *b, void *c, void *d, void *e, void *f) { return tell("posix_spawn "); }
int posix_spawnp(int *a, void *b, void *c, void *d, void *e, void *f) { return tell("posix_spawnp "); }
int system(const char *a) { return tell("system "); }
void *popen(const char *a, const char *b) { tell("popen "); return 0; }
"""


def spied(store, tmp_path, *words, env=None, codes=(0,)):
    """What the command called of these functions."""

    def build(path):
        source = path.with_suffix(".c")
        source.write_text(SPY)
        subprocess.run(["gcc", "-shared", "-fPIC", "-w", "-o", path, source], check=True)

    log = tmp_path / "calls"
    full = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LD_PRELOAD": str(store.make(SPY, "spy.so", build)), "SPY_LOG": str(log)}
    done = subprocess.run([COMMAND, *map(str, words)], env=full | (env or {}), capture_output=True, text=True, timeout=60)
    assert done.returncode in codes, done.stderr
    return log.read_text() if log.exists() else ""


@pytest.mark.plain
def test_no_socket_is_opened_and_no_program_is_run(torch, tmp_path, store):
    assert spied(store, tmp_path, "doctor", *ASKED, *torch.words) == ""


@pytest.mark.plain
def test_the_driver_is_asked_without_a_program_or_a_socket(torch, tmp_path, store):
    driver = {"LD_LIBRARY_PATH": str(SIM), "SIM_SM": "80"}
    assert spied(store, tmp_path, "doctor", "--recordings", "none", *torch.words, env=driver) == ""


@pytest.mark.plain
def test_the_spy_sees_a_program_that_is_run(tmp_path, store):
    """scan --python runs the interpreter: the two tests above can fail."""
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "posix_spawnp" in spied(store, tmp_path, "scan", "--python", "python3", empty, codes=range(5))


def test_nothing_is_written(torch, tmp_path):
    before = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")}
    examine(torch, home=tmp_path)
    assert {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")} == before
