// trail_ends.c - launches among streams, contexts, GPUs and processes that end:
//   destroy   100 streams one after the other: a launch, a wait, destroyed
//   pool      1500 streams that live at the same time, a launch in each
//   last      a stream is destroyed right after its launch, then the default stream is waited for
//   reset     launches, cudaDeviceReset, launches again
//   context   a context of the driver's is made and destroyed three times, with launches in its default stream
//   release   the primary context is retained and released beside the runtime's use of it
//   many      3000 launches in one stream, then a wait
//   threads   8 threads launch 500 times each in one stream, then memory is filled there
//   memset    a launch that is waited for, then memory is filled
//   gpus      a and b on each of two GPUs, then both are waited for
//   fork      a child that forks before CUDA is used, and its parent, each launch b and a
#define _GNU_SOURCE
#include "graph.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>

int cudaDeviceReset(void);
int cudaMemsetAsync(void *pointer, int value, size_t size, stream_t stream);

static stream_t shared;

static void destroy(void)
{
    for (int i = 0; i < 100; i++) {
        stream_t stream;
        int code = cudaStreamCreateWithFlags(&stream, NON_BLOCKING) | launch_on("a", stream) | launch_on("b", stream);
        code |= cudaStreamSynchronize(stream) | cudaStreamDestroy(stream);
        if (code) say("stream", code);
    }
}

static void pool(void)
{
    for (int i = 0; i < 1500; i++) {
        stream_t stream;
        int code = cudaStreamCreateWithFlags(&stream, NON_BLOCKING) | launch_on("a", stream);
        if (code) say("stream", code);
    }
    say("sync", cudaDeviceSynchronize());
}

static void last(void)
{
    stream_t stream;
    cudaStreamCreateWithFlags(&stream, NON_BLOCKING);
    say("a", launch_on("a", stream));
    say("b", launch_on("b", NULL));
    say("destroy", cudaStreamDestroy(shared));
    say("b", launch_on("b", stream));
    say("destroy", cudaStreamDestroy(stream));
    say("sync", cudaDeviceSynchronize());
}

static void reset(void)
{
    for (int i = 0; i < 3; i++) {
        say("a", launch_on("a", NULL));
        say("b", launch_on("b", NULL));
        say("sync", cudaDeviceSynchronize());
        say("reset", cudaDeviceReset());
        data = memory();
    }
}

// Functions of the driver, found as a program that uses both finds them.
static int (*driver(const char *name))(void *, void *, void *)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    return (int (*)(void *, void *, void *))dlsym(library, name);
}

static void context(void)
{
    for (int i = 0; i < 3; i++) {
        void *made = NULL;
        say("create", driver("cuCtxCreate_v2")(&made, NULL, NULL));
        data = memory();
        say("a", launch_on("a", NULL));
        say("b", launch_on("b", NULL));
        say("sync", cudaStreamSynchronize(NULL));
        say("destroy", driver("cuCtxDestroy_v2")(made, NULL, NULL));
    }
}

static void release(void)
{
    for (int i = 0; i < 3; i++) {
        void *primary = NULL;
        say("retain", driver("cuDevicePrimaryCtxRetain")(&primary, NULL, NULL));
        say("a", launch_on("a", NULL));
        say("release", driver("cuDevicePrimaryCtxRelease_v2")(NULL, NULL, NULL));
        say("b", launch_on("b", NULL));
        say("sync", cudaStreamSynchronize(NULL));
    }
}

static void *launch_often(void *unused)
{
    for (int i = 0; i < 500; i++)
        if (launch_on("a", shared)) return unused;
    return NULL;
}

static void threads(void)
{
    pthread_t thread[8];
    for (int i = 0; i < 8; i++) pthread_create(&thread[i], NULL, launch_often, NULL);
    for (int i = 0; i < 8; i++) pthread_join(thread[i], NULL);
    say("fill", cudaMemsetAsync(data, 0, 4, shared));
    say("sync", cudaStreamSynchronize(shared));
}

static void fill(void)
{
    say("a", launch_on("a", shared));
    say("sync", cudaStreamSynchronize(shared));
    say("fill", cudaMemsetAsync(data, 0, 4, shared));
    say("sync", cudaStreamSynchronize(shared));
}

static void many(void)
{
    int code = 0;
    for (int i = 0; i < 3000; i++) code |= launch_on(i % 2 ? "b" : "a", shared);
    say("launches", code);
    say("sync", cudaStreamSynchronize(shared));
}

static void gpus(void)
{
    for (int gpu = 0; gpu < 2; gpu++) {
        say("device", cudaSetDevice(gpu));
        data = memory();
        say("a", launch_on("a", NULL));
        say("b", launch_on("b", NULL));
    }
    for (int gpu = 0; gpu < 2; gpu++) {
        cudaSetDevice(gpu);
        say("sync", cudaDeviceSynchronize());
    }
}

static void in_two_processes(void)
{
    pid_t child = fork();
    data = memory();
    int a = launch_on("a", NULL), b = launch_on("b", NULL), sync = cudaDeviceSynchronize();
    if (!child) _exit(a | b ? 1 : 0);
    waitpid(child, NULL, 0);
    printf("%d %d %d\n", a, b, sync);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "destroy";
    if (!strcmp(how, "fork")) return in_two_processes(), 0;
    if (!strcmp(how, "gpus")) return gpus(), 0;
    data = memory();
    cudaStreamCreateWithFlags(&shared, NON_BLOCKING);
    if (!strcmp(how, "destroy")) destroy();
    if (!strcmp(how, "pool")) pool();
    if (!strcmp(how, "last")) last();
    if (!strcmp(how, "reset")) reset();
    if (!strcmp(how, "context")) context();
    if (!strcmp(how, "release")) release();
    if (!strcmp(how, "threads")) threads();
    if (!strcmp(how, "memset")) fill();
    if (!strcmp(how, "many")) many();
    return 0;
}
