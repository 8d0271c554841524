// function.c - functions and kernels: attributes, occupancy, names.
#include "sim.h"

static int resolve(struct sim_kernel *kernel, struct sim_context *context, struct sim_function **out)
{
    struct sim_function **known = &kernel->functions[context->device->ordinal];
    struct sim_function *f = *known;
    if (sim_is(f, K_FUNCTION) && f->module && f->module->library == kernel->library && f->module->context == context) {
        *out = f;
        return OK;
    }
    struct sim_module *module;
    int result = sim_library_module(kernel->library, context, &module);
    if (result == OK) result = sim_module_function(module, kernel->name, out);
    if (result == OK) *known = *out;
    return result;
}

int sim_function(const void *handle, struct sim_context *context, unsigned place, struct sim_function **out)
{
    int result = BAD_HANDLE;
    if (sim_is(handle, K_FUNCTION)) {
        *out = (void *)(uintptr_t)handle;
        result = OK;
    } else if (sim_is(handle, K_KERNEL)) {
        result = resolve((void *)(uintptr_t)handle, context, out);
    }
    if (result != OK || !(sim_set.places & place)) return result;
    return (*out)->module->pick.result;
}

const char *sim_function_name(const void *handle)
{
    if (sim_is(handle, K_FUNCTION)) return ((const struct sim_function *)handle)->name;
    return sim_is(handle, K_KERNEL) ? ((const struct sim_kernel *)handle)->name : NULL;
}

API(cuKernelGetFunction, CUfunction *, out, CUkernel, kernel)
{
    NEED_CONTEXT(context);
    struct sim_function *function;
    if (!sim_is(kernel, K_KERNEL)) return BAD_HANDLE;
    if (!out) return BAD_VALUE;
    int result = sim_function(kernel, context, AT_FUNCTION, &function);
    if (result == OK) *out = (CUfunction)(void *)function;
    return result;
}

API(cuKernelGetLibrary, CUlibrary *, out, CUkernel, handle)
{
    struct sim_kernel *kernel = (void *)handle;
    if (!sim_is(kernel, K_KERNEL)) return BAD_HANDLE;
    if (!out) return BAD_VALUE;
    *out = (CUlibrary)(void *)kernel->library;
    return OK;
}

API(cuKernelGetName, const char **, name, CUkernel, kernel)
{
    if (!sim_is(kernel, K_KERNEL)) return BAD_HANDLE;
    if (!name) return BAD_VALUE;
    *name = sim_function_name(kernel);
    return OK;
}

API(cuFuncGetName, const char **, name, CUfunction, function)
{
    if (!sim_function_name(function)) return BAD_HANDLE;
    if (!name) return BAD_VALUE;
    *name = sim_function_name(function);
    return OK;
}

API(cuFuncGetModule, CUmodule *, out, CUfunction, handle)
{
    NEED_CONTEXT(context);
    struct sim_function *function;
    int result = sim_function(handle, context, AT_FUNCTION, &function);
    if (!out) return BAD_VALUE;
    if (result == OK) *out = (CUmodule)(void *)function->module;
    return result;
}

API(cuFuncIsLoaded, int *, state, CUfunction, handle)
{
    if (!sim_function_name(handle)) return BAD_HANDLE;
    if (!state) return BAD_VALUE;
    *state = 1;
    return OK;
}

API(cuFuncLoad, CUfunction, handle)
{
    NEED_CONTEXT(context);
    struct sim_function *function;
    return sim_function(handle, context, AT_FUNCTION, &function);
}

// ---- attributes
enum { MAX_THREADS, SHARED, CONSTANT, LOCAL, REGISTERS, PTX_VERSION, BINARY_VERSION, CACHE_CA, MAX_DYNAMIC, CARVEOUT };

static int attribute_of(const struct sim_function *function, int attribute)
{
    // Programs compare these two with what they were built for, so they are the image's and not the device's.
    int sm = function->module->pick.image.sm ? function->module->pick.image.sm : function->module->context->device->sm;
    switch (attribute) {
    case MAX_THREADS:
        return 1024;
    case REGISTERS:
        return 32;
    case PTX_VERSION:
    case BINARY_VERSION:
        return sm;
    case MAX_DYNAMIC:
        return function->dynamic_shared ? function->dynamic_shared : 49152;
    case CARVEOUT:
        return function->carveout ? function->carveout : -1;
    default:
        return 0;
    }
}

static int get_attribute(int *value, int attribute, const void *handle, struct sim_context *context)
{
    struct sim_function *function;
    if (!value || attribute < 0 || attribute > 15) return BAD_VALUE;
    int result = sim_function(handle, context, AT_ATTRIBUTE, &function);
    if (result == OK) *value = attribute_of(function, attribute);
    return result;
}

static int set_attribute(int attribute, int value, const void *handle, struct sim_context *context)
{
    struct sim_function *function;
    if (attribute < MAX_DYNAMIC || attribute > 15) return BAD_VALUE;
    int result = sim_function(handle, context, AT_ATTRIBUTE, &function);
    if (result != OK) return result;
    if (attribute == MAX_DYNAMIC && (value < 0 || value > sim_device_attribute(context->device, 97))) return BAD_VALUE;
    if (attribute == MAX_DYNAMIC) function->dynamic_shared = value;
    if (attribute == CARVEOUT) function->carveout = value;
    return OK;
}

API(cuFuncGetAttribute, int *, value, int, attribute, CUfunction, function)
{
    NEED_CONTEXT(context);
    return get_attribute(value, attribute, function, context);
}

API(cuFuncSetAttribute, CUfunction, function, int, attribute, int, value)
{
    NEED_CONTEXT(context);
    return set_attribute(attribute, value, function, context);
}

// A kernel is asked about on a device: that device's primary context, unless the current one is on it.
static struct sim_context *context_on(int device)
{
    struct sim_context *context = sim_current();
    if (sim_is(context, K_CONTEXT) && context->device->ordinal == device) return context;
    return sim_device(device)->primary;
}

API(cuKernelGetAttribute, int *, value, int, attribute, CUkernel, kernel, int, device)
{
    if (!sim_is(kernel, K_KERNEL)) return BAD_HANDLE;
    if (!sim_device(device)) return BAD_DEVICE;
    return get_attribute(value, attribute, kernel, context_on(device));
}

API(cuKernelSetAttribute, int, attribute, int, value, CUkernel, kernel, int, device)
{
    if (!sim_is(kernel, K_KERNEL)) return BAD_HANDLE;
    if (!sim_device(device)) return BAD_DEVICE;
    return set_attribute(attribute, value, kernel, context_on(device));
}

API(cuFuncSetCacheConfig, CUfunction, function, unsigned, config)
{
    (void)config;
    return sim_function_name(function) ? OK : BAD_HANDLE;
}
API(cuFuncSetSharedMemConfig, CUfunction, function, unsigned, config)
{
    (void)config;
    return sim_function_name(function) ? OK : BAD_HANDLE;
}
API(cuKernelSetCacheConfig, CUkernel, kernel, unsigned, config, int, device)
{
    (void)config, (void)device;
    return sim_is(kernel, K_KERNEL) ? OK : BAD_HANDLE;
}
API(cuFuncGetParamInfo, CUfunction, function, size_t, index, size_t *, offset, size_t *, size)
{
    (void)index, (void)offset, (void)size; // the sizes of parameters are not read from the image
    return sim_function_name(function) ? BAD_VALUE : BAD_HANDLE;
}
API(cuKernelGetParamInfo, CUkernel, kernel, size_t, index, size_t *, offset, size_t *, size)
{
    (void)index, (void)offset, (void)size;
    return sim_is(kernel, K_KERNEL) ? BAD_VALUE : BAD_HANDLE;
}

// ---- occupancy: as if registers and shared memory were never short
static int blocks(int *out, const void *handle, int block_size)
{
    NEED_CONTEXT(context);
    struct sim_function *function;
    if (!out || block_size <= 0) return BAD_VALUE;
    int result = sim_function(handle, context, AT_OCCUPANCY, &function);
    if (result != OK) return result;
    int fit = sim_device_attribute(context->device, 39) / block_size, most = sim_device_attribute(context->device, 106);
    *out = block_size > 1024 ? 0 : fit < most ? fit : most;
    return OK;
}

API(cuOccupancyMaxActiveBlocksPerMultiprocessor, int *, out, CUfunction, function, int, block_size, size_t, shared)
{
    (void)shared;
    return blocks(out, function, block_size);
}
API(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int *, out, CUfunction, function, int, block_size, size_t,
    shared, unsigned, flags)
{
    (void)shared, (void)flags;
    return blocks(out, function, block_size);
}

static int block_size(int *grid, int *block, const void *handle, int limit)
{
    NEED_CONTEXT(context);
    struct sim_function *function;
    if (!grid || !block) return BAD_VALUE;
    int result = sim_function(handle, context, AT_OCCUPANCY, &function);
    if (result != OK) return result;
    *block = limit > 0 && limit < 1024 ? limit : 1024;
    *grid = sim_device_attribute(context->device, 16);
    return OK;
}

API(cuOccupancyMaxPotentialBlockSize, int *, grid, int *, block, CUfunction, function, void *, shared_of, size_t,
    shared, int, limit)
{
    (void)shared_of, (void)shared;
    return block_size(grid, block, function, limit);
}
API(cuOccupancyMaxPotentialBlockSizeWithFlags, int *, grid, int *, block, CUfunction, function, void *, shared_of,
    size_t, shared, int, limit, unsigned, flags)
{
    (void)shared_of, (void)shared, (void)flags;
    return block_size(grid, block, function, limit);
}

static int one_number(void *out, size_t size, const void *handle, int number)
{
    NEED_CONTEXT(context);
    struct sim_function *function;
    if (!out) return BAD_VALUE;
    int result = sim_function(handle, context, AT_OCCUPANCY, &function);
    if (result != OK) return result;
    if (size == sizeof(size_t))
        *(size_t *)out = (size_t)number;
    else
        *(int *)out = number;
    return OK;
}

API(cuOccupancyAvailableDynamicSMemPerBlock, size_t *, out, CUfunction, function, int, count, int, size)
{
    (void)count, (void)size;
    return one_number(out, sizeof *out, function, 49152);
}
API(cuOccupancyMaxPotentialClusterSize, int *, out, CUfunction, function, const CUlaunchConfig *, config)
{
    (void)config;
    return one_number(out, sizeof *out, function, 8);
}
API(cuOccupancyMaxActiveClusters, int *, out, CUfunction, function, const CUlaunchConfig *, config)
{
    (void)config;
    return one_number(out, sizeof *out, function, 16);
}
