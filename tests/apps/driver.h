// driver.h - a program that uses the driver without a runtime; how it finds the driver's functions is its includer's.
//
// use_driver(LOAD, FILE, KERNEL...) loads FILE by LOAD, and for each KERNEL looks it up, launches it and says the
// results. LOAD is module, data, dataex, fatbinary, library, library-file, or library-module (a library's module),
// library-function (a library's kernel made a function), enumerate (all kernels of a library, launched).
#ifndef DRIVER_H
#define DRIVER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *handle;

// X(name that cuGetProcAddress is asked for, exported name, version, parameters)
#define DRIVER_FUNCTIONS(X)                                                                                            \
    X(cuInit, cuInit, 2000, (unsigned))                                                                                \
    X(cuDeviceGet, cuDeviceGet, 2000, (int *, int))                                                                    \
    X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 7000, (handle *, int))                                       \
    X(cuCtxSetCurrent, cuCtxSetCurrent, 4000, (handle))                                                                \
    X(cuStreamCreate, cuStreamCreate, 2000, (handle *, unsigned))                                                      \
    X(cuStreamSynchronize, cuStreamSynchronize, 2000, (handle))                                                        \
    X(cuModuleLoad, cuModuleLoad, 2000, (handle *, const char *))                                                      \
    X(cuModuleLoadData, cuModuleLoadData, 2000, (handle *, const void *))                                              \
    X(cuModuleLoadDataEx, cuModuleLoadDataEx, 2010, (handle *, const void *, unsigned, int *, void **))                \
    X(cuModuleLoadFatBinary, cuModuleLoadFatBinary, 2000, (handle *, const void *))                                    \
    X(cuModuleGetFunction, cuModuleGetFunction, 2000, (handle *, handle, const char *))                                \
    X(cuModuleUnload, cuModuleUnload, 2000, (handle))                                                                  \
    X(cuLibraryLoadData, cuLibraryLoadData, 12000,                                                                     \
      (handle *, const void *, int *, void **, unsigned, int *, void **, unsigned))                                    \
    X(cuLibraryLoadFromFile, cuLibraryLoadFromFile, 12000,                                                             \
      (handle *, const char *, int *, void **, unsigned, int *, void **, unsigned))                                    \
    X(cuLibraryGetKernel, cuLibraryGetKernel, 12000, (handle *, handle, const char *))                                 \
    X(cuLibraryGetModule, cuLibraryGetModule, 12000, (handle *, handle))                                               \
    X(cuLibraryEnumerateKernels, cuLibraryEnumerateKernels, 12040, (handle *, unsigned, handle))                       \
    X(cuLibraryUnload, cuLibraryUnload, 12000, (handle))                                                               \
    X(cuKernelGetFunction, cuKernelGetFunction, 12000, (handle *, handle))                                             \
    X(cuLaunchKernel, cuLaunchKernel, 4000,                                                                            \
      (handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle, void **, void **))

static struct {
#define X(name, symbol, version, parameters) int(*name) parameters;
    DRIVER_FUNCTIONS(X)
#undef X
} driver;

static int report(const char *what, int code)
{
    printf("%s %d\n", what, code);
    fflush(stdout);
    return code;
}

static void *whole_file(const char *path)
{
    static char bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    if (!file || !fread(bytes, 1, sizeof bytes - 1, file)) exit(9);
    fclose(file);
    return bytes;
}

static int load_module(const char *how, const char *path, handle *module)
{
    if (!strcmp(how, "module")) return driver.cuModuleLoad(module, path);
    if (!strcmp(how, "data")) return driver.cuModuleLoadData(module, whole_file(path));
    if (!strcmp(how, "dataex")) return driver.cuModuleLoadDataEx(module, whole_file(path), 0, NULL, NULL);
    return driver.cuModuleLoadFatBinary(module, whole_file(path));
}

static int load_library(const char *how, const char *path, handle *library)
{
    if (!strcmp(how, "library-file")) return driver.cuLibraryLoadFromFile(library, path, NULL, NULL, 0, NULL, NULL, 0);
    return driver.cuLibraryLoadData(library, whole_file(path), NULL, NULL, 0, NULL, NULL, 0);
}

static int look_up(const char *how, handle container, const char *name, handle *function)
{
    handle module, kernel;
    int code;
    if (strncmp(how, "library", 7)) return driver.cuModuleGetFunction(function, container, name);
    if (!strcmp(how, "library-module"))
        return (code = driver.cuLibraryGetModule(&module, container))
                   ? code
                   : driver.cuModuleGetFunction(function, module, name);
    if (strcmp(how, "library-function")) return driver.cuLibraryGetKernel(function, container, name);
    code = driver.cuLibraryGetKernel(&kernel, container, name);
    return code ? code : driver.cuKernelGetFunction(function, kernel);
}

static int launch(handle function, handle stream)
{
    void *data = NULL, *params[] = {&data};
    return report("launch", driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

static handle open_device(void)
{
    handle context, stream = NULL;
    int device;
    report("init", driver.cuInit(0));
    driver.cuDeviceGet(&device, 0);
    driver.cuDevicePrimaryCtxRetain(&context, device);
    driver.cuCtxSetCurrent(context);
    report("stream", driver.cuStreamCreate(&stream, 0));
    return stream;
}

static int use_driver(char **argv)
{
    const char *how = argv[0], *path = argv[1];
    int of_library = !strncmp(how, "library", 7) || !strcmp(how, "enumerate");
    handle container = NULL, function = NULL, stream = open_device();
    if (report("load", of_library ? load_library(how, path, &container) : load_module(how, path, &container))) return 1;
    if (!strcmp(how, "enumerate")) {
        if (!report("enumerate", driver.cuLibraryEnumerateKernels(&function, 1, container))) launch(function, stream);
        return 0;
    }
    for (char **name = argv + 2; *name; name++)
        if (!report(*name, look_up(how, container, *name, &function))) launch(function, stream);
    report("sync", driver.cuStreamSynchronize(stream));
    report("unload", of_library ? driver.cuLibraryUnload(container) : driver.cuModuleUnload(container));
    return 0;
}

#endif
