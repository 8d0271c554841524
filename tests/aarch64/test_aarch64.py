"""test_aarch64.py - the library and the command of aarch64, on NVIDIA's runtimes for aarch64, emulated by QEMU.

Run by `make check-aarch64`, which builds all for aarch64 into $B. What is shared with x86-64 is tested there; here stands
what a machine decides: the jump out of dlsym, the way of the first call of a hook, stacks, the native format of ELF.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from fixtures import images, programs, toolkit  # noqa: E402

BUILD = Path(os.environ["B"]).resolve()
CROSS = toolkit.CACHE / "aarch64"
SYSROOT = f"--sysroot={CROSS / 'root'}"
QEMU = ["qemu-aarch64-static", "-L", str(CROSS / "root")]
RUNTIMES = {
    "12.9": CROSS / "pypi/nvidia-cuda-runtime-cu12-12.9.79/nvidia/cuda_runtime/lib/libcudart.so.12",
    "13.5": CROSS / "pypi/nvidia-cuda-runtime-13.5.37/nvidia/cu13/lib/libcudart.so.13",
}
A = programs.NAMES["a"]


@pytest.fixture(scope="session")
def store():
    return images.Store(BUILD / "fixtures")


def launches(store, version, static):
    """tests/apps/launches.c for aarch64, with kernel a for sm_80 and kernel b for sm_80 and sm_90."""
    compiler = ["aarch64-linux-gnu-gcc", SYSROOT, "-std=gnu11", "-O1", "-g", "-fPIC"]
    runtime = RUNTIMES[version]
    if static:
        libraries = [runtime.parent / "libcudart_static.a", "-lpthread", "-ldl", "-lrt"]
    else:
        libraries = [runtime, f"-Wl,-rpath,{runtime.parent}"]

    def build(path):
        objects = [path.with_suffix(".o")]
        toolkit.tool([*compiler, "-c", programs.APPS / "launches.c", "-o", objects[0]])
        for letter, words in (("a", ["80"]), ("b", ["80", "90"])):
            fatbin = images.container(store, words, [programs.NAMES[letter]])
            defines = [f"-DLETTER={letter}", f"-DKERNEL={programs.NAMES[letter]}", f'-DIMAGE="{fatbin}"']
            objects.append(path.with_suffix(f".{letter}.o"))
            style = f"-D{programs.style_of(version)}"
            toolkit.tool([*compiler, *defines, style, "-c", programs.APPS / "kernel.c", "-o", objects[-1]])
        toolkit.tool(["aarch64-linux-gnu-g++", SYSROOT, *objects, *libraries, "-o", path])

    key = " ".join(map(str, [*compiler, *libraries])) + programs.source_key("kernel.c")
    return store.make(key + programs.source_key("launches.c"), "launches", build)


def emulated(*words, **environment):
    sets = [w for name, value in environment.items() for w in ("-E", f"{name}={value}")]
    return subprocess.run([*QEMU, *sets, *map(str, words)], capture_output=True, text=True, timeout=300)


def report(tmp_path, program, *words, sm):
    """The report of a run under the library; what the program says must be what it says without."""
    driver = {"LD_LIBRARY_PATH": BUILD / "sim", "SIM_SM": sm}
    plain = emulated(program, *words, **driver)
    ours = {"LD_PRELOAD": BUILD / "libnokernel.so", "NOKERNEL_DIR": tmp_path, "NOKERNEL_LANG": "en"}
    watched = emulated(program, *words, **driver, **ours)
    assert (watched.stdout, watched.returncode) == (plain.stdout, plain.returncode), watched.stderr
    [recording] = tmp_path.glob("*.nkr")
    text = emulated(BUILD / "nokernel", "report", recording, NOKERNEL_LANG="en")
    assert text.stdout == watched.stderr
    return json.loads(emulated(BUILD / "nokernel", "report", "--json", recording).stdout)


@pytest.mark.parametrize("static", [False, True], ids=["shared", "static"])
@pytest.mark.parametrize("version", sorted(RUNTIMES))
def test_kernels_that_fit_are_counted(store, tmp_path, version, static):
    out = report(tmp_path, launches(store, version, static), "a", "b", "b", sm=80)
    assert out["summary"]["healthy"] and not out["failures"]
    assert sorted((k["name"], k["launches"]) for k in out["kernels"]) == [(A, 1), (programs.NAMES["b"], 2)]


@pytest.mark.parametrize("static", [False, True], ids=["shared", "static"])
@pytest.mark.parametrize("version", sorted(RUNTIMES))
def test_a_missing_image_is_named_with_its_kernel_and_stack(store, tmp_path, version, static):
    program = launches(store, version, static)
    [failure] = report(tmp_path, program, "a", "b", sm=90)["failures"]
    assert (failure["kernel"], failure["code"], failure["class"]) == (A, 209, "missing-image")
    assert Path(failure["library"]).name == program.name
    assert failure["has"] == ["sm_80"]
    assert "main" in [frame["symbol"] for frame in failure["native_stack"]]


def test_a_program_without_cuda_leaves_nothing_and_is_not_noticed(tmp_path):
    preload = {"LD_PRELOAD": BUILD / "libnokernel.so", "NOKERNEL_DIR": tmp_path}
    done = emulated(BUILD / "nokernel", "explain", "209", **preload)
    assert done.returncode == 0 and not done.stderr
    assert not list(tmp_path.iterdir())


def test_scan_reads_libraries_of_either_machine(store, tmp_path):
    ours = launches(store, "13.5", False)
    theirs = programs.program(store, "launches", "13.5", ["80"], ["90"])
    done = emulated(BUILD / "nokernel", "scan", "--json", ours, theirs)
    assert done.returncode == 0, done.stderr
    archs = [sorted(s["arch"] for s in item["libraries"][0]["sass"]) for item in json.loads(done.stdout)["items"]]
    assert archs == [["sm_80", "sm_90"], ["sm_80", "sm_90"]]
