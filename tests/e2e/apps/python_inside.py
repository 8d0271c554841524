"""Loads an image that does not fit this GPU in an interpreter inside this one, as k000001 with the inner interpreter's
lock released during the call, as k000002 with the lock held.

    python python_inside.py IMAGE"""
import ctypes
import sys

try:
    import _interpreters as interpreters  # 3.13 and newer
except ImportError:
    import _xxsubinterpreters as interpreters

INNER = """
import ctypes
driver = ctypes.{}("libcuda.so.1")
def inside():
    image = open({!r}, "rb").read().replace(b"k000000", b"{}")
    print(driver.cuModuleLoadData(ctypes.byref(ctypes.c_void_p()), image), flush=True)
inside()
"""


def new():
    """ctypes does not live in an interpreter with a lock of its own: one that shares the lock."""
    if sys.version_info >= (3, 13):
        return interpreters.create("legacy")
    return interpreters.create(isolated=False) if sys.version_info >= (3, 9) else interpreters.create()


def outer():
    for how, kernel in (("CDLL", "k000001"), ("PyDLL", "k000002")):
        interpreters.run_string(new(), INNER.format(how, sys.argv[1], kernel))


driver, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
driver.cuInit(0)
driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
driver.cuCtxSetCurrent(context)
outer()
