// app.h - what the small test programs share: the runtime's functions that they call, and their two kernels.
//
// A program is linked with kernel.o twice (kernels a and b, each in a fat binary of its own) and with the runtime of
// one CUDA version. The declarations are our own, so one source serves every version from 11.8 on and no CUDA header
// is needed. Programs write what they saw to stdout, one "WHAT CODE" a line, and end with 0.
#ifndef APP_H
#define APP_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    unsigned x, y, z;
} dim3;
typedef void *stream_t;

int cudaDeviceSynchronize(void);
int cudaGetDeviceCount(int *count);
int cudaGetLastError(void);
int cudaPeekAtLastError(void);
int cudaMalloc(void **pointer, size_t size);
int cudaFree(void *pointer);
int cudaMemset(void *pointer, int value, size_t size);
int cudaSetDevice(int device);
int cudaStreamCreate(stream_t *stream);
int cudaStreamSynchronize(stream_t stream);

// A kernel: its host function (what <<<>>> and the runtime's calls take), and a launch of one thread on the default
// stream that returns what the runtime's launch call returned (kernel.c), or cudaGetLastError() (kernel.cu).
extern const void *const host_a, *const host_b;
int launch_a(float *data);
int launch_b(float *data);

struct kernel {
    const void *host;
    int (*launch)(float *data);
};

// The kernel that an argument names: "a" or "b".
static inline struct kernel kernel_named(const char *name)
{
    if (*name == 'a') return (struct kernel){host_a, launch_a};
    return (struct kernel){host_b, launch_b};
}

static inline int say(const char *what, int code)
{
    printf("%s %d\n", what, code);
    fflush(stdout);
    return code;
}

static inline float *memory(void)
{
    void *data = NULL;
    int code = cudaMalloc(&data, 256);
    if (code) say("malloc", code);
    return data;
}

#endif
