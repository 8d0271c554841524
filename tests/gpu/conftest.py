"""conftest.py - the fixtures of tests/e2e on a real driver: skipped, in words, where there is none."""

import ctypes
import importlib.util
import sys
from pathlib import Path

import pytest

E2E = Path(__file__).resolve().parents[1] / "e2e"
sys.path.insert(0, str(E2E))
spec = importlib.util.spec_from_file_location("e2e_conftest", E2E / "conftest.py")  # "conftest" is this file's own name
e2e = sys.modules["e2e_conftest"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(e2e)

store, program = e2e.store, e2e.program
simulated = e2e.run  # the fixture, under another name


def capability():
    """The compute capability of GPU 0 as a number (90), or a sentence that says why there is none."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return f"no NVIDIA driver: {error}"
    code = cuda.cuInit(0)
    major, minor = ctypes.c_int(), ctypes.c_int()
    code = code or cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, 0) or cuda.cuDeviceGetAttribute(ctypes.byref(minor), 76, 0)
    return f"the driver answers {code}" if code else major.value * 10 + minor.value


@pytest.fixture
def sm():
    found = capability()
    if not isinstance(found, int):
        pytest.skip(f"needs a real GPU: {found}")
    return found


@pytest.fixture
def command():
    """Runs build/nokernel."""
    return e2e.command


@pytest.fixture
def run(simulated):
    """As in tests/e2e, but without the simulated driver."""

    def real(*arguments, env=None, **options):
        return simulated(*arguments, env={"LD_LIBRARY_PATH": "", "SIM_SM": "", "SIM_DRIVER": "", **(env or {})}, **options)

    return real
