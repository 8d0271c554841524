"""A kernel in Triton's own language, compiled while the program runs:

    python triton_add.py       for this GPU, as Triton does by itself
    python triton_add.py 90    ahead of time for another one, as for a machine that this is not"""
import sys

import torch
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget


@triton.jit
def add_one(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)


x = torch.ones(1024).to("cuda")
y = torch.empty_like(x)
if len(sys.argv) > 1:
    types = {"x": "*fp32", "y": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    source = triton.compiler.ASTSource(add_one, types, {"BLOCK": 256})
    compiled = triton.compile(source, target=GPUTarget("cuda", int(sys.argv[1]), 32))
    print("compiled", flush=True)
    compiled[(4, 1, 1)](x, y, 1024, 256)
else:
    add_one[(4,)](x, y, 1024, BLOCK=256)
torch.cuda.synchronize()
print("added", flush=True)
