"""Feeds the GPU from two forked worker processes by way of pinned memory, as training on real data does."""
import torch
import torch.utils.data

values = torch.utils.data.TensorDataset(torch.arange(32.0))
torch.cuda.init()
for (batch,) in torch.utils.data.DataLoader(values, batch_size=8, num_workers=2, pin_memory=True):
    doubled = batch.to("cuda", non_blocking=True) * 2
torch.cuda.synchronize()
print("last batch", tuple(doubled.shape))
