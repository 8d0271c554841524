// captures_end.c - a capture that ends in one way or another, launches on its stream before and in it, and on another
// one after it: captures_end HOW
//   well          as it should
//   graph         it was begun into a graph that is there (the driver's cuStreamBeginCaptureToGraph)
//   invalidated   a wait for the whole context spoils it
//   unjoined      a stream that joined it never comes back
//   elsewhere     another stream of it, then another thread, try to end it before its own does
//   twice         it is begun a second time, which fails, and ended a second time, which fails too
//   refused       the driver refuses the begin (SIM_FAIL)
//   destroyed     its stream is destroyed
//   command       it goes to a command buffer (cuStreamBeginCaptureToCig): no function that the library knows. In the
//                 other ways it is looked up and not called, as a binding for another language does
#include "graph.h"

#include <dlfcn.h>
#include <pthread.h>

typedef int get_fn(const char *name, void **function, int version, unsigned long long flags, int *status);

static stream_t captured, other;
static graph_t graph;

static void *driver_function(const char *name, int version)
{
    void *function = NULL;
    int status;
    get_fn *get;
    *(void **)&get = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuGetProcAddress_v2");
    if (!get || get(name, &function, version, 0, &status)) return NULL;
    return function;
}

static void begin(const char *how)
{
    int (*to_graph)(stream_t, graph_t, void *, void *, size_t, int), (*to_command)(stream_t, void *);
    if (!strcmp(how, "graph")) {
        cudaGraphCreate(&graph, 0);
        *(void **)&to_graph = driver_function("cuStreamBeginCaptureToGraph", 12030);
        say("begin", to_graph(captured, graph, NULL, NULL, 0, GLOBAL));
    } else if (!strcmp(how, "command")) {
        *(void **)&to_command = driver_function("cuStreamBeginCaptureToCig", 13010);
        say("begin", to_command(captured, NULL));
    } else {
        say("begin", cudaStreamBeginCapture(captured, GLOBAL));
    }
    if (!strcmp(how, "twice")) say("begin", cudaStreamBeginCapture(captured, GLOBAL));
}

static void join_other(void)
{
    event_t event;
    cudaEventCreateWithFlags(&event, 2);
    cudaEventRecord(event, captured);
    say("join", cudaStreamWaitEvent(other, event, 0));
    say("joined", launch_on("b", other));
}

static void *end_it(void *unused)
{
    (void)unused;
    say("end", cudaStreamEndCapture(captured, &graph));
    return NULL;
}

static void end_elsewhere(void)
{
    pthread_t thread;
    join_other();
    say("end", cudaStreamEndCapture(other, &graph));
    pthread_create(&thread, NULL, end_it, NULL);
    pthread_join(thread, NULL);
}

static void end(const char *how)
{
    int (*command)(stream_t);
    if (!strcmp(how, "destroyed")) {
        say("destroy", cudaStreamDestroy(captured));
    } else if (!strcmp(how, "command")) {
        *(void **)&command = driver_function("cuStreamEndCaptureToCig", 13010);
        say("end", command(captured));
    } else {
        end_it(NULL);
        if (!strcmp(how, "twice")) end_it(NULL);
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "well";
    data = memory();
    if (strcmp(how, "command")) driver_function("cuStreamBeginCaptureToCig", 13010);
    cudaStreamCreateWithFlags(&captured, NON_BLOCKING);
    cudaStreamCreateWithFlags(&other, NON_BLOCKING);
    say("before", launch_on("a", captured));
    say("before", launch_on("b", captured));
    begin(how);
    say("in", launch_on("a", captured));
    if (!strcmp(how, "invalidated")) say("wait", cudaDeviceSynchronize());
    if (!strcmp(how, "unjoined")) join_other();
    if (!strcmp(how, "elsewhere")) end_elsewhere();
    end(how);
    cudaStreamCreateWithFlags(&other, NON_BLOCKING);
    say("after", launch_on("b", other));
    say("after", launch_on("a", other));
    say("sync", cudaStreamSynchronize(other));
    return 0;
}
