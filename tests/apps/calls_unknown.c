// calls_unknown.c - calls launching functions of the driver that are in no list of the library, found by dlsym and by
// cuGetProcAddress, with arguments that must arrive; launches the kernels of its arguments before.
#include "app.h"

#include <dlfcn.h>

typedef int get_fn(const char *name, void **function, int version, unsigned long long flags, int *status);

int main(int argc, char **argv)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *grid = NULL;
    int status = 0, (*many)(void *, unsigned, unsigned), (*add)(void **, void *, void *, size_t, void *), (*host)(void);
    float *data = memory();
    for (int i = 1; i < argc; i++) say(argv[i], kernel_named(argv[i]).launch(data));
    get_fn *get;
    *(void **)&get = dlsym(driver, "cuGetProcAddress_v2");
    *(void **)&many = dlsym(driver, "cuLaunchCooperativeKernelMultiDevice");
    *(void **)&add = dlsym(driver, "cuGraphAddNode");
    *(void **)&host = dlsym(driver, "cuLaunchHostFunc");
    say("get", get("cuLaunchCooperativeKernelMultiDevice", &grid, 12000, 0, &status));
    for (int i = 0; i < 3; i++) say("many", many(NULL, 0, 0));
    *(void **)&many = grid;
    say("many", many(NULL, 0, 0));
    say("add", add(NULL, NULL, NULL, 0, NULL));
    return host == NULL;
}
