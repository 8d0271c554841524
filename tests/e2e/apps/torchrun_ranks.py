"""For torchrun: each rank adds on a GPU of its own, then they wait for each other (gloo)."""
import os

import torch
import torch.distributed

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
torch.distributed.init_process_group("gloo")
values = torch.ones(4).to("cuda")
torch.distributed.barrier()
values = values + 1
torch.cuda.synchronize()
print("rank", rank, "added", flush=True)
total = torch.ones(1)
torch.distributed.all_reduce(total)
print("rank", rank, "of", int(total.item()), flush=True)
torch.distributed.destroy_process_group()
