"""For torchrun: two ranks, each on a GPU of its own, add up a tensor through NCCL, then each adds 1 to it."""
import os

import torch
import torch.distributed

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
torch.distributed.init_process_group("nccl", device_id=torch.device("cuda", rank))
values = torch.empty(1024, device="cuda")
torch.distributed.all_reduce(values)
torch.cuda.synchronize()
print(f"rank {rank} reduced\n", end="", flush=True)  # in one piece, beside the other rank's
values = values + 1
torch.cuda.synchronize()
print(f"rank {rank} added\n", end="", flush=True)
torch.distributed.barrier()
os._exit(0)
