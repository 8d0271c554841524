"""cupy_cubin.py FILE KERNEL: takes one kernel out of a cubin file, through the driver API."""
import sys

import cupy

cupy.RawModule(path=sys.argv[1]).get_function(sys.argv[2])
print("found", sys.argv[2])
