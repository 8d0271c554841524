// odd_driver.c - a libcuda.so.1 with one GPU, sm_86, that does what ODD says: "die CALL" ends the process in that call,
// "exit CALL" leaves it, "hang CALL" never comes back, "flip" changes a bit on the way back from the GPU's memory.
// Anything else works, and the probe's kernel computes.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int called(const char *name)
{
    char what[64] = "", call[64] = "";
    const char *odd = getenv("ODD");
    if (!odd || sscanf(odd, "%63s %63s", what, call) < 2 || strcmp(call, name)) return 0;
    if (!strcmp(what, "die")) abort();
    if (!strcmp(what, "exit")) _exit(3);
    for (;;) pause();
}
#define CALL(name, ...)                                                                                                \
    int name(__VA_ARGS__);                                                                                             \
    int name(__VA_ARGS__)

CALL(cuInit, unsigned flags) { return (void)flags, called("cuInit"); }
CALL(cuDriverGetVersion, int *version) { return *version = 12040, 0; }
CALL(cuDeviceGetCount, int *count) { return *count = 1, 0; }
CALL(cuDeviceGetAttribute, int *value, int attribute, int device)
{
    return (void)device, *value = attribute == 75 ? 8 : 6, 0;
}
CALL(cuDeviceGetName, char *name, int size, int device) { return (void)device, snprintf(name, (size_t)size, "Odd"), 0; }
CALL(cuDevicePrimaryCtxRetain, void **context, int device)
{
    return (void)device, *context = context, called("cuDevicePrimaryCtxRetain");
}
CALL(cuCtxSetCurrent, void *context) { return (void)context, 0; }
CALL(cuCtxSynchronize, void) { return called("cuCtxSynchronize"); }
CALL(cuMemAlloc_v2, void **memory, size_t size) { return *memory = malloc(size), called("cuMemAlloc"); }
CALL(cuMemcpyHtoD_v2, void *to, const void *from, size_t size)
{
    return memcpy(to, from, size), called("cuMemcpyHtoD");
}
CALL(cuMemcpyDtoH_v2, char *to, const void *from, size_t size)
{
    memcpy(to, from, size);
    if (getenv("ODD") && !strcmp(getenv("ODD"), "flip")) to[4096] ^= 16;
    return called("cuMemcpyDtoH");
}
CALL(cuModuleLoadDataEx, void **module, const void *code, unsigned count, int *options, void **values)
{
    if (getenv("ODD") && !strcmp(getenv("ODD"), "refuse")) {
        for (unsigned i = 0; i < count; i++)
            if (options[i] == 5) strcpy(values[i], "ptxas fatal : out of order");
        return 218;
    }
    return (void)code, *module = module, called("cuModuleLoadDataEx");
}
CALL(cuModuleGetFunction, void **function, void *module, const char *name)
{
    return (void)module, (void)name, *function = function, 0;
}
CALL(cuLaunchKernel, void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
     unsigned shared, void *stream, void **parameters, void **extra)
{
    uint32_t *in = *(uint32_t **)parameters[0], *out = *(uint32_t **)parameters[1], count = *(uint32_t *)parameters[2];
    (void)function, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)stream, (void)extra;
    for (uint32_t i = 0; i < count; i++) out[i] = in[i] * 3 + i;
    return called("cuLaunchKernel");
}
