// loads_memory.c - a library with a compiler at run time, as it were: run_memory loads a module from memory of the heap
// and launches its kernel. Without SHARED a program that opens the library, which the driver is linked with:
// loads_memory LIBRARY FILE KERNEL [on]      on: it goes on when the module was refused, with what it has not got
#ifdef SHARED
#include "driver.h"

#define X(name, symbol, version, parameters) int symbol parameters;
DRIVER_FUNCTIONS(X)
#undef X

int run_memory(const char *path, const char *kernel, int on)
{
    handle module = NULL, function = NULL;
#define X(name, symbol, version, parameters) driver.name = symbol;
    DRIVER_FUNCTIONS(X)
#undef X
    handle stream = open_device();
    void *memory = memcpy(malloc(1 << 20), whole_file(path), 1 << 20);
    int code = report("load", cuModuleLoadData(&module, memory));
    free(memset(memory, 0, 1 << 20));
    if (!code || on) code = report(kernel, cuModuleGetFunction(&function, module, kernel));
    if (!code || on) launch(function, stream);
    return code;
}
#else
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *library = argc > 3 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*run)(const char *, const char *, int) =
        library ? (int (*)(const char *, const char *, int))dlsym(library, "run_memory") : NULL;
    if (!run) printf("%s\n", dlerror());
    return run ? run(argv[2], argv[3], argc > 4) != 0 : 1;
}
#endif
