"""For torchrun: each rank adds on a GPU of its own, then waits for all others. A rank that waits in vain is ended by torchrun."""
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
print(f"rank {rank} added\n", end="", flush=True)  # in one piece, beside the other rank's
store = torch.distributed.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False)
store.set(f"added {rank}", "")
store.wait([f"added {r}" for r in range(int(os.environ["WORLD_SIZE"]))])
torch.distributed.destroy_process_group()
