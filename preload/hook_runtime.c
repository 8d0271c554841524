// hook_runtime.c - launches, queries and error reads through a shared runtime.
//
// The driver's hooks see every launch that reaches the driver. These add what only the runtime knows: the kernel's name
// where the driver is not told it (12.x, 11.x), failures that the runtime answers from memory, and who read an error.
// The real function is that of the caller's own runtime: two may live in one process.
#include "record.h"
#include "resolve.h"

#define CALLER __builtin_return_address(0)

// One call: the kernel that the program named stands in the thread while the real function runs.
#define CALL(symbol, subject, ...)                                                                                     \
    const struct nk_runtime *runtime = nk_runtime_of(CALLER);                                                          \
    struct nk_call call;                                                                                               \
    if (__builtin_expect(!runtime->symbol, 0)) return NK_CUDA_NOT_INITIALIZED;                                         \
    nk_call_begin(&call, NK_##symbol, subject, CALLER);                                                                \
    return nk_call_end(&call, runtime->symbol(__VA_ARGS__))

cudaError_t cudaLaunchKernel(const void *f, nk_dim3 grid, nk_dim3 block, void **args, size_t shared,
                             cudaStream_t stream)
{
    CALL(cudaLaunchKernel, f, f, grid, block, args, shared, stream);
}

cudaError_t cudaLaunchKernel_ptsz(const void *f, nk_dim3 grid, nk_dim3 block, void **args, size_t shared,
                                  cudaStream_t stream)
{
    CALL(cudaLaunchKernel_ptsz, f, f, grid, block, args, shared, stream);
}

// What programs compiled by nvcc 13 call for <<<...>>>.
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, nk_dim3 grid, nk_dim3 block, void **args, size_t shared,
                               cudaStream_t stream)
{
    CALL(__cudaLaunchKernel, kernel, kernel, grid, block, args, shared, stream);
}

cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, nk_dim3 grid, nk_dim3 block, void **args, size_t shared,
                                    cudaStream_t stream)
{
    CALL(__cudaLaunchKernel_ptsz, kernel, kernel, grid, block, args, shared, stream);
}

cudaError_t cudaLaunchKernelExC(const CUlaunchConfig *config, const void *f, void **args)
{
    CALL(cudaLaunchKernelExC, f, config, f, args);
}

cudaError_t cudaLaunchKernelExC_ptsz(const CUlaunchConfig *config, const void *f, void **args)
{
    CALL(cudaLaunchKernelExC_ptsz, f, config, f, args);
}

cudaError_t cudaLaunchCooperativeKernel(const void *f, nk_dim3 grid, nk_dim3 block, void **args, size_t shared,
                                        cudaStream_t stream)
{
    CALL(cudaLaunchCooperativeKernel, f, f, grid, block, args, shared, stream);
}

cudaError_t cudaLaunchCooperativeKernel_ptsz(const void *f, nk_dim3 grid, nk_dim3 block, void **args, size_t shared,
                                             cudaStream_t stream)
{
    CALL(cudaLaunchCooperativeKernel_ptsz, f, f, grid, block, args, shared, stream);
}

// cudaKernelNodeParams begins with the host function.
cudaError_t cudaGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                                   const void *params)
{
    const void *f = params ? *(const void *const *)params : NULL;
    CALL(cudaGraphAddKernelNode, f, node, graph, dependencies, count, params);
}

cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *f)
{
    const struct nk_runtime *runtime = nk_runtime_of(CALLER);
    struct nk_call call;
    if (!runtime->__cudaGetKernel) return NK_CUDA_NOT_INITIALIZED;
    nk_call_begin(&call, NK___cudaGetKernel, f, CALLER);
    cudaError_t r = nk_call_end(&call, runtime->__cudaGetKernel(kernel, f));
    if (!r && kernel) nk_record_runtime_kernel(*kernel, f);
    return r;
}

cudaError_t cudaGetLastError(void)
{
    const struct nk_runtime *runtime = nk_runtime_of(CALLER);
    cudaError_t r = runtime->cudaGetLastError ? runtime->cudaGetLastError() : NK_CUDA_SUCCESS;
    if (__builtin_expect(r != NK_CUDA_SUCCESS, 0)) nk_record_surfaced(NK_cudaGetLastError, r, CALLER);
    return r;
}

cudaError_t cudaPeekAtLastError(void)
{
    const struct nk_runtime *runtime = nk_runtime_of(CALLER);
    cudaError_t r = runtime->cudaPeekAtLastError ? runtime->cudaPeekAtLastError() : NK_CUDA_SUCCESS;
    if (__builtin_expect(r != NK_CUDA_SUCCESS, 0)) nk_record_surfaced(NK_cudaPeekAtLastError, r, CALLER);
    return r;
}
