// adds_graph_nodes.c - puts kernels into a graph by hand, without a capture.
#include "app.h"

struct node {
    const void *host;
    dim3 grid, block;
    unsigned shared;
    void **args, **extra;
};
int cudaGraphCreate(void **graph, unsigned flags);
int cudaGraphAddKernelNode(void **node, void *graph, const void *before, size_t count, const struct node *params);

int main(int argc, char **argv)
{
    float *data = memory();
    void *args[] = {&data}, *graph = NULL, *node;
    say("create", cudaGraphCreate(&graph, 0));
    for (int i = 1; i < argc; i++) {
        struct node params = {kernel_named(argv[i]).host, {1, 1, 1}, {1, 1, 1}, 0, args, NULL};
        say(argv[i], cudaGraphAddKernelNode(&node, graph, NULL, 0, &params));
    }
    return 0;
}
