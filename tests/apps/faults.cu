// faults.cu - three launches in one stream, of which the second writes to an address that is nobody's. Needs a real GPU.
#include <cstdio>

__global__ void good(int *p) { *p += 1; }
__global__ void bad(int *p) { *p = 1; }

int main()
{
    int *memory;
    cudaMalloc(&memory, 4);
    good<<<1, 1>>>(memory);
    printf("good %d\n", cudaGetLastError());
    bad<<<1, 1>>>((int *)8);
    good<<<1, 1>>>(memory);
    printf("sync %d\n", cudaDeviceSynchronize());
    return 0;
}
