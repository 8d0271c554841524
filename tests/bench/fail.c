// fail.c - microseconds of a launch that fails: fail DEPTH COUNT prints the mean of the first failures of COUNT
// kernels, DEPTH calls deep, and of as many failures of one kernel. Also built as a library, for Python to call.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef int (*launch_fn)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                         void **);
static int (*get)(void **, void *, const char *);
static launch_fn launch;
static void *module;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

int fail_open(void)
{
    static const char ptx[] = ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry f0() { ret; }\n";
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    int (*load)(void **, const void *) = NULL;
    if (!driver) return -1;
    *(void **)&load = dlsym(driver, "cuModuleLoadData");
    *(void **)&get = dlsym(driver, "cuModuleGetFunction");
    *(void **)&launch = dlsym(driver, "cuLaunchKernel");
    return load && get && launch ? load(&module, ptx) : -1;
}

// Microseconds of one failing launch of kernel f<number>.
double fail_once(int number)
{
    char name[16];
    void *kernel;
    snprintf(name, sizeof name, "f%d", number);
    if (get(&kernel, module, name)) return -1;
    double start = now();
    int code = launch(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
    return code == 209 ? now() - start : -1;
}

__attribute__((noinline)) static double deep(int depth, int number)
{
    double spent = depth > 0 ? deep(depth - 1, number) : fail_once(number);
    __asm__ volatile("" ::: "memory"); // no tail call
    return spent;
}

int main(int argc, char **argv)
{
    int depth = argc > 1 ? atoi(argv[1]) : 20, count = argc > 2 ? atoi(argv[2]) : 1000;
    double first = 0, again = 0;
    if (fail_open()) return fprintf(stderr, "fail: no driver\n"), 1;
    double very_first = deep(depth, 0);
    for (int i = 1; i <= count; i++) first += deep(depth, i);
    for (int i = 1; i <= count; i++) again += deep(depth, 1);
    printf("%.2f %.2f %.2f\n", very_first, first / count, again / count);
    return 0;
}
