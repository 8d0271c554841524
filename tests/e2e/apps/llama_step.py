"""Two steps of training a tiny Llama with random weights: nothing is downloaded."""
import os
import sys

import torch
import transformers

torch.manual_seed(0)
model = transformers.LlamaForCausalLM(
    transformers.LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=32,
    )
).to("cuda")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
words = torch.arange(32).view(2, 16).to("cuda")
print("on the GPU", sum(p.numel() for p in model.parameters()), flush=True)
for step in range(2):
    optimizer.zero_grad()
    model(input_ids=words, labels=words).loss.backward()
    optimizer.step()
    torch.cuda.synchronize()
    print("step", step, flush=True)
sys.stdout.flush()
# One run in sixteen of PyTorch 2.15 ends by std::terminate in exit(), also without the library.
os._exit(0)
