// probes.c - asks about kernels and launches none: probes attributes|occupancy|limit a b ...
#include "app.h"

int cudaFuncGetAttributes(void *attributes, const void *host);
int cudaFuncSetAttribute(const void *host, int attribute, int value);
int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *host, int size, size_t shared,
                                                           unsigned flags);

static int ask(const char *how, const void *host)
{
    char attributes[1024]; // larger than the struct of any version
    int blocks;
    if (!strcmp(how, "attributes")) return cudaFuncGetAttributes(attributes, host);
    if (!strcmp(how, "limit")) return cudaFuncSetAttribute(host, 8 /* dynamic shared memory */, 4096);
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, host, 32, 0, 0);
}

int main(int argc, char **argv)
{
    memory();
    for (int i = 2; i < argc; i++) say(argv[i], ask(argv[1], kernel_named(argv[i]).host));
    return 0;
}
