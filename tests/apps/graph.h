// graph.h - the runtime's functions about streams that are captured, and about graphs, as our programs declare them.
#ifndef GRAPH_H
#define GRAPH_H

#include "app.h"

enum { GLOBAL, THREAD, RELAXED }; // modes of a capture
enum { NON_BLOCKING = 1 };        // the stream does not wait for the default stream

typedef void *graph_t;
typedef void *exec_t;
typedef void *node_t;
typedef void *event_t;

struct node_params {
    const void *host;
    dim3 grid, block;
    unsigned shared;
    void **args, **extra;
};

int cudaEventCreateWithFlags(event_t *event, unsigned flags);
int cudaEventRecord(event_t event, stream_t stream);
int cudaGraphAddChildGraphNode(node_t *node, graph_t graph, const node_t *before, size_t count, graph_t child);
int cudaGraphAddKernelNode(node_t *node, graph_t graph, const node_t *before, size_t count, const struct node_params *);
int cudaGraphCreate(graph_t *graph, unsigned flags);
int cudaGraphDestroy(graph_t graph);
int cudaGraphExecKernelNodeSetParams(exec_t exec, node_t node, const struct node_params *params);
int cudaGraphInstantiateWithFlags(exec_t *exec, graph_t graph, unsigned long long flags);
int cudaGraphLaunch(exec_t exec, stream_t stream);
int cudaLaunchKernel(const void *host, dim3 grid, dim3 block, void **args, size_t shared, stream_t stream);
int cudaStreamBeginCapture(stream_t stream, int mode);
int cudaStreamCreateWithFlags(stream_t *stream, unsigned flags);
int cudaStreamDestroy(stream_t stream);
int cudaStreamEndCapture(stream_t stream, graph_t *graph);
int cudaStreamQuery(stream_t stream);
int cudaStreamWaitEvent(stream_t stream, event_t event, unsigned flags);

static float *data;

static inline int launch_on(const char *name, stream_t stream)
{
    void *args[] = {&data};
    return cudaLaunchKernel(kernel_named(name).host, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, stream);
}

static inline node_t add_kernel(graph_t graph, const char *name)
{
    static void *args[] = {&data};
    node_t node = NULL;
    struct node_params params = {kernel_named(name).host, {1, 1, 1}, {1, 1, 1}, 0, args, NULL};
    int code = cudaGraphAddKernelNode(&node, graph, NULL, 0, &params);
    if (code) say("add", code);
    return node;
}

#endif
