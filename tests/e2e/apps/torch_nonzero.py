"""Asks which elements are not 0. In torch 2.1 the GPU's refusal is lost on the way, and the answer is made up."""
import torch

found = torch.ones(16).to("cuda").nonzero()
print("answered")
