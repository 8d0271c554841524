// module_api.c - the driver's functions about modules and libraries.
#include "module.h"

#include <stdlib.h>
#include <string.h>

// A module that does not fit is refused where it is loaded, whatever SIM_NO_IMAGE_AT says: so NVIDIA documents it.
static int load(CUmodule *out, const void *code)
{
    struct sim_module *module = NULL;
    if (!out) return BAD_VALUE;
    int result = sim_module_load(code, true, &module);
    if (result == OK) *out = (CUmodule)(void *)module;
    return result;
}

API(cuModuleLoadData, CUmodule *, out, const void *, code) { return load(out, code); }
API(cuModuleLoadFatBinary, CUmodule *, out, const void *, code) { return load(out, code); }

// Options 3 and 5 are a log of information and one of errors; 4 and 6 their sizes, set to what was written.
static void empty_logs(unsigned count, const int *options, void **values)
{
    for (unsigned i = 0; options && values && i < count; i++) {
        if (options[i] == 4 || options[i] == 6) values[i] = NULL;
        if ((options[i] == 3 || options[i] == 5) && values[i]) *(char *)values[i] = 0;
    }
}

API(cuModuleLoadDataEx, CUmodule *, out, const void *, code, unsigned, count, int *, options, void **, values)
{
    empty_logs(count, options, values);
    return load(out, code);
}

API(cuModuleLoad, CUmodule *, out, const char *, path)
{
    void *content;
    int result = sim_file_read(path, &content);
    if (result != OK) return result;
    result = load(out, content);
    free(content);
    return result;
}

API(cuModuleUnload, CUmodule, handle)
{
    NEED_CONTEXT(context);
    struct sim_module *module = (void *)handle;
    if (!sim_is(module, K_MODULE) || module->library) return BAD_HANDLE;
    sim_module_free(module);
    return OK;
}

API(cuModuleGetFunction, CUfunction *, out, CUmodule, handle, const char *, name)
{
    NEED_CONTEXT(context);
    struct sim_module *module = (void *)handle;
    struct sim_function *function;
    if (!sim_is(module, K_MODULE)) return BAD_HANDLE;
    if (!out || !name) return BAD_VALUE;
    if (module->pick.result != OK && (sim_set.places & AT_MODGET)) return module->pick.result;
    int result = sim_module_function(module, name, &function);
    if (result == OK) *out = (CUfunction)(void *)function;
    return result;
}

API(cuModuleGetGlobal_v2, CUdeviceptr *, address, size_t *, size, CUmodule, handle, const char *, name)
{
    NEED_CONTEXT(context);
    if (!sim_is(handle, K_MODULE)) return BAD_HANDLE;
    return name ? sim_module_global((void *)handle, name, address, size) : BAD_VALUE;
}

static unsigned count_kernels(struct sim_module *module)
{
    const struct sim_names *names = sim_module_names(module);
    unsigned kernels = 0;
    for (size_t i = 0; i < names->count; i++) kernels += names->list[i].kernel;
    return kernels;
}

API(cuModuleGetFunctionCount, unsigned *, count, CUmodule, handle)
{
    NEED_CONTEXT(context);
    if (!sim_is(handle, K_MODULE)) return BAD_HANDLE;
    if (!count) return BAD_VALUE;
    *count = count_kernels((void *)handle);
    return OK;
}

API(cuModuleEnumerateFunctions, CUfunction *, out, unsigned, room, CUmodule, handle)
{
    NEED_CONTEXT(context);
    struct sim_module *module = (void *)handle;
    if (!sim_is(module, K_MODULE)) return BAD_HANDLE;
    if (!out) return BAD_VALUE;
    const struct sim_names *names = sim_module_names(module);
    unsigned done = 0;
    for (size_t i = 0; i < names->count && done < room; i++) {
        struct sim_function *function;
        if (!names->list[i].kernel || sim_module_function(module, names->list[i].name, &function) != OK) continue;
        out[done++] = (CUfunction)(void *)function;
    }
    return OK;
}

// ---- libraries
enum { BINARY_IS_PRESERVED = 1 };

static bool preserved(const int *options, void **values, unsigned count)
{
    for (unsigned i = 0; options && values && i < count; i++)
        if (options[i] == BINARY_IS_PRESERVED) return values[i] != NULL;
    return false;
}

API(cuLibraryLoadData, CUlibrary *, out, const void *, code, int *, jit_options, void **, jit_values, unsigned,
    jit_count, int *, options, void **, values, unsigned, count)
{
    struct sim_library *library;
    empty_logs(jit_count, jit_options, jit_values);
    int result = sim_library_load(code, preserved(options, values, count), &library);
    if (result == OK) *out = (CUlibrary)(void *)library;
    return result;
}

API(cuLibraryLoadFromFile, CUlibrary *, out, const char *, path, int *, jit_options, void **, jit_values, unsigned,
    jit_count, int *, options, void **, values, unsigned, count)
{
    (void)options, (void)values, (void)count;
    struct sim_library *library;
    void *content;
    int result = sim_file_read(path, &content);
    if (result != OK) return result;
    empty_logs(jit_count, jit_options, jit_values);
    result = out ? sim_library_load(content, false, &library) : BAD_VALUE;
    if (result == OK) *out = (CUlibrary)(void *)library;
    free(content);
    return result;
}

API(cuLibraryUnload, CUlibrary, handle)
{
    if (!sim_is(handle, K_LIBRARY)) return BAD_HANDLE;
    sim_library_free((void *)handle);
    return OK;
}

API(cuLibraryGetModule, CUmodule *, out, CUlibrary, handle)
{
    NEED_CONTEXT(context);
    struct sim_module *module;
    if (!sim_is(handle, K_LIBRARY)) return BAD_HANDLE;
    if (!out) return BAD_VALUE;
    int result = sim_library_module((void *)handle, context, &module);
    if (result == OK && (sim_set.places & AT_MODULE)) result = module->pick.result;
    if (result == OK) *out = (CUmodule)(void *)module;
    return result;
}

API(cuLibraryGetKernel, CUkernel *, out, CUlibrary, handle, const char *, name)
{
    struct sim_library *library = (void *)handle;
    struct sim_context *context = sim_current();
    struct sim_module *module;
    struct sim_kernel *kernel;
    if (!sim_is(library, K_LIBRARY)) return BAD_HANDLE;
    if (!out || !name) return BAD_VALUE;
    int result = OK;
    if (sim_set.places & AT_GET) {
        // Runtimes that load everything at their start ask before there is a context.
        if (!sim_is(context, K_CONTEXT)) context = sim_devices[0].primary;
        result = context ? sim_library_module(library, context, &module) : BAD_CONTEXT;
        if (result == OK) result = module->pick.result;
    }
    if (result == OK) result = sim_library_kernel(library, name, &kernel);
    if (result == OK) *out = (CUkernel)(void *)kernel;
    return result;
}

API(cuLibraryGetGlobal, CUdeviceptr *, address, size_t *, size, CUlibrary, handle, const char *, name)
{
    NEED_CONTEXT(context);
    struct sim_module *module;
    if (!sim_is(handle, K_LIBRARY)) return BAD_HANDLE;
    if (!name) return BAD_VALUE;
    int result = sim_library_module((void *)handle, context, &module);
    return result ? result : sim_module_global(module, name, address, size);
}

// A managed variable is asked for before there is a context; the first device's primary one then stands for it.
API(cuLibraryGetManaged, CUdeviceptr *, address, size_t *, size, CUlibrary, handle, const char *, name)
{
    struct sim_context *context = sim_current();
    struct sim_module *module;
    if (!sim_is(handle, K_LIBRARY)) return BAD_HANDLE;
    if (!name || sim_device_count == 0) return BAD_VALUE;
    if (!sim_is(context, K_CONTEXT)) context = sim_devices[0].primary;
    int result = sim_library_module((void *)handle, context, &module);
    return result ? result : sim_module_global(module, name, address, size);
}

API(cuLibraryGetKernelCount, unsigned *, count, CUlibrary, handle)
{
    struct sim_context *context = sim_current();
    struct sim_module *module;
    if (!sim_is(handle, K_LIBRARY)) return BAD_HANDLE;
    if (!count) return BAD_VALUE;
    if (!sim_is(context, K_CONTEXT)) context = sim_devices[0].primary;
    int result = sim_library_module((void *)handle, context, &module);
    if (result == OK) *count = count_kernels(module);
    return result;
}

API(cuLibraryEnumerateKernels, CUkernel *, out, unsigned, room, CUlibrary, handle)
{
    struct sim_context *context = sim_current();
    struct sim_module *module;
    if (!sim_is(handle, K_LIBRARY)) return BAD_HANDLE;
    if (!out) return BAD_VALUE;
    if (!sim_is(context, K_CONTEXT)) context = sim_devices[0].primary;
    int result = sim_library_module((void *)handle, context, &module);
    if (result != OK) return result;
    const struct sim_names *names = sim_module_names(module);
    unsigned done = 0;
    for (size_t i = 0; i < names->count && done < room; i++) {
        struct sim_kernel *kernel;
        if (!names->list[i].kernel || sim_library_kernel((void *)handle, names->list[i].name, &kernel) != OK) continue;
        out[done++] = (CUkernel)(void *)kernel;
    }
    return OK;
}
