"""A kernel in Python that Numba compiles for the GPU there is, while the program runs."""
import warnings

import numpy
from numba import cuda

warnings.simplefilter("ignore")  # so small a grid is slow


@cuda.jit
def add_one(x):
    at = cuda.grid(1)
    if at < x.size:
        x[at] += 1


x = cuda.to_device(numpy.ones(1024, numpy.float32))
print("copied", flush=True)
add_one[4, 256](x)
cuda.synchronize()
print("added", flush=True)
