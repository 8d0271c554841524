"""Quantises weights to 4 bits on the GPU, as loading a quantised language model does."""
import bitsandbytes.functional as quantise
import torch

weights = torch.ones(64, 64).to("cuda")
print("copied", flush=True)
packed, state = quantise.quantize_4bit(weights, quant_type="nf4")
torch.cuda.synchronize()
print("quantised", tuple(packed.shape))
print("back", tuple(quantise.dequantize_4bit(packed, state).shape))
