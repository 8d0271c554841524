// launch.c - nanoseconds of one launch: launch COUNT ROUNDS prints the smallest mean of the rounds.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef int (*launch_fn)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                         void **);

static const char ptx[] = ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry k() { ret; }\n";

static void *function_named(void *driver, const char *name)
{
    void *function = dlsym(driver, name);
    if (!function) {
        fprintf(stderr, "launch: libcuda.so.1 has no %s\n", name);
        exit(1);
    }
    return function;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? atol(argv[1]) : 1000000, rounds = argc > 2 ? atol(argv[2]) : 5;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *module, *kernel;
    if (!driver) return fprintf(stderr, "launch: %s\n", dlerror()), 1;
    int (*load)(void **, const void *) = (int (*)(void **, const void *))function_named(driver, "cuModuleLoadData");
    int (*get)(void **, void *, const char *) =
        (int (*)(void **, void *, const char *))function_named(driver, "cuModuleGetFunction");
    launch_fn launch = (launch_fn)function_named(driver, "cuLaunchKernel");
    if (load(&module, ptx) || get(&kernel, module, "k")) return fprintf(stderr, "launch: no kernel\n"), 1;
    double best = 1e30;
    launch(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
    for (long r = 0; r < rounds; r++) {
        double start = now();
        for (long i = 0; i < count; i++) launch(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
        double mean = (now() - start) / (double)count;
        if (mean < best) best = mean;
    }
    printf("%.2f\n", best);
    return 0;
}
