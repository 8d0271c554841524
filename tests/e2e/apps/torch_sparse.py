"""A sparse product: where cuSPARSE has no kernel for the GPU, PyTorch says that cusparseCreate had an initialization error."""
import torch

matrix = torch.sparse_csr_tensor(torch.tensor([0, 1, 2]), torch.tensor([0, 1]), torch.ones(2), (2, 2)).to("cuda")
print("copied", flush=True)
result = matrix @ torch.ones(2, 2).to("cuda")
torch.cuda.synchronize()
print("result", tuple(result.shape))
