// null_driver.c - a libcuda.so.1 that does nothing, at once: what is left in a launch under the library is the library.
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
#define SILENT(name, ...)                                                                                              \
    EXPORT int name(__VA_ARGS__);                                                                                      \
    EXPORT int name(__VA_ARGS__)

static char handles[4];

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
    return *function = &handles[module && name ? 2 : 3], 0;
}
SILENT(cuLaunchKernel, void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
       unsigned s, void *stream, void **params, void **extra)
{
    (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)s, (void)stream, (void)params, (void)extra;
    return f ? 0 : 400;
}
SILENT(cuStreamIsCapturing, void *stream, int *status) { return (void)stream, *status = 0, 0; }
SILENT(cuStreamSynchronize, void *stream) { return (void)stream, 0; }
SILENT(cuThreadExchangeStreamCaptureMode, int *mode) { return (void)mode, 0; }
