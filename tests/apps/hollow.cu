// hollow.cu - a kernel whose body is only there from -DSINCE on (900 = sm_90): below it compiles to an empty one, as
// libraries do that guard the code of a new architecture. -DLETTER=a -DKERNEL=k_a
#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)

__global__ void KERNEL(float *data)
{
#if __CUDA_ARCH__ >= SINCE
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 64; i++) sum += data[i] * data[i + threadIdx.x];
    data[threadIdx.x] = sum;
#endif
}

extern "C" {
extern const void *const JOIN(host_, LETTER) = (const void *)KERNEL;

int JOIN(launch_, LETTER)(float *data)
{
    KERNEL<<<1, 1>>>(data);
    return cudaGetLastError();
}
}
