// launches_graph.c - makes a graph of kernels a and b in some way, launches it, and waits:
//   nodes        two nodes a, one b
//   destroyed    the same, and the graph is destroyed before its executable is launched
//   child        a, and a child graph that holds b twice
//   set          two nodes a, of which one becomes b in the executable graph
//   update       one node a, then the executable takes over a graph of one node b
//   fork         captured from two streams, which an event joins: a, and b beside it
//   nested       a graph that holds b, launched into the capture of another one, after a
//   one          three nodes b
//   conditional  a, and b in the body of a conditional node (the runtime's function is looked for; 12.4's signature)
#define _GNU_SOURCE
#include "graph.h"

#include <dlfcn.h>
#include <stdint.h>

static stream_t stream;

static exec_t executable(graph_t graph)
{
    exec_t exec = NULL;
    say("instantiate", cudaGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
}

static void add_kernels(graph_t graph, const char *names)
{
    for (; *names; names++) add_kernel(graph, names);
}

static exec_t with_child(graph_t graph)
{
    graph_t child = NULL;
    node_t node;
    cudaGraphCreate(&child, 0);
    add_kernels(child, "bb");
    add_kernel(graph, "a");
    say("child", cudaGraphAddChildGraphNode(&node, graph, NULL, 0, child));
    return executable(graph);
}

static exec_t with_change(graph_t graph)
{
    void *args[] = {&data};
    node_t node = add_kernel(graph, "a");
    add_kernel(graph, "a");
    exec_t exec = executable(graph);
    struct node_params params = {host_b, {1, 1, 1}, {1, 1, 1}, 0, args, NULL};
    say("set", cudaGraphExecKernelNodeSetParams(exec, node, &params));
    return exec;
}

// The third and the fourth parameter are one in 12 and later: where more is told about the result.
static exec_t with_update(graph_t graph)
{
    static void *told[4], *more[4];
    int (*update)(exec_t, graph_t, void *, void *) =
        (int (*)(exec_t, graph_t, void *, void *))dlsym(RTLD_DEFAULT, "cudaGraphExecUpdate");
    graph_t other = NULL;
    add_kernel(graph, "a");
    exec_t exec = executable(graph);
    cudaGraphCreate(&other, 0);
    add_kernel(other, "b");
    say("update", update ? update(exec, other, told, more) : -1);
    return exec;
}

static exec_t with_fork(graph_t graph)
{
    stream_t beside;
    event_t out, back;
    cudaStreamCreateWithFlags(&beside, NON_BLOCKING);
    cudaEventCreateWithFlags(&out, 2);
    cudaEventCreateWithFlags(&back, 2);
    say("begin", cudaStreamBeginCapture(stream, GLOBAL));
    say("fork", cudaEventRecord(out, stream));
    say("join", cudaStreamWaitEvent(beside, out, 0));
    say("a", launch_on("a", stream));
    say("b", launch_on("b", beside));
    cudaEventRecord(back, beside);
    cudaStreamWaitEvent(stream, back, 0);
    say("end", cudaStreamEndCapture(stream, &graph));
    return executable(graph);
}

static exec_t nested(graph_t graph)
{
    add_kernel(graph, "b");
    exec_t inner = executable(graph);
    say("begin", cudaStreamBeginCapture(stream, THREAD));
    say("a", launch_on("a", stream));
    say("inner", cudaGraphLaunch(inner, stream));
    say("end", cudaStreamEndCapture(stream, &graph));
    return executable(graph);
}

static exec_t conditional(graph_t graph)
{
    struct {
        int type, reserved[3];
        uint64_t handle;
        int kind;
        unsigned size;
        graph_t *bodies;
        long long padding[27];
    } params = {.type = 13, .kind = 0, .size = 1};
    void *create = dlsym(RTLD_DEFAULT, "cudaGraphConditionalHandleCreate"),
         *add = dlsym(RTLD_DEFAULT, "cudaGraphAddNode");
    node_t node;
    add_kernel(graph, "a");
    if (!create || !add) return executable(graph);
    say("handle", ((int (*)(uint64_t *, graph_t, unsigned, unsigned))create)(&params.handle, graph, 1, 1));
    say("conditional",
        ((int (*)(node_t *, graph_t, const node_t *, size_t, void *))add)(&node, graph, NULL, 0, &params));
    add_kernel(params.bodies[0], "b");
    return executable(graph);
}

static exec_t make(const char *how, graph_t graph)
{
    if (!strcmp(how, "child")) return with_child(graph);
    if (!strcmp(how, "set")) return with_change(graph);
    if (!strcmp(how, "update")) return with_update(graph);
    if (!strcmp(how, "fork")) return with_fork(graph);
    if (!strcmp(how, "nested")) return nested(graph);
    if (!strcmp(how, "conditional")) return conditional(graph);
    add_kernels(graph, !strcmp(how, "one") ? "bbb" : "aab");
    exec_t exec = executable(graph);
    if (!strcmp(how, "destroyed")) say("destroy", cudaGraphDestroy(graph));
    return exec;
}

int main(int argc, char **argv)
{
    graph_t graph = NULL;
    data = memory();
    say("stream", cudaStreamCreateWithFlags(&stream, NON_BLOCKING));
    say("create", cudaGraphCreate(&graph, 0));
    exec_t exec = make(argc > 1 ? argv[1] : "nodes", graph);
    for (int i = 0; i < 2; i++) say("launch", cudaGraphLaunch(exec, stream));
    say("sync", cudaStreamSynchronize(stream));
    return 0;
}
