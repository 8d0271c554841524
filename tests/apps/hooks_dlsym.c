// hooks_dlsym.c - a preloaded library that hooks dlsym, as tools that share GPUs do: it finds libc's own by version and
// calls it. Says at the end whether the driver was looked up through it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int asked;

void *dlsym(void *handle, const char *name)
{
    static void *(*real)(void *, const char *);
    if (!real) *(void **)&real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    if (!real) *(void **)&real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    if (!real) *(void **)&real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.17");
    asked |= !strncmp(name, "cuGetProcAddress", 16);
    return real(handle, name);
}

__attribute__((destructor)) static void tell(void)
{
    printf("hook: %s\n", asked ? "asked for the driver" : "not asked");
}
