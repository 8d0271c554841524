"""Finds nearest neighbours on the GPU."""
import faiss
import numpy

print("devices:", faiss.get_num_gpus())
memory = faiss.StandardGpuResources()
memory.setTempMemory(1 << 20)
index = faiss.GpuIndexFlatL2(memory, 16)
points = numpy.random.default_rng(0).random((100, 16), dtype=numpy.float32)
index.add(points)
print("indexed", index.ntotal)
distances, found = index.search(points[:3], 4)
print("found", found.shape)
