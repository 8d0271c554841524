// uses_cublas.c - multiplies two matrices with cuBLAS 11, which carries a static 11.8 runtime of its own.
#include <stdio.h>

int cublasCreate_v2(void **handle);
int cublasSgemm_v2(void *handle, int ta, int tb, int m, int n, int k, const float *alpha, const float *a, int lda,
                   const float *b, int ldb, const float *beta, float *c, int ldc);
int cudaMalloc(void **pointer, size_t size);
int cudaDeviceSynchronize(void);

int main(void)
{
    void *handle = NULL, *data = NULL;
    const float one = 1;
    printf("malloc %d\n", cudaMalloc(&data, 1 << 20));
    printf("create %d\n", cublasCreate_v2(&handle));
    if (handle)
        printf("sgemm %d\n", cublasSgemm_v2(handle, 0, 0, 64, 64, 64, &one, data, 64, data, 64, &one, data, 64));
    printf("sync %d\n", cudaDeviceSynchronize());
    return 0;
}
