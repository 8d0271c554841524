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
# On one processor and at the same addresses: else one process differs from the next by 10 % and more.
STEADY = ["taskset", "-c", str(max(os.sched_getaffinity(0))), "setarch", "-R"]
TRAINING = """
import time, torch
x = torch.linspace(-3, 3, 2000, device="cuda")
y = torch.sin(x)
p = [torch.nn.Parameter(torch.ones((), device="cuda")) for _ in range(4)]
optimiser = torch.optim.Adam(p, lr=0.03)
def step():
    loss = (p[0] + p[1] * x + p[2] * x**2 + p[3] * x**3 - y).pow(2).mean()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
"""


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
