// hook_image.c - loading and unloading images of device code through the driver.
//
// Each hook asks the real function first and returns what it returned. Out-parameters are read only after success.
#include "record.h"

#define CALLER __builtin_return_address(0)

CUresult cuModuleLoad(CUmodule *module, const char *path)
{
    CUresult r = nk_real.cuModuleLoad(module, path);
    nk_record_load(NK_cuModuleLoad, NK_ORIGIN_FILE, r ? NULL : *module, NULL, path, r, CALLER);
    return r;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    CUresult r = nk_real.cuModuleLoadData(module, image);
    nk_record_load(NK_cuModuleLoadData, NK_ORIGIN_MODULE, r ? NULL : *module, image, NULL, r, CALLER);
    return r;
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, int *options, void **values)
{
    CUresult r = nk_real.cuModuleLoadDataEx(module, image, count, options, values);
    nk_record_load(NK_cuModuleLoadDataEx, NK_ORIGIN_MODULE, r ? NULL : *module, image, NULL, r, CALLER);
    return r;
}

CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image)
{
    CUresult r = nk_real.cuModuleLoadFatBinary(module, image);
    nk_record_load(NK_cuModuleLoadFatBinary, NK_ORIGIN_MODULE, r ? NULL : *module, image, NULL, r, CALLER);
    return r;
}

// Handles are used again at once after an unload, possibly by another thread: forget them before they are free.
CUresult cuModuleUnload(CUmodule module)
{
    nk_record_unload(module);
    return nk_real.cuModuleUnload(module);
}

CUresult cuLibraryLoadData(CUlibrary *library, const void *code, int *jit_options, void **jit_values,
                           unsigned jit_count, int *options, void **values, unsigned count)
{
    CUresult r = nk_real.cuLibraryLoadData(library, code, jit_options, jit_values, jit_count, options, values, count);
    nk_record_load(NK_cuLibraryLoadData, NK_ORIGIN_LIBRARY, r ? NULL : *library, code, NULL, r, CALLER);
    return r;
}

CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *path, int *jit_options, void **jit_values,
                               unsigned jit_count, int *options, void **values, unsigned count)
{
    CUresult r =
        nk_real.cuLibraryLoadFromFile(library, path, jit_options, jit_values, jit_count, options, values, count);
    nk_record_load(NK_cuLibraryLoadFromFile, NK_ORIGIN_FILE, r ? NULL : *library, NULL, path, r, CALLER);
    return r;
}

CUresult cuLibraryUnload(CUlibrary library)
{
    nk_record_unload(library);
    return nk_real.cuLibraryUnload(library);
}

// Runtimes 12.0 to 12.9 take the library's module in the current context: here a missing image shows first, and the
// driver never hears which kernel was wanted.
CUresult cuLibraryGetModule(CUmodule *module, CUlibrary library)
{
    CUresult r = nk_real.cuLibraryGetModule(module, library);
    nk_record_module(r ? NULL : *module, library, r, CALLER);
    return r;
}

// Tells a load for the first use of a kernel from the loads that an 11.x runtime makes of everything when it starts.
CUresult cuCtxPushCurrent_v2(CUcontext context)
{
    nk_thread.pushed = true;
    return nk_real.cuCtxPushCurrent_v2(context);
}

CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
    nk_thread.pushed = false;
    return nk_real.cuCtxPopCurrent_v2(context);
}
