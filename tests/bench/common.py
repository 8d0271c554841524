"""common.py - what the measurements of `make bench` share: where things lie, and how a program is run under the library."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = (ROOT / os.environ.get("B", "build")).resolve()
BENCH = BUILD / "bench"
COMMAND = BUILD / "nokernel"
CACHE = Path(os.environ.get("NOKERNEL_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nokernel")
TORCH = CACHE / "sets" / "torch-cuda12"


def build_null_driver():
    """A driver that does nothing, as libcuda.so.1 in BENCH."""
    BENCH.mkdir(parents=True, exist_ok=True)
    source = ROOT / "tests" / "bench" / "null_driver.c"
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", source, "-o", BENCH / "libcuda.so.1"], check=True)


def environment(scratch, *libraries, **more):
    env = {"PATH": os.environ["PATH"], "HOME": scratch, "NOKERNEL_DIR": f"{scratch}/recordings", "NOKERNEL_REPORT": "none"}
    return env | {"LD_LIBRARY_PATH": ":".join(map(str, libraries))} | more


def preloaded(env, **more):
    return env | {"LD_PRELOAD": str(BUILD / "libnokernel.so")} | more


def peak(command, env):
    """The most memory that a program ever had resident, in MB."""
    child = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(child.pid, 0)
    child.returncode = 0
    return usage.ru_maxrss / 1024
