"""A step that torch.compile makes Triton kernels of, forwards and backwards."""
import torch


@torch.compile
def step(x, y):
    return torch.nn.functional.relu(x * y + 1).sum()


x = torch.ones(64, 64).to("cuda")
y = torch.ones(64, 64).to("cuda").requires_grad_()
with torch.no_grad():
    step(x, y)
torch.cuda.synchronize()
print("forward", flush=True)
step(x, y).backward(torch.empty((), device="cuda"))
torch.cuda.synchronize()
print("backward", tuple(y.grad.shape))
