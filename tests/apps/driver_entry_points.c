// driver_entry_points.c - asks the runtime for the driver's functions: driver_entry_points WAY LOAD FILE KERNEL...
//
// WAY is plain (cudaGetDriverEntryPoint: gone in 13.0) or version (cudaGetDriverEntryPointByVersion: since 12.5).
#include "driver.h"

int cudaGetDriverEntryPoint(const char *name, void **function, unsigned long long flags, int *status)
    __attribute__((weak));
int cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version, unsigned long long flags,
                                     int *status) __attribute__((weak));
int cudaFree(void *);

static void *find(const char *way, const char *name, unsigned version)
{
    void *found = NULL;
    int status = 0;
    if (!strcmp(way, "plain"))
        cudaGetDriverEntryPoint(name, &found, 0, &status);
    else
        cudaGetDriverEntryPointByVersion(name, &found, version, 0, &status);
    return found;
}

int main(int argc, char **argv)
{
    if (argc < 4) return 2;
    report("free", cudaFree(NULL));
#define X(name, symbol, version, parameters) *(void **)&driver.name = find(argv[1], #name, version);
    DRIVER_FUNCTIONS(X)
#undef X
    return use_driver(argv + 2);
}
