// results.c - names and texts of CUresult and cudaError_t, made of results.def.
#include "driver/results.h"
#include "driver/abi.h"

#include <stddef.h>
#include <string.h>

static const struct nk_result results[] = {
#define NK_RESULT(code, driver_name, runtime_name, text) {code, driver_name, runtime_name, text},
#include "driver/results.def"
#undef NK_RESULT
};

const struct nk_result *nk_result_find(int code)
{
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        if (results[i].code == code) return &results[i];
    return NULL;
}

const struct nk_result *nk_result_named(const char *name)
{
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        const struct nk_result *r = &results[i];
        if ((r->driver_name && !strcmp(r->driver_name, name)) || (r->runtime_name && !strcmp(r->runtime_name, name)))
            return r;
    }
    return NULL;
}

const char *nk_result_name(enum nk_lib lib, int code)
{
    const struct nk_result *r = nk_result_find(code);
    if (!r) return "unknown result";
    const char *first = lib == NK_DRIVER ? r->driver_name : r->runtime_name;
    return first ? first : lib == NK_DRIVER ? r->runtime_name : r->driver_name;
}

bool nk_result_is_image(int code)
{
    switch (code) {
    case NK_CUDA_INVALID_DEVICE_FUNCTION:
    case NK_CUDA_INVALID_IMAGE:
    case NK_CUDA_NO_BINARY_FOR_GPU:
    case NK_CUDA_INVALID_PTX:
    case NK_CUDA_JIT_COMPILER_NOT_FOUND:
    case NK_CUDA_UNSUPPORTED_PTX_VERSION:
    case NK_CUDA_JIT_COMPILATION_DISABLED:
    case NK_CUDA_UNSUPPORTED_DEVSIDE_SYNC:
    case NK_CUDA_INSUFFICIENT_LOADER:
    case NK_CUDA_NOT_FOUND:
        return true;
    default:
        return false;
    }
}

// Those of which cuda.h says that the process must be terminated, and the GPU's uncorrectable ones.
bool nk_result_is_sticky(int code)
{
    return code == 214 || code == 220 || code == 700 || code == 702 || code == 710 || (code >= 714 && code <= 719) ||
           code == 721;
}
