// ends_unasked.c - launches a and b, and ends without asking whether they worked:
//   default    in the default stream
//   own        in a stream of its own, which the default one does not wait for
//   destroyed  the same, and the stream is destroyed
//   thread     in the default stream of a thread that has ended
//   context    in the default stream of a context that is no longer the current one
//   capture    as `own`, while another stream is captured
//   many       a in each of 1000 streams
//   asked      as `own`, and asks
//   child      as `own`, then a child is forked that ends, and waited for
// A second word is the way of the end: _exit, quick_exit.
#define _GNU_SOURCE
#include "graph.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>

static stream_t made(void)
{
    stream_t stream;
    cudaStreamCreateWithFlags(&stream, NON_BLOCKING);
    return stream;
}

static void use(stream_t stream)
{
    say("a", launch_on("a", stream));
    say("b", launch_on("b", stream));
}

static void *use_own(void *unused)
{
    use((stream_t)2); // cudaStreamPerThread
    return unused;
}

static void use_in_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, use_own, NULL);
    pthread_join(thread, NULL);
}

// Functions of the driver, found as a program that uses both finds them.
static int driver(const char *name, void *a, void *b, void *c)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    int (*function)(void *, void *, void *) = (int (*)(void *, void *, void *))dlsym(library, name);
    return function ? function(a, b, c) : -1;
}

static void use_context(void)
{
    void *other = NULL;
    say("create", driver("cuCtxCreate_v2", &other, NULL, NULL));
    data = memory();
    use(NULL);
    say("pop", driver("cuCtxPopCurrent_v2", &other, NULL, NULL));
}

static void use_many(void)
{
    int code = 0;
    for (int i = 0; i < 1000; i++) code |= launch_on("a", made());
    say("many", code);
}

static void fork_child(void)
{
    fflush(stdout);
    pid_t child = fork();
    if (!child) exit(0);
    waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "default", *way = argc > 2 ? argv[2] : "";
    data = memory();
    stream_t stream = made(), captured = made();
    if (!strcmp(how, "default")) use(NULL);
    if (!strcmp(how, "capture")) say("begin", cudaStreamBeginCapture(captured, GLOBAL));
    if (!strcmp(how, "capture")) say("captured a", launch_on("a", captured));
    if (strstr("own destroyed capture asked child", how)) use(stream);
    if (!strcmp(how, "destroyed")) say("destroy", cudaStreamDestroy(stream));
    if (!strcmp(how, "thread")) use_in_thread();
    if (!strcmp(how, "context")) use_context();
    if (!strcmp(how, "many")) use_many();
    if (!strcmp(how, "asked")) say("sync", cudaStreamSynchronize(stream));
    if (!strcmp(how, "child")) fork_child();
    fflush(stdout);
    if (!strcmp(way, "_exit")) _exit(0);
    if (!strcmp(way, "quick_exit")) quick_exit(0);
    return 0;
}
