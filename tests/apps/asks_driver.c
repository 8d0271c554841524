// asks_driver.c - asks the driver about the kernel in FILE in some way, and launches that in OTHER:
//   asks_driver HOW KERNEL FILE OTHER
// HOW is function, kernel-attribute, kernel-limit, attribute, limit, occupancy, block-size or shared.
#include "driver.h"

#define X(name, symbol, version, parameters) int symbol parameters;
DRIVER_FUNCTIONS(X)
#undef X
int cuKernelGetAttribute(int *value, int attribute, handle kernel, int device);
int cuKernelSetAttribute(int attribute, int value, handle kernel, int device);
int cuFuncGetAttribute(int *value, int attribute, handle function);
int cuFuncSetAttribute(handle function, int attribute, int value);
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, handle function, int size, size_t shared);
int cuOccupancyMaxPotentialBlockSize(int *grid, int *block, handle function, void *of_block, size_t shared, int limit);
int cuOccupancyAvailableDynamicSMemPerBlock(size_t *shared, handle function, int blocks, int size);

static int ask(const char *how, handle kernel)
{
    handle function = NULL;
    size_t shared;
    int value, other;
    if (!strcmp(how, "function")) return cuKernelGetFunction(&function, kernel);
    if (!strcmp(how, "kernel-attribute")) return cuKernelGetAttribute(&value, 0, kernel, 0);
    if (!strcmp(how, "kernel-limit")) return cuKernelSetAttribute(8, 4096, kernel, 0);
    if (!strcmp(how, "attribute")) return cuFuncGetAttribute(&value, 0, kernel);
    if (!strcmp(how, "limit")) return cuFuncSetAttribute(kernel, 8, 4096);
    if (!strcmp(how, "occupancy")) return cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, kernel, 32, 0);
    if (!strcmp(how, "block-size")) return cuOccupancyMaxPotentialBlockSize(&value, &other, kernel, NULL, 0, 0);
    return cuOccupancyAvailableDynamicSMemPerBlock(&shared, kernel, 1, 32);
}

static handle loaded(const char *file, const char *name)
{
    handle library = NULL, kernel = NULL;
    report("load", cuLibraryLoadData(&library, whole_file(file), NULL, NULL, 0, NULL, NULL, 0));
    report(name, cuLibraryGetKernel(&kernel, library, name));
    return kernel;
}

int main(int argc, char **argv)
{
    if (argc < 5) return 2;
#define X(name, symbol, version, parameters) driver.name = symbol;
    DRIVER_FUNCTIONS(X)
#undef X
    handle stream = open_device();
    report("ask", ask(argv[1], loaded(argv[3], argv[2])));
    return launch(loaded(argv[4], argv[2]), stream) || report("sync", cuStreamSynchronize(stream));
}
