// half.c - a library that does one thing with kernels a and b, for a program that opens two of them (two_halves.c):
// half_run("launch a" | "launch b" | "ask a" | "ask b" | "read" | "peek" | "sync") returns what the call returned.
#include "app.h"

int cudaFuncGetAttributes(void *attributes, const void *host);

__attribute__((visibility("default"))) int half_run(const char *what)
{
    static float *data;
    char attributes[1024];
    if (!data) data = memory();
    if (!strcmp(what, "read")) return cudaGetLastError();
    if (!strcmp(what, "peek")) return cudaPeekAtLastError();
    if (!strcmp(what, "sync")) return cudaDeviceSynchronize();
    const char *name = strchr(what, ' ') + 1;
    if (!strncmp(what, "ask", 3)) return cudaFuncGetAttributes(attributes, kernel_named(name).host);
    return kernel_named(name).launch(data);
}
