"""All GPUs of one process add up their values through NCCL itself:

    python nccl_reduce.py N           a communicator of N GPUs, an addition, the end
    python nccl_reduce.py N give-up   stops for a reason of its own as soon as the communicators are there"""
import ctypes
import os
import sys

NCCL_FLOAT, NCCL_SUM, COUNT = 7, 0, 1024
nccl, runtime = ctypes.CDLL("libnccl.so.2"), ctypes.CDLL("libcudart.so.13")
nccl.ncclGetErrorString.restype = ctypes.c_char_p


def end(status):
    """NCCL's threads are not waited for, as when a training process is told to end."""
    sys.stdout.flush()
    os._exit(status)


def check(code):
    if code:
        print("NCCL:", nccl.ncclGetErrorString(code).decode(), file=sys.stderr, flush=True)
        end(1)


gpus = range(int(sys.argv[1]))
communicators = (ctypes.c_void_p * len(gpus))()
values = [ctypes.c_void_p() for _ in gpus]
check(nccl.ncclCommInitAll(communicators, len(gpus), None))
print("communicators", len(gpus), flush=True)
if "give-up" in sys.argv:
    print("the data set is not there", file=sys.stderr, flush=True)
    end(1)
for i in gpus:
    runtime.cudaSetDevice(i)
    runtime.cudaMalloc(ctypes.byref(values[i]), COUNT * 4)
check(nccl.ncclGroupStart())
for i in gpus:
    at, to = values[i], ctypes.c_void_p(communicators[i])
    check(nccl.ncclAllReduce(at, at, ctypes.c_size_t(COUNT), NCCL_FLOAT, NCCL_SUM, to, None))
check(nccl.ncclGroupEnd())
for i in gpus:
    runtime.cudaSetDevice(i)
    print("GPU", i, "synchronised with", runtime.cudaDeviceSynchronize(), flush=True)
    check(nccl.ncclCommDestroy(ctypes.c_void_p(communicators[i])))
