"""Fits y = a + b x + c x^2 + d x^3 to sin(x) on the GPU: a small but whole training run.

    python train.py [cuda|cuda:1|cpu]"""
import math
import sys

import torch


def forward(x, parameters):
    a, b, c, d = parameters
    return a + b * x + c * x**2 + d * x**3


def main(device):
    torch.manual_seed(0)
    x = torch.linspace(-math.pi, math.pi, 2000)
    y = torch.sin(x)
    x, y = x.to(device), y.to(device)
    parameters = [torch.nn.Parameter(p.to(device)) for p in torch.randn(4)]
    optimiser = torch.optim.Adam(parameters, lr=0.03)
    for step in range(1, 401):
        loss = (forward(x, parameters) - y).pow(2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step % 100 == 0:
            print(f"step {step}  loss {loss.item():.5f}")
    a, b, c, d = (p.item() for p in parameters)
    print(f"sin(x) ~ {a:.3f} + {b:.3f} x + {c:.3f} x^2 + {d:.3f} x^3")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "cuda")
