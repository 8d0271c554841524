// says_more.c - another preloaded library, of the usual kind: it replaces puts and cudaLaunchKernel, and finds the ones
// it replaces by RTLD_NEXT; it counts launches and says so at its end.
#include <dlfcn.h>
#include <stdio.h>
#include <stddef.h>

typedef struct {
    unsigned x, y, z;
} dim3;

static int launches;

int puts(const char *text)
{
    static int (*next)(const char *);
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "puts");
    printf("more: ");
    return next(text);
}

int cudaLaunchKernel(const void *host, dim3 grid, dim3 block, void **args, size_t shared, void *stream)
{
    static int (*next)(const void *, dim3, dim3, void **, size_t, void *);
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "cudaLaunchKernel");
    launches++;
    return next ? next(host, grid, block, args, shared, stream) : -1;
}

__attribute__((destructor)) static void count(void)
{
    if (launches) printf("more: %d launches\n", launches);
}
