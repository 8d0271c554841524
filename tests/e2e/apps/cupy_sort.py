"""Sorts on the GPU: CuPy's thrust library, with a hidden runtime."""
import cupy

values = cupy.empty(100, dtype=cupy.float32)
values.sort()
cupy.cuda.Device().synchronize()
print("sorted")
