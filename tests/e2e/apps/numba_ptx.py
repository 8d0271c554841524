"""numba_ptx.py SM: a kernel in Python becomes PTX for that architecture, which the driver is to compile."""
import re
import sys

import numpy
from cuda.core import Device, LaunchConfig, ObjectCode, launch
from numba import cuda, float32


def add_one(x):
    x[cuda.grid(1)] += 1


ptx, _ = cuda.compile_ptx(add_one, (float32[::1],), cc=divmod(int(sys.argv[1]), 10))
name = re.search(r"\.entry (\w+)", ptx)[1]
print("PTX", re.search(r"\.version (\S+)", ptx)[1], re.search(r"\.target (\S+)", ptx)[1], flush=True)
Device(0).set_current()
x = cuda.to_device(numpy.ones(4, numpy.float32))
stream = Device(0).create_stream()
kernel = ObjectCode.from_ptx(ptx.encode()).get_kernel(name)
address = x.device_ctypes_pointer.value
launch(stream, LaunchConfig(grid=1, block=4), kernel, 0, 0, 4, 4, address, 4, 4)  # an array as Numba passes it
stream.sync()
print("added", flush=True)
