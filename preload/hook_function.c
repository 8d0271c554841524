// hook_function.c - looking kernels up in libraries and modules. The queries about them (attributes, occupancy) are
// PROBE entries of entries.def: their wrappers are generated.
#include "record.h"

#define CALLER __builtin_return_address(0)

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    CUresult r = nk_real.cuModuleGetFunction(function, module, name);
    nk_record_lookup(NK_cuModuleGetFunction, r ? NULL : *function, module, name, r, CALLER);
    return r;
}

CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    CUresult r = nk_real.cuLibraryGetKernel(kernel, library, name);
    nk_record_lookup(NK_cuLibraryGetKernel, r ? NULL : *kernel, library, name, r, CALLER);
    return r;
}

// The kernels come without names here; cuKernelGetName exists from the same driver on (12.3).
CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned count, CUlibrary library)
{
    CUresult r = nk_real.cuLibraryEnumerateKernels(kernels, count, library);
    for (unsigned i = 0; !r && kernels && i < count; i++) {
        const char *name = NULL;
        if (kernels[i] && !nk_real.cuKernelGetName(&name, kernels[i]))
            nk_record_lookup(NK_cuLibraryEnumerateKernels, kernels[i], library, name, r, CALLER);
    }
    return r;
}

CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
    CUresult r = nk_real.cuKernelGetFunction(function, kernel);
    nk_record_function(r ? NULL : *function, kernel, r, CALLER);
    return r;
}
