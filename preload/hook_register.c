// hook_register.c - fat binaries and host functions that a program registers with a shared runtime.
//
// Called by constructors, 24,000 times when PyTorch is imported: nothing is parsed or recorded here, only remembered,
// so that a later failure can be named. A runtime that is linked statically keeps these functions to itself.
#include "record.h"
#include "resolve.h"

#define CALLER __builtin_return_address(0)

void **__cudaRegisterFatBinary(void *wrapper)
{
    const struct nk_runtime *runtime = nk_runtime_of(CALLER);
    void **handle = runtime->__cudaRegisterFatBinary ? runtime->__cudaRegisterFatBinary(wrapper) : NULL;
    nk_record_registered(handle, wrapper);
    return handle;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
    const struct nk_runtime *runtime = nk_runtime_of(CALLER);
    if (runtime->__cudaRegisterFatBinaryEnd) runtime->__cudaRegisterFatBinaryEnd(handle);
}

// Called when a library is unloaded or the process ends.
void __cudaUnregisterFatBinary(void **handle)
{
    const struct nk_runtime *runtime = nk_runtime_of(CALLER);
    nk_record_unregistered(handle);
    if (runtime->__cudaUnregisterFatBinary) runtime->__cudaUnregisterFatBinary(handle);
    nk_runtime_doubt(CALLER);
}

void __cudaRegisterFunction(void **handle, const char *host_function, char *device_function, const char *name,
                            int thread_limit, void *tid, void *bid, void *block, void *grid, int *warp_size)
{
    const struct nk_runtime *runtime = nk_runtime_of(CALLER);
    nk_record_host_function(handle, host_function, name);
    if (runtime->__cudaRegisterFunction)
        runtime->__cudaRegisterFunction(handle, host_function, device_function, name, thread_limit, tid, bid, block,
                                        grid, warp_size);
}
