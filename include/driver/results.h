// results.h - names and texts of CUresult and cudaError_t. All strings are static.
#ifndef NK_DRIVER_RESULTS_H
#define NK_DRIVER_RESULTS_H

#include <stdbool.h>

enum nk_lib { NK_DRIVER, NK_RUNTIME }; // whose function returned the code

struct nk_result {
    int code;
    const char *driver_name, *runtime_name; // NULL where that side does not know the code
    const char *text;
};

// NULL for a code that is not in results.def.
const struct nk_result *nk_result_find(int code);
// By either name ("cudaErrorNoKernelImageForDevice", "CUDA_ERROR_NO_BINARY_FOR_GPU"), or NULL.
const struct nk_result *nk_result_named(const char *name);
// The name on that side, else the other side's, else "unknown result".
const char *nk_result_name(enum nk_lib lib, int code);
// True for the codes that mean "no image of this kernel could be used here": 98, 200, 209, 218, 221, 222, 223, 225, 227
// and 500. 98, 200 and 500 have other causes too: whoever asks must know that a kernel or an image was the subject.
bool nk_result_is_image(int code);
// True for errors of the GPU's own work, which come late and stay: every later call in the context returns them again.
bool nk_result_is_sticky(int code);

#endif
