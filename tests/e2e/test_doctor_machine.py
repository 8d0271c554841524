"""`nokernel doctor` about the machine: driver, GPUs, WSL, containers, settings, libraries, toolkit, caches, recordings.

The driver is the simulated one; what the machine has else (/proc, /dev, toolkits) is staged below a root.
"""

import os
import subprocess
import time

import pytest
import scanning
from conftest import SIM, preload, without_privilege
from doctoring import Environment, area, codes, doctor, finding, run as run_doctor
from fixtures import images

pytestmark = pytest.mark.sanitized
NAME = "_Z3k_aPf"
NVRM = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  {}  Sun Jul  6 02:35:59 UTC 2025\nGCC version:  gcc 12\n"


@pytest.fixture
def library(store):
    return lambda *words: scanning.shared(store, nv_fatbin=[images.container(store, words, [NAME])])


@pytest.fixture
def env(tmp_path, library):
    """An environment with a torch for sm_80 and sm_90, on a machine that is staged in a folder."""
    env = Environment(tmp_path)
    env.install("torch", "2.4.1+cu121", {"torch/lib/libtorch_cuda.so": library("80", "90")})
    return env


def live(where, sm="80", **how):
    """With the GPUs of the simulated driver."""
    return doctor("--recordings", "none", python=where, sm=sm, **how)


def asked(where, gpu="sm_80@580", *more, **how):
    return doctor("--gpu", gpu, "--recordings", "none", *more, python=where, **how)


# ---- driver


def test_s4_a_machine_that_is_well_has_nothing_to_change(env):
    env.file("/proc/driver/nvidia/version", NVRM.format("580.65.06"))
    out = live(env)
    assert out["nothing_to_change"] and codes(out) == []
    assert {a["area"] for a in out["areas"] if not a["checked"]} == set()
    assert out["driver"]["version"] == out["driver"]["module"] == "580.65.06" and out["driver"]["cuda"] == "13.0"


def test_all_gpus_are_listed_with_their_architectures(env):
    out = live(env, sm="80,90,120", env={"SIM_NAME": "first|second|third"})
    assert [(g["ordinal"], g["name"], g["sm"]) for g in out["gpus"]] == [
        (0, "first", "sm_80"), (1, "second", "sm_90"), (2, "third", "sm_120"),
    ]
    found = finding(out, "D602", "torch")
    assert found["text"].endswith("no code for GPU 2 (sm_120)")


def test_gpus_of_one_kind_are_said_once(env):
    out = live(env, sm="120,120,80,120", env={"SIM_NAME": "a|a|b|a"})
    assert area(out, "GPU")["found"] == "0-1 a, sm_120; 2 b, sm_80; 3 a, sm_120"
    assert finding(out, "D602", "torch")["text"].endswith("no code for GPU 0, 1, 3 (sm_120)")
    alike = live(env, sm="120,120")
    assert finding(alike, "D602", "torch")["text"].endswith("no code for sm_120")
    assert finding(alike, "D602", "torch")["severity"] == "failure"


def test_s6_d101_no_driver(env):
    found = finding(doctor("--recordings", "none", python=env), "D101")
    assert found["primary"] and "no libcuda.so.1" in found["text"]
    assert "D101" not in codes(live(env))


def test_d102_no_driver_in_a_container(env):
    env.file("/.dockerenv")
    out = doctor("--recordings", "none", python=env)
    found = finding(out, "D102")
    assert "--gpus all" in found["repairs"][0]["command"] and found["repairs"][0]["safe"]
    env.file("/dev/nvidiactl")
    some = doctor("--recordings", "none", python=env, env={"NVIDIA_DRIVER_CAPABILITIES": "utility"})
    assert any("NVIDIA_DRIVER_CAPABILITIES=utility" in line for line in finding(some, "D102")["evidence"])
    assert "its devices, but no libcuda.so.1" in finding(doctor("--recordings", "none", python=env), "D102")["text"]


def test_d103_a_stub_that_answers_like_one(env, tmp_path):
    """A real stub answers 34 (CUDA_ERROR_STUB_LIBRARY)."""
    found = finding(live(env, env={"SIM_FAIL": "cuInit=34"}), "D103")
    assert any("34 CUDA_ERROR_STUB_LIBRARY" in line for line in found["evidence"])


def test_d103_a_stub_that_lies_in_the_path_of_libraries(env, library):
    env.file("/usr/local/cuda/lib64/stubs/libcuda.so.1", library("80"))
    out = doctor("--recordings", "none", python=env, env={"LD_LIBRARY_PATH": "/opt/lib:/usr/local/cuda/lib64/stubs/:/opt/more"})
    found = finding(out, "D103")
    assert found["primary"] and found["repairs"][0]["command"] == "export LD_LIBRARY_PATH=/opt/lib:/opt/more"
    assert "D101" not in codes(out)


def test_d104_the_library_and_the_module_are_of_two_versions(env):
    env.file("/proc/driver/nvidia/version", NVRM.format("570.124.06"))
    out = live(env, env={"SIM_FAIL": "cuInit=803"})
    assert finding(out, "D104")["text"] == "the driver's library is 580.65.06, its kernel module 570.124.06"
    assert "D108" not in codes(out)


def test_the_version_of_the_open_kernel_module_is_read(env):
    env.file("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build\n")
    assert live(env)["driver"]["module"] == "580.65.06"


def test_d105_wsl_where_a_linux_driver_comes_first(env):
    env.file("/dev/dxg")
    out = live(env)
    assert out["driver"]["wsl"] and str(SIM) in finding(out, "D105")["text"]


def test_d105_wsl_without_the_library_of_windows(env):
    env.file("/dev/dxg")
    found = finding(doctor("--recordings", "none", python=env), "D105")
    assert "is not" in found["evidence"][0]


def test_wsl_with_the_library_of_windows_is_well(env, tmp_path):
    env.file("/dev/dxg")
    wsl = tmp_path / "usr" / "lib" / "wsl" / "lib"
    wsl.mkdir(parents=True)
    os.link(SIM / "libcuda.so.580.65.06", wsl / "libcuda.so.1")
    assert codes(live(env, env={"LD_LIBRARY_PATH": str(wsl)})) == []


def test_d106_a_device_that_may_not_be_opened(env):
    env.file("/dev/nvidiactl").chmod(0)
    out = live(env, env={"SIM_FAIL": "cuInit=100"}, preexec_fn=without_privilege)
    assert finding(out, "D106")["primary"] and "/dev/nvidiactl" in finding(out, "D106")["text"]
    env.file("/dev/nvidiactl").chmod(0o666)
    assert finding(live(env, env={"SIM_FAIL": "cuInit=100"}, preexec_fn=without_privilege), "D109")


@pytest.mark.plain
def test_d107_a_driver_that_hangs_hangs_nobody_else(env, tmp_path):
    source = tmp_path / "hang.c"
    source.write_text("#include <unistd.h>\nint cuInit(unsigned f) { for (;;) pause(); }\nint cuDriverGetVersion(int *v) { return 1; }\n")
    hang = tmp_path / "hang"
    hang.mkdir()
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", hang / "libcuda.so.1", source], check=True)
    start = time.monotonic()
    out = doctor("--recordings", "none", python=env, env={"LD_LIBRARY_PATH": str(hang)})
    assert time.monotonic() - start < 20 and finding(out, "D107")["primary"]


def test_a_driver_that_crashes_takes_nothing_with_it(env, tmp_path):
    source = tmp_path / "crash.c"
    source.write_text("int cuInit(unsigned f) { return *(volatile int *)0; }\nint cuDriverGetVersion(int *v) { return 1; }\n")
    crash = tmp_path / "crash"
    crash.mkdir()
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", crash / "libcuda.so.1", source], check=True)
    out = doctor("--recordings", "none", python=env, env={"LD_LIBRARY_PATH": str(crash)})
    assert "the process that asked it died" in finding(out, "D108")["text"]


def test_d108_a_driver_that_does_not_start(env):
    found = finding(live(env, env={"SIM_FAIL": "cuInit=802"}), "D108")
    assert "802 CUDA_ERROR_SYSTEM_NOT_READY" in found["text"] and found["repairs"][0]["text"].startswith("nokernel explain 802 ")


def test_d109_a_driver_without_a_gpu(env):
    assert finding(live(env, sm=""), "D109")["primary"]


def test_d110_every_gpu_is_hidden(env):
    for value in ("7", "", "-1", "banana"):
        out = live(env, sm="80,90", env={"CUDA_VISIBLE_DEVICES": value})
        found = finding(out, "D110")
        assert "2 there" in found["text"] and "D109" not in codes(out)
    assert "D110" not in codes(live(env, sm="80,90", env={"CUDA_VISIBLE_DEVICES": "1"}))


def test_d111_an_invalid_ordinal_cuts_the_list(env):
    out = live(env, sm="80,90", env={"CUDA_VISIBLE_DEVICES": "1,5,0"})
    assert "there is no GPU 5" in finding(out, "D111")["text"] and len(out["gpus"]) == 1
    assert "D111" not in codes(live(env, sm="80,90", env={"CUDA_VISIBLE_DEVICES": "1,0"}))


def test_d112_the_forward_compatibility_library_over_an_older_module(env, tmp_path):
    env.file("/proc/driver/nvidia/version", NVRM.format("535.54.03"))
    compat = tmp_path / "usr" / "local" / "cuda" / "compat"
    compat.mkdir(parents=True)
    os.link(SIM / "libcuda.so.580.65.06", compat / "libcuda.so.580.65.06")
    (compat / "libcuda.so.1").symlink_to("libcuda.so.580.65.06")
    out = live(env, env={"LD_LIBRARY_PATH": str(compat)})
    assert finding(out, "D112")["severity"] == "note" and "D104" not in codes(out)


def test_d113_an_architecture_that_is_not_known(env):
    assert finding(live(env, sm="199"), "D113")["severity"] == "note"


def test_d114_a_driver_older_than_the_frameworks_cuda(env):
    found = finding(live(env, driver=11080), "D114", "torch")
    assert found["text"] == "the driver is for CUDA 11.8, torch 2.4.1+cu121 was built with CUDA 12.1"
    driver, build = found["repairs"][:2]
    assert driver["text"].startswith("a newer driver") and not driver["safe"] and build["command"].endswith(
        '"torch==2.4.1+cu118" --index-url https://download.pytorch.org/whl/cu118')
    assert "D114" not in codes(live(env, driver=12000))


def test_d114_the_text_ranks_the_repairs(env):
    text = run_doctor("--recordings", "none", python=env, sm=80, driver=11080).stdout
    assert text.index("    fix   a newer driver") < text.index("    or    the same torch 2.4.1, built for CUDA 11.8")


def test_d114_where_no_build_starts_on_the_driver_none_is_advised(env):
    (repair,) = finding(live(env, driver=9000), "D114", "torch")["repairs"]
    assert repair["text"].startswith("a newer driver") and not repair["command"]


def test_d115_ptx_without_the_drivers_compiler(tmp_path, library):
    env = Environment(tmp_path)
    env.install("fast", "1.0", {"fast/_C.so": library("80", "ptx80")})
    assert finding(live(env, sm="90"), "D115", "fast")["severity"] == "warning"
    assert "D115" not in codes(live(env, sm="80"))
    env.file("/usr/lib/x86_64-linux-gnu/libnvidia-ptxjitcompiler.so.1", library("80"))
    assert codes(live(env, sm="90")) == ["D604"]


def test_asking_the_driver_leaves_no_recording(env, tmp_path):
    """Where libnokernel.so is preloaded into everything, also into this command."""
    preloaded = {"LD_PRELOAD": preload(), "NOKERNEL_DIR": str(tmp_path / "recordings")}
    out = live(env, env=preloaded)
    assert out["driver"]["state"] == "works" and not (tmp_path / "recordings").exists()


# ---- settings


def test_d201_forced_ptx_is_a_failure_where_there_is_none(env):
    found = finding(asked(env, env={"CUDA_FORCE_PTX_JIT": "1"}), "D201")
    assert found["severity"] == "failure" and found["primary"] and found["repairs"][0]["command"] == "unset CUDA_FORCE_PTX_JIT"
    assert "D201" not in codes(asked(env, env={"CUDA_FORCE_PTX_JIT": "0"}))


def test_d202_forbidden_ptx_is_a_failure_where_only_ptx_fits(tmp_path, library):
    env = Environment(tmp_path)
    env.install("fast", "1.0", {"fast/_C.so": library("80", "ptx80")})
    set_ = {"CUDA_DISABLE_PTX_JIT": "1"}
    assert finding(asked(env, "sm_90@580", env=set_), "D202")["severity"] == "failure"
    assert finding(asked(env, "sm_80@580", env=set_), "D202")["severity"] == "note"
    assert "D202" not in codes(asked(env, "sm_90@580"))


@pytest.mark.parametrize("code, variable, value, harmless", [
    ("D203", "CUDA_MODULE_LOADING", "EAGER", "LAZY"),
    ("D204", "CUDA_LAUNCH_BLOCKING", "1", "0"),
    ("D206", "CUDA_CACHE_DISABLE", "1", "0"),
])
def test_a_setting_that_changes_the_outcome_is_a_note(env, code, variable, value, harmless):
    out = asked(env, env={variable: value})
    assert finding(out, code)["severity"] == "note" and out["nothing_to_change"]
    assert f"{variable}={value}" in area(out, "settings")["found"]
    assert code not in codes(asked(env, env={variable: harmless}))


@pytest.mark.parametrize("value, covered", [
    ("8.0", True), ("8.0;9.0a", True), ("7.5+PTX", True), ("Ampere", True), ("6.0 7.0", False), ("9.0", False), ("Turing;Hopper", False),
])
def test_d205_a_list_of_architectures_without_the_gpu(env, value, covered):
    out = asked(env, env={"TORCH_CUDA_ARCH_LIST": value})
    assert ("D205" in codes(out)) != covered
    if not covered:
        assert finding(out, "D205")["repairs"][0]["command"] == "export TORCH_CUDA_ARCH_LIST=8.0"


# ---- libraries that would be loaded


def needing(store, name, *needed, rpath=None, runpath=None, words=("80", "90")):
    """A library with device code that needs others by name."""
    empty = store.make("doctor empty", "empty.c", lambda path: path.write_text("int nothing;\n"))
    made = []
    for soname in needed:
        made.append(store.make(f"doctor {soname}", soname, lambda path, s=soname: subprocess.run(
            ["gcc", "-shared", f"-Wl,-soname,{s}", "-o", path, empty], check=True)))
    fatbin = images.container(store, words, [NAME])
    text = f'.section .nv_fatbin,"a",@progbits\n.incbin "{fatbin}"\n.section .note.GNU-stack,"",@progbits\n'
    flags = [f"-Wl,--disable-new-dtags,-rpath,{rpath}"] if rpath else [f"-Wl,--enable-new-dtags,-rpath,{runpath}"] if runpath else []

    def build(path):
        source = path.with_suffix(".s")
        source.write_text(text)
        subprocess.run(["gcc", "-shared", "-nostdlib", "-Wl,--no-as-needed", "-o", path, source, *made, *flags], check=True)

    return store.make(f"doctor needing {needed} {rpath} {runpath} {text}", name, build), dict(zip(needed, made))


def torch_with(tmp_path, store, **how):
    env = Environment(tmp_path)
    made, libraries = needing(store, "libtorch_cuda.so", "libcudart.so.12", **how)
    env.install("torch", "2.4.1+cu121", {"torch/lib/libtorch_cuda.so": made})
    return env, libraries["libcudart.so.12"]


RPATH = "$ORIGIN/../../nvidia/cuda_runtime/lib"


def install_runtime(env, cudart):
    env.install("nvidia-cuda-runtime-cu12", "12.1.105", {"nvidia/cuda_runtime/lib/libcudart.so.12": cudart})


def runtime(out, name="libcudart.so.12"):
    return next(r for r in out["runtimes"] if r["name"] == name)


def test_d501_a_library_that_is_found_nowhere(tmp_path, store):
    env, cudart = torch_with(tmp_path, store, rpath=RPATH)
    found = finding(asked(env), "D501", "torch")
    assert found["severity"] == "failure" and found["primary"] and "libcudart.so.12" in found["text"]
    assert found["repairs"][0]["command"].endswith("-m pip install nvidia-cuda-runtime-cu12")
    install_runtime(env, cudart)
    assert "D501" not in codes(asked(env))


@pytest.mark.parametrize("version, library, package", [
    ("2.4.1+cu121", "libcudnn.so.9", "nvidia-cudnn-cu12"), ("2.9.1+cu130", "libcudart.so.13", "nvidia-cuda-runtime"),
    ("2.9.1+cu130", "libcublasLt.so.13", "nvidia-cublas"), ("2.9.1+cu130", "libcudnn.so.9", "nvidia-cudnn-cu13"),
    ("2.9.1+cu130", "libcusparseLt.so.0", "nvidia-cusparselt-cu13"),
])
def test_d501_names_the_package_as_the_cuda_of_torch_calls_it(tmp_path, store, version, library, package):
    env = Environment(tmp_path)
    made, _ = needing(store, "libtorch_cuda.so", library, rpath=RPATH)
    env.install("torch", version, {"torch/lib/libtorch_cuda.so": made})
    command = finding(asked(env), "D501", "torch")["repairs"][0]["command"]
    assert command == f"/venv/bin/python -m pip install {package}"


def test_d501_advises_what_the_package_itself_requires(tmp_path, store):
    env = Environment(tmp_path)
    made, _ = needing(store, "libtorch_cuda.so", "libcudart.so.12", rpath=RPATH)
    env.install("torch", "2.4.1+cu121", {"torch/lib/libtorch_cuda.so": made}, requires=["nvidia-cuda-runtime-cu12 (==12.1.105)"])
    out = asked(env)
    assert finding(out, "D501")["repairs"][0]["command"].endswith('install "nvidia-cuda-runtime-cu12==12.1.105"')
    assert "D410" not in codes(out)


def test_rpath_comes_before_ld_library_path(tmp_path, store):
    env, cudart = torch_with(tmp_path, store, rpath=RPATH)
    install_runtime(env, cudart)
    env.file("/usr/local/cuda/lib64/libcudart.so.12", cudart)
    out = asked(env, env={"LD_LIBRARY_PATH": "/usr/local/cuda/lib64"})
    assert runtime(out)["how"] == "RPATH" and runtime(out)["package"] == "nvidia-cuda-runtime-cu12"
    assert "D502" not in codes(out)


def test_d502_ld_library_path_comes_before_runpath(tmp_path, store):
    env, cudart = torch_with(tmp_path, store, runpath=RPATH)
    install_runtime(env, cudart)
    env.file("/usr/local/cuda/lib64/libcudart.so.12", cudart)
    assert runtime(asked(env))["how"] == "RUNPATH"
    out = asked(env, env={"LD_LIBRARY_PATH": "/usr/local/cuda/lib64"})
    assert runtime(out)["path"] == "/usr/local/cuda/lib64/libcudart.so.12"
    found = finding(out, "D502", "torch")
    assert found["severity"] == "warning" and found["repairs"][0]["command"] == "unset LD_LIBRARY_PATH"


def test_what_the_loader_does_not_find_the_packages_of_nvidia_have(tmp_path, store):
    env, cudart = torch_with(tmp_path, store)
    install_runtime(env, cudart)
    out = asked(env)
    assert runtime(out)["how"] == "preloaded" and "D501" not in codes(out)


def test_the_cache_of_the_loader_is_read(tmp_path, store):
    """As ldconfig writes it, for a root of its own."""
    env, cudart = torch_with(tmp_path, store)
    env.file("/opt/cuda/libcudart.so.12", cudart)
    env.file("/etc/ld.so.conf", "/opt/cuda\n")
    done = subprocess.run(["/sbin/ldconfig", "-X", "-r", tmp_path], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"ldconfig cannot be run for another root here: {done.stderr}")
    assert (runtime(asked(env))["how"], runtime(asked(env))["path"]) == ("cache", "/opt/cuda/libcudart.so.12")


def test_d503_two_runtimes_in_one_process_are_a_note(tmp_path, store):
    env, cudart = torch_with(tmp_path, store, rpath=RPATH)
    install_runtime(env, cudart)
    assert "D503" not in codes(asked(env))
    made, libraries = needing(store, "_C.so", "libcudart.so.11.0", rpath="$ORIGIN")
    env.install("old-ext", "1.0", {"old_ext/_C.so": made, "old_ext/libcudart.so.11.0": libraries["libcudart.so.11.0"]})
    found = finding(asked(env), "D503")
    assert found["severity"] == "note" and "libcudart.so.11.0 (for old_ext/_C.so)" in found["text"]


# ---- toolkit


def install_toolkit(env, version, place="/usr/local/cuda"):
    env.file(f"{place}/bin/nvcc").chmod(0o755)
    env.file(f"{place}/include/cuda.h", f"/* */\n#define CUDA_VERSION {version}\n")


def test_d701_a_toolkit_that_does_not_know_the_gpu(env):
    install_toolkit(env, 12040)
    found = finding(asked(env, "sm_120@580"), "D701")
    assert found["severity"] == "note" and any("CUDA 12.8" in line for line in found["evidence"])
    assert "D701" not in codes(asked(env, "sm_90@580"))


def test_d701_a_toolkit_that_has_dropped_the_gpu(env):
    install_toolkit(env, 13000)
    assert finding(asked(env, "sm_70@12.4"), "D701")


def test_d702_a_toolkit_of_another_major_version(env):
    install_toolkit(env, 13000)
    assert finding(asked(env, "sm_80@580"), "D702")["repairs"][0]["command"] == "export CUDA_HOME=/usr/local/cuda-12.1"
    install_toolkit(env, 12080)
    assert "D702" not in codes(asked(env, "sm_80@580"))


def test_d703_a_cuda_home_without_a_toolkit(env):
    install_toolkit(env, 12010, "/opt/cuda-12.1")
    assert finding(asked(env, env={"CUDA_HOME": "/opt/none"}), "D703")
    out = asked(env, env={"CUDA_HOME": "/opt/cuda-12.1"})
    assert "D703" not in codes(out) and area(out, "toolkit")["found"] == "CUDA 12.1 in /opt/cuda-12.1"


PTXAS = "Cuda compilation tools, release %d.%d, V%d\0Cuda compilation tools, release {0}, V{0}.93\0"


def test_d704_a_ptxas_of_triton_that_does_not_know_the_gpu(env):
    env.install("triton", "3.0.0", {"triton/backends/nvidia/bin/ptxas": PTXAS.format("12.4")})
    found = finding(asked(env, "sm_121@580"), "D704", "triton")
    assert found["text"] == "triton 3.0.0 compiles kernels with CUDA 12.4, which does not know sm_121@580"
    assert found["repairs"][0]["command"] == "export TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas"
    assert "D704" not in codes(asked(env, "sm_90@580"))


def test_d704_a_second_ptxas_or_a_named_one_is_enough(env):
    env.install("triton", "3.5.0", {"triton/backends/nvidia/bin/ptxas": PTXAS.format("12.4")})
    env.file("/opt/ptxas", PTXAS.format("13.0"))
    assert "D704" in codes(asked(env, "sm_121@580"))
    assert "D704" not in codes(asked(env, "sm_121@580", env={"TRITON_PTXAS_PATH": "/opt/ptxas"}))
    env.file(f"{env.inside(env.site)}/triton/backends/nvidia/bin/ptxas-blackwell", PTXAS.format("13.0"))
    assert "D704" not in codes(asked(env, "sm_121@580"))


def test_d704_an_nvrtc_of_cupy_that_does_not_know_the_gpu(env):
    env.install("cupy-cuda12x", "13.4.1")
    env.install("nvidia-cuda-nvrtc-cu12", "12.6.85")
    found = finding(asked(env, "sm_120@580"), "D704", "cupy-cuda12x")
    assert found["repairs"][0]["command"].endswith('-m pip install --upgrade "nvidia-cuda-nvrtc-cu12>=12.8"')
    assert "D704" not in codes(asked(env, "sm_90@580"))


# ---- caches


def test_d801_an_extension_that_was_compiled_for_another_gpu(env, library):
    env.file("/home/.cache/torch_extensions/py311_cu121/fused/fused.so", library("80"))
    assert "D801" not in codes(asked(env, "sm_80@580", home="/home"))
    found = finding(asked(env, "sm_90@580", home="/home"), "D801")
    assert found["repairs"][0]["command"] == "rm -r ~/.cache/torch_extensions/py311_cu121/fused"


def test_a_cache_of_another_python_is_none_of_ours(env, library):
    env.file("/home/.cache/torch_extensions/py310_cu121/fused/fused.so", library("80"))
    env.file("/home/.cache/torch_extensions/py311_cu118/fused/fused.so", library("80"))
    assert "D801" not in codes(asked(env, "sm_90@580", home="/home"))


def test_d802_an_extension_that_is_older_than_torch(env, library):
    built = env.file("/home/.cache/torch_extensions/py311_cu121/fused/fused.so", library("80", "90"))
    assert "D802" not in codes(asked(env, home="/home"))
    os.utime(built, (1, 1))
    assert finding(asked(env, home="/home"), "D802")["severity"] == "note"


def test_other_caches_are_counted(env):
    for path in (".triton/cache/abc/k.cubin", ".nv/ComputeCache/index", ".cupy/kernel_cache/x.cubin"):
        env.file(f"/home/{path}")
    found = area(asked(env, home="/home"), "caches")["found"]
    assert "1 entries of Triton" in found and "1 files of CuPy" in found and "1 entries of the driver" in found
