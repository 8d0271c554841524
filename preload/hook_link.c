// hook_link.c - the driver's own linker: cuLinkCreate, cuLinkAddData, cuLinkAddFile, cuLinkComplete. What compiles at
// run time (numba, CuPy, OptiX-like engines) hands PTX and cubins to it, and is refused here before any module is
// loaded.
#include "record.h"

#define CALLER __builtin_return_address(0)

CUresult cuLinkCreate_v2(unsigned count, int *options, void **values, void **state)
{
    CUresult r = nk_real.cuLinkCreate_v2(count, options, values, state);
    if (r) nk_record_link(NK_cuLinkCreate_v2, NULL, r, CALLER);
    return r;
}

CUresult cuLinkAddData_v2(void *state, int type, void *data, size_t size, const char *name, unsigned count,
                          int *options, void **values)
{
    // Kept before the call: the program may free it as soon as the call is over, and cuLinkComplete may be what fails.
    nk_record_link_input(state, type, data, size, NULL);
    CUresult r = nk_real.cuLinkAddData_v2(state, type, data, size, name, count, options, values);
    if (r) nk_record_link(NK_cuLinkAddData_v2, state, r, CALLER);
    return r;
}

CUresult cuLinkAddFile_v2(void *state, int type, const char *path, unsigned count, int *options, void **values)
{
    nk_record_link_input(state, type, NULL, 0, path);
    CUresult r = nk_real.cuLinkAddFile_v2(state, type, path, count, options, values);
    if (r) nk_record_link(NK_cuLinkAddFile_v2, state, r, CALLER);
    return r;
}

CUresult cuLinkComplete(void *state, void **cubin, size_t *size)
{
    CUresult r = nk_real.cuLinkComplete(state, cubin, size);
    if (r) nk_record_link(NK_cuLinkComplete, state, r, CALLER);
    return r;
}

CUresult cuLinkDestroy(void *state)
{
    nk_record_link_gone(state);
    return nk_real.cuLinkDestroy(state);
}
