// driver_found.c - finds the driver itself: driver_found WAY LOAD FILE KERNEL...
//
// WAY is dlsym, procaddr1 (cuGetProcAddress of 11.x, four parameters), procaddr2, or itself (cuGetProcAddress asked for
// cuGetProcAddress, and only that answer used).
#include "driver.h"

#include <dlfcn.h>

typedef int (*procaddr1)(const char *, void *, int, unsigned long long);
typedef int (*procaddr2)(const char *, void *, int, unsigned long long, int *);

static const char *way;
static void *library;

static void *find(const char *name, const char *symbol, int version)
{
    void *found = NULL;
    int status;
    if (!strcmp(way, "dlsym")) return dlsym(library, symbol);
    if (!strcmp(way, "procaddr1")) {
        ((procaddr1)dlsym(library, "cuGetProcAddress"))(name, &found, version, 0);
        return found;
    }
    procaddr2 ask = (procaddr2)dlsym(library, "cuGetProcAddress_v2");
    if (!strcmp(way, "itself")) {
        void *again = NULL;
        ask("cuGetProcAddress", &again, 12000, 0, &status);
        ask = (procaddr2)again;
    }
    ask(name, &found, version, 0, &status);
    return found;
}

int main(int argc, char **argv)
{
    if (argc < 4) return 2;
    way = argv[1];
    library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return 3;
#define X(name, symbol, version, parameters) *(void **)&driver.name = find(#name, #symbol, version);
    DRIVER_FUNCTIONS(X)
#undef X
    return use_driver(argv + 2);
}
