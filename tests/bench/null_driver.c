// null_driver.c - a libcuda.so.1 that does nothing, at once: what is left in a launch under the library is the library.
// Kernels that are called f0 to f4095 have no image: their launches return 209.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))
#define SILENT(name, ...)                                                                                              \
    EXPORT int name(__VA_ARGS__);                                                                                      \
    EXPORT int name(__VA_ARGS__)

static char handles[4], failing[4096];

SILENT(cuInit, unsigned flags) { return (int)(flags & 0); }
SILENT(cuDriverGetVersion, int *version) { return *version = 13000, 0; }
SILENT(cuDeviceGetAttribute, int *value, int attribute, int device)
{
    return *value = attribute == 75 ? 9 : 0, device & 0;
}
SILENT(cuCtxGetDevice, int *device) { return *device = 0, 0; }
SILENT(cuModuleLoadData, void **module, const void *image) { return *module = &handles[image ? 0 : 1], 0; }
SILENT(cuModuleGetFunction, void **function, void *module, const char *name)
{
    if (*name == 'f') return *function = &failing[atoi(name + 1) & 4095], 0;
    return *function = &handles[module ? 2 : 3], 0;
}
SILENT(cuLaunchKernel, void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
       unsigned s, void *stream, void **params, void **extra)
{
    (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)s, (void)stream, (void)params, (void)extra;
    return (char *)f >= failing && (char *)f < failing + sizeof failing ? 209 : f ? 0 : 400;
}
SILENT(cuStreamIsCapturing, void *stream, int *status) { return (void)stream, *status = 0, 0; }
SILENT(cuStreamQuery, void *stream) { return (void)stream, 0; }
SILENT(cuStreamSynchronize, void *stream) { return (void)stream, 0; }
SILENT(cuThreadExchangeStreamCaptureMode, int *mode) { return (void)mode, 0; }

// What NOKERNEL_SYNC=trail asks for.
SILENT(cuCtxGetCurrent, void **context) { return *context = &handles[3], 0; }
SILENT(cuMemHostRegister_v2, void *memory, size_t size, unsigned flags)
{
    return (void)memory, (int)(size & flags & 0);
}
SILENT(cuMemHostGetDevicePointer_v2, uint64_t *address, void *memory, unsigned flags)
{
    return *address = (uintptr_t)memory, (int)(flags & 0);
}
SILENT(cuStreamWriteValue32_v2, void *stream, uint64_t address, unsigned value, unsigned flags)
{
    return (void)stream, (void)flags, *(volatile unsigned *)(uintptr_t)address = value, 0;
}
