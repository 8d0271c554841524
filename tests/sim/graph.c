// graph.c - graphs: nodes, their order, and the functions that build them.
#include "capture.h"

#include <stdlib.h>
#include <string.h>

struct sim_graph *sim_graph_new(void) { return sim_new(K_GRAPH); }

static void free_node(struct sim_node *node)
{
    if (node->work.op == OP_GRAPH && sim_is(node->work.data, K_GRAPH)) sim_graph_free(node->work.data);
    if (node->work.op == OP_CONDITIONAL) sim_condition_free(node->work.data);
    free(node->depends);
    sim_delete(node);
}

void sim_graph_free(struct sim_graph *graph)
{
    pthread_mutex_lock(&sim_lock);
    for (struct sim_node *n = graph->first, *next; n; n = next) {
        next = n->next;
        free_node(n);
    }
    sim_delete(graph);
    pthread_mutex_unlock(&sim_lock);
}

struct sim_node *sim_graph_add(struct sim_graph *graph, const struct sim_work *work, struct sim_node *const *depends,
                               size_t count)
{
    struct sim_node *node = sim_new(K_NODE);
    if (!node) return NULL;
    node->graph = graph;
    node->work = *work;
    node->depends = malloc((count + 1) * sizeof *depends);
    if (node->depends && count) memcpy(node->depends, depends, count * sizeof *depends);
    node->depend_count = node->depends ? count : 0;
    pthread_mutex_lock(&sim_lock);
    *(graph->last ? &graph->last->next : &graph->first) = node;
    graph->last = node;
    graph->count++;
    pthread_mutex_unlock(&sim_lock);
    return node;
}

// Nodes are added after those that they depend on, so one walk from the youngest to the oldest would do; the list goes
// the other way, so the walk follows the dependencies.
static void reach(struct sim_node *node)
{
    if (node->reached) return;
    node->reached = true;
    for (size_t i = 0; i < node->depend_count; i++) reach(node->depends[i]);
}

bool sim_graph_all_before(struct sim_graph *graph, struct sim_node *const *ends, size_t count)
{
    bool all = true;
    for (struct sim_node *n = graph->first; n; n = n->next) n->reached = false;
    for (size_t i = 0; i < count; i++) reach(ends[i]);
    for (struct sim_node *n = graph->first; n; n = n->next) all &= n->reached;
    return all;
}

struct sim_node *sim_graph_twin(struct sim_graph *copy, const struct sim_node *node)
{
    struct sim_node *n = copy->first;
    while (n && n->origin != node) n = n->next;
    return n;
}

struct sim_graph *sim_graph_copy(struct sim_graph *graph)
{
    struct sim_graph *copy = sim_graph_new();
    if (!copy) return NULL;
    copy->original = graph;
    for (struct sim_node *n = graph->first; n; n = n->next) {
        struct sim_node *made = sim_graph_add(copy, &n->work, n->depends, n->depend_count);
        if (!made) break;
        made->origin = n;
        memcpy(made->params, n->params, sizeof n->params);
        if (n->work.op == OP_GRAPH) made->work.data = sim_graph_copy(n->work.data);
        if (n->work.op == OP_CONDITIONAL) made->work.data = sim_condition_copy(n->work.data);
    }
    for (struct sim_node *n = copy->first; n; n = n->next)
        for (size_t i = 0; i < n->depend_count; i++) n->depends[i] = sim_graph_twin(copy, n->depends[i]);
    return copy;
}

// ---- the driver's functions
API(cuGraphCreate, CUgraph *, out, unsigned, flags)
{
    if (!out || flags != 0) return BAD_VALUE;
    *out = (CUgraph)(void *)sim_graph_new();
    return *out ? OK : NO_MEMORY;
}

API(cuGraphDestroy, CUgraph, graph)
{
    if (!sim_is(graph, K_GRAPH)) return BAD_HANDLE;
    sim_graph_free((void *)graph);
    return OK;
}

API(cuGraphClone, CUgraph *, out, CUgraph, graph)
{
    if (!sim_is(graph, K_GRAPH)) return BAD_HANDLE;
    if (!out) return BAD_VALUE;
    *out = (CUgraph)(void *)sim_graph_copy((void *)graph);
    return *out ? OK : NO_MEMORY;
}

int sim_graph_add_node(CUgraphNode *out, CUgraph graph, const CUgraphNode *depends, size_t count,
                       const struct sim_work *work, const void *params, size_t size)
{
    if (!sim_is(graph, K_GRAPH)) return BAD_HANDLE;
    if (!out || (count && !depends)) return BAD_VALUE;
    for (size_t i = 0; i < count; i++)
        if (!sim_is(depends[i], K_NODE)) return BAD_VALUE;
    struct sim_node *node = sim_graph_add((void *)graph, work, (struct sim_node *const *)(const void *)depends, count);
    if (!node) return NO_MEMORY;
    if (params) memcpy(node->params, params, size);
    *out = (CUgraphNode)(void *)node;
    return OK;
}

enum { PARAMS_V1 = 56, PARAMS_V2 = 72 };

// The kernel of a node must have an image on the device: `context` of the parameters, or the current one.
int sim_graph_kernel(const CUDA_KERNEL_NODE_PARAMS *params, bool second, struct sim_work *work)
{
    NEED_CONTEXT(context);
    struct sim_function *function;
    if (!params) return BAD_VALUE;
    if (second && params->ctx && sim_is(params->ctx, K_CONTEXT)) context = (void *)params->ctx;
    const void *handle = params->func || !second ? (const void *)params->func : (const void *)params->kern;
    *work = (struct sim_work){.op = OP_KERNEL, .function = handle};
    return sim_function(handle, context, AT_LAUNCH, &function);
}

API(cuGraphAddKernelNode, CUgraphNode *, out, CUgraph, graph, const CUgraphNode *, depends, size_t, count,
    const CUDA_KERNEL_NODE_PARAMS *, params)
{
    struct sim_work work;
    int result = sim_graph_kernel(params, false, &work);
    return result ? result : sim_graph_add_node(out, graph, depends, count, &work, params, PARAMS_V1);
}

API(cuGraphAddKernelNode_v2, CUgraphNode *, out, CUgraph, graph, const CUgraphNode *, depends, size_t, count,
    const CUDA_KERNEL_NODE_PARAMS *, params)
{
    struct sim_work work;
    int result = sim_graph_kernel(params, true, &work);
    return result ? result : sim_graph_add_node(out, graph, depends, count, &work, params, PARAMS_V2);
}

static int get_params(CUgraphNode handle, void *out, size_t size)
{
    struct sim_node *node = (void *)handle;
    if (!sim_is(node, K_NODE)) return BAD_HANDLE;
    if (!out || node->work.op != OP_KERNEL) return BAD_VALUE;
    memcpy(out, node->params, size);
    if (size == PARAMS_V2 || node->work.function) {
        // A captured node has no parameters of its own to tell; its function is known.
        CUDA_KERNEL_NODE_PARAMS *params = out;
        if (!params->func) memcpy(&params->func, &node->work.function, sizeof params->func);
    }
    return OK;
}

static int set_params(CUgraphNode handle, const CUDA_KERNEL_NODE_PARAMS *params, bool second)
{
    struct sim_node *node = (void *)handle;
    struct sim_work work;
    if (!sim_is(node, K_NODE)) return BAD_HANDLE;
    if (node->work.op != OP_KERNEL) return BAD_VALUE;
    int result = sim_graph_kernel(params, second, &work);
    if (result != OK) return result;
    node->work = work;
    memcpy(node->params, params, second ? PARAMS_V2 : PARAMS_V1);
    return OK;
}

API(cuGraphKernelNodeGetParams, CUgraphNode, node, void *, out) { return get_params(node, out, PARAMS_V1); }
API(cuGraphKernelNodeGetParams_v2, CUgraphNode, node, void *, out) { return get_params(node, out, PARAMS_V2); }
API(cuGraphKernelNodeSetParams, CUgraphNode, node, const CUDA_KERNEL_NODE_PARAMS *, params)
{
    return set_params(node, params, false);
}
API(cuGraphKernelNodeSetParams_v2, CUgraphNode, node, const CUDA_KERNEL_NODE_PARAMS *, params)
{
    return set_params(node, params, true);
}

struct memset_params { // CUDA_MEMSET_NODE_PARAMS
    CUdeviceptr to;
    size_t pitch;
    unsigned value, width;
    size_t count, height;
};
static_assert(sizeof(struct memset_params) == 40, "as in cuda.h");

API(cuGraphAddMemsetNode, CUgraphNode *, out, CUgraph, graph, const CUgraphNode *, depends, size_t, count,
    const struct memset_params *, params, CUcontext, context)
{
    (void)context;
    if (!params) return BAD_VALUE;
    struct sim_work work = {
        .op = OP_MEMSET, .to = params->to, .size = params->count, .value = params->value, .width = params->width};
    if (params->height > 1) work.op = OP_EMPTY; // fills of several rows are not replayed
    return sim_graph_add_node(out, graph, depends, count, &work, params, sizeof *params);
}

API(cuGraphAddMemcpyNode, CUgraphNode *, out, CUgraph, graph, const CUgraphNode *, depends, size_t, count, const void *,
    params, CUcontext, context)
{
    (void)context;
    struct sim_work work = {.op = OP_EMPTY}; // copies that a program puts into a graph itself are not replayed
    return params ? sim_graph_add_node(out, graph, depends, count, &work, NULL, 0) : BAD_VALUE;
}

struct host_params { // CUDA_HOST_NODE_PARAMS
    void *function, *data;
};

API(cuGraphAddHostNode, CUgraphNode *, out, CUgraph, graph, const CUgraphNode *, depends, size_t, count,
    const struct host_params *, params)
{
    if (!params || !params->function) return BAD_VALUE;
    struct sim_work work = {.op = OP_HOST, .function = params->function, .data = params->data};
    return sim_graph_add_node(out, graph, depends, count, &work, params, sizeof *params);
}

API(cuGraphAddEmptyNode, CUgraphNode *, out, CUgraph, graph, const CUgraphNode *, depends, size_t, count)
{
    return sim_graph_add_node(out, graph, depends, count, &(struct sim_work){.op = OP_EMPTY}, NULL, 0);
}

API(cuGraphAddEventRecordNode, CUgraphNode *, out, CUgraph, graph, const CUgraphNode *, depends, size_t, count, CUevent,
    event)
{
    if (!sim_is(event, K_EVENT)) return BAD_HANDLE;
    return sim_graph_add_node(out, graph, depends, count, &(struct sim_work){.op = OP_RECORD}, NULL, 0);
}

API(cuGraphAddEventWaitNode, CUgraphNode *, out, CUgraph, graph, const CUgraphNode *, depends, size_t, count, CUevent,
    event)
{
    if (!sim_is(event, K_EVENT)) return BAD_HANDLE;
    return sim_graph_add_node(out, graph, depends, count, &(struct sim_work){.op = OP_WAIT}, NULL, 0);
}

API(cuGraphAddChildGraphNode, CUgraphNode *, out, CUgraph, graph, const CUgraphNode *, depends, size_t, count, CUgraph,
    child)
{
    if (!sim_is(child, K_GRAPH)) return BAD_HANDLE;
    struct sim_work work = {.op = OP_GRAPH, .data = sim_graph_copy((void *)child)};
    return work.data ? sim_graph_add_node(out, graph, depends, count, &work, NULL, 0) : NO_MEMORY;
}

API(cuGraphChildGraphNodeGetGraph, CUgraphNode, handle, CUgraph *, out)
{
    struct sim_node *node = (void *)handle;
    if (!sim_is(node, K_NODE)) return BAD_HANDLE;
    if (!out || node->work.op != OP_GRAPH) return BAD_VALUE;
    *out = node->work.data;
    return OK;
}
