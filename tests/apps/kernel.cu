// kernel.cu - the same kernel for a real nvcc: -DLETTER=a -DKERNEL=k_a
#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)

__global__ void KERNEL(float *data) { data[threadIdx.x] = 1.0f; }

extern "C" {
extern const void *const JOIN(host_, LETTER) = (const void *)KERNEL;

int JOIN(launch_, LETTER)(float *data)
{
    KERNEL<<<1, 1>>>(data);
    return cudaGetLastError();
}
}
