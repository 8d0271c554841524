"""sets.py - the real packages that scripts/get-torch and scripts/get-apps put into the cache folder.

    run(sets.python("torch-cuda12"), sets.TRAIN, env=sets.environment("torch-cuda12"), sm=120)
"""

import functools
import json
import os
import subprocess

import pytest
from conftest import ROOT, SIM, environment as base_environment
from fixtures import toolkit

SETS = toolkit.CACHE / "sets"
APPS = ROOT / "tests" / "e2e" / "apps"
TRAIN = ROOT / "examples" / "train.py"
# Sets whose Python looks into another set too (a .pth file), and so needs its libraries.
ON = {
    "bitsandbytes": ["torch-cuda13"],
    "diffusers": ["torch-cuda13"],
    "cusparse": ["torch-cuda13"],
    "triton": ["torch-cuda13"],
    "nccl": ["torch-cuda13"],
    "cudnn": ["diffusers", "torch-cuda13"],  # cuDNN opens the real cuBLAS
    "jax": ["cudnn", "diffusers", "torch-cuda13"],
}


def script(name):
    """"get-torch cuda12" of "torch-cuda12"."""
    return f"scripts/get-torch {name[6:]}" if name.startswith("torch-") else f"scripts/get-apps {name}"


def folder(name):
    """Where a set lies. A set that cannot exist for this Python is an expected failure, one that is not there a skip."""
    none = SETS / f"{name}.none"
    if none.exists():
        pytest.xfail(none.read_text().strip())
    if not (SETS / name / "pip-set.done").exists():
        pytest.skip(f"{SETS / name} is not there: run {script(name)}")
    return SETS / name


def python(name):
    return folder(name) / "bin" / "python"


def site(name):
    return next(folder(name).glob("lib/python3.*/site-packages"))


def environment(name, **more):
    """The environment of a set: its own CUDA libraries first, then those of the sets that it stands on, then stand-ins."""
    names = [name, *ON.get(name, [])]
    real = [path for n in names for path in sorted(site(n).glob("nvidia/*/lib"))]
    stubs = [folder(n) / "stubs" for n in names]
    return {"LD_LIBRARY_PATH": ":".join(map(str, [SIM, *real, *stubs])), "PYTHONDONTWRITEBYTECODE": "1", **more}


@functools.cache
def torch(name):
    """(version, architectures) as that PyTorch itself tells them."""
    text = "import json, torch; print(json.dumps([torch.__version__, torch.cuda.get_arch_list()]))"
    env = base_environment(SETS, 80, 13000, None, False, environment(name))
    done = subprocess.run([python(name), "-c", text], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def short(path):
    """The last two parts of a path: lib/libtorch_cuda.so."""
    return os.sep.join(path.split(os.sep)[-2:])
