// graph_exec.c - asking graphs about themselves, and running them.
#include "capture.h"

#include <string.h>

API(cuGraphNodeGetType, CUgraphNode, handle, int *, type)
{
    if (!sim_is(handle, K_NODE)) return BAD_HANDLE;
    if (!type) return BAD_VALUE;
    *type = (int)((const struct sim_node *)(const void *)handle)->work.op;
    return OK;
}

// All nodes of a graph, or only those that depend on nothing. With nodes NULL only their number is told.
static int list(CUgraph handle, CUgraphNode *nodes, size_t *count, bool roots_only)
{
    struct sim_graph *graph = (void *)handle;
    if (!sim_is(graph, K_GRAPH)) return BAD_HANDLE;
    if (!count) return BAD_VALUE;
    size_t room = nodes ? *count : 0, found = 0;
    for (struct sim_node *n = graph->first; n; n = n->next) {
        if (roots_only && n->depend_count) continue;
        if (found < room) nodes[found] = (CUgraphNode)(void *)n;
        found++;
    }
    for (size_t i = found; i < room; i++) nodes[i] = NULL;
    if (!nodes || found < room) *count = found;
    return OK;
}

API(cuGraphGetNodes, CUgraph, graph, CUgraphNode *, nodes, size_t *, count) { return list(graph, nodes, count, false); }
API(cuGraphGetRootNodes, CUgraph, graph, CUgraphNode *, nodes, size_t *, count)
{
    return list(graph, nodes, count, true);
}

static int edges(CUgraph handle, CUgraphNode *from, CUgraphNode *to, size_t *count)
{
    struct sim_graph *graph = (void *)handle;
    if (!sim_is(graph, K_GRAPH)) return BAD_HANDLE;
    if (!count) return BAD_VALUE;
    size_t room = from && to ? *count : 0, found = 0;
    for (struct sim_node *n = graph->first; n; n = n->next)
        for (size_t i = 0; i < n->depend_count; i++, found++) {
            if (found >= room) continue;
            from[found] = (CUgraphNode)(void *)n->depends[i];
            to[found] = (CUgraphNode)(void *)n;
        }
    if (!room || found < room) *count = found;
    return OK;
}

API(cuGraphGetEdges, CUgraph, graph, CUgraphNode *, from, CUgraphNode *, to, size_t *, count)
{
    return edges(graph, from, to, count);
}
API(cuGraphGetEdges_v2, CUgraph, graph, CUgraphNode *, from, CUgraphNode *, to, void *, data, size_t *, count)
{
    if (data && count) memset(data, 0, *count * 8);
    return edges(graph, from, to, count);
}

static int dependencies(CUgraphNode handle, CUgraphNode *nodes, size_t *count)
{
    struct sim_node *node = (void *)handle;
    if (!sim_is(node, K_NODE)) return BAD_HANDLE;
    if (!count) return BAD_VALUE;
    for (size_t i = 0; nodes && i < *count && i < node->depend_count; i++)
        nodes[i] = (CUgraphNode)(void *)node->depends[i];
    *count = node->depend_count;
    return OK;
}

API(cuGraphNodeGetDependencies, CUgraphNode, node, CUgraphNode *, nodes, size_t *, count)
{
    return dependencies(node, nodes, count);
}
API(cuGraphNodeGetDependencies_v2, CUgraphNode, node, CUgraphNode *, nodes, void *, data, size_t *, count)
{
    if (data && count) memset(data, 0, *count * 8);
    return dependencies(node, nodes, count);
}

// ---- executable graphs
static int instantiate(CUgraphExec *out, CUgraph handle)
{
    NEED_CONTEXT(context);
    struct sim_graph *graph = (void *)handle;
    if (!sim_is(graph, K_GRAPH)) return BAD_HANDLE;
    if (!out) return BAD_VALUE;
    struct sim_exec *exec = sim_new(K_EXEC);
    if (!exec) return NO_MEMORY;
    pthread_mutex_lock(&sim_lock);
    exec->graph = sim_graph_copy(graph);
    pthread_mutex_unlock(&sim_lock);
    exec->context = context;
    *out = (CUgraphExec)(void *)exec;
    return exec->graph ? OK : NO_MEMORY;
}

API(cuGraphInstantiateWithFlags, CUgraphExec *, out, CUgraph, graph, unsigned long long, flags)
{
    (void)flags;
    return instantiate(out, graph);
}
API(cuGraphInstantiate, CUgraphExec *, out, CUgraph, graph, CUgraphNode *, error_node, char *, text, size_t, room)
{
    if (error_node) *error_node = NULL;
    if (text && room) *text = 0;
    return instantiate(out, graph);
}
API_ALSO(cuGraphInstantiate_v2, cuGraphInstantiate, CUgraphExec *, out, CUgraph, graph, CUgraphNode *, error_node,
         char *, text, size_t, room)

struct instantiate_params { // CUDA_GRAPH_INSTANTIATE_PARAMS
    uint64_t flags;
    CUstream stream;
    CUgraphNode error_node;
    int result;
};

API_PT(cuGraphInstantiateWithParams, _ptsz, CUgraphExec *, out, CUgraph, graph, struct instantiate_params *, params)
{
    if (!params) return BAD_VALUE;
    params->error_node = NULL;
    params->result = 0;
    return instantiate(out, graph);
}

API(cuGraphExecDestroy, CUgraphExec, handle)
{
    struct sim_exec *exec = (void *)handle;
    if (!sim_is(exec, K_EXEC)) return BAD_HANDLE;
    sim_graph_free(exec->graph);
    sim_delete(exec);
    return OK;
}

API(cuGraphExecGetFlags, CUgraphExec, exec, uint64_t *, flags)
{
    if (!sim_is(exec, K_EXEC)) return BAD_HANDLE;
    if (flags) *flags = 0;
    return OK;
}

API_PT(cuGraphUpload, _ptsz, CUgraphExec, exec, CUstream, stream)
{
    NEED_CONTEXT(context);
    return sim_is(exec, K_EXEC) && sim_stream(stream) ? OK : BAD_HANDLE;
}

static int run(struct sim_graph *graph, struct sim_stream *stream)
{
    for (struct sim_node *n = graph->first; n; n = n->next) {
        struct sim_function *function;
        struct sim_graph *inner = NULL;
        int result = OK;
        // The function may have gone since: its handle is tried before anything is done.
        if (n->work.op == OP_KERNEL) result = sim_function(n->work.function, stream->context, AT_LAUNCH, &function);
        if (n->work.op == OP_KERNEL && result == OK && !n->disabled) sim_stream_kernel(stream, n->work.late);
        if (n->work.op == OP_GRAPH) inner = n->work.data;
        if (n->work.op == OP_CONDITIONAL) inner = sim_condition_chosen(n->work.data);
        if (inner) result = run(inner, stream);
        if (inner && n->work.late) sim_stream_kernel(stream, n->work.late);
        if (result != OK) return result;
        if (n->work.op != OP_KERNEL && !inner && !n->disabled) sim_stream_do(stream, &n->work);
    }
    return OK;
}

API_PT(cuGraphLaunch, _ptsz, CUgraphExec, handle, CUstream, stream_handle)
{
    NEED_CONTEXT(context);
    struct sim_exec *exec = (void *)handle;
    struct sim_stream *stream = sim_stream(stream_handle);
    if (!sim_is(exec, K_EXEC) || !stream) return BAD_HANDLE;
    bool captured;
    struct sim_work work = {.op = OP_GRAPH, .data = stream->capture ? sim_graph_copy(exec->graph) : NULL};
    int result = sim_submit(stream, &work, &captured);
    return result != OK || captured ? result : run(exec->graph, stream);
}

// The new graph takes the place of the old one if it is built alike: the same number and kinds of nodes.
static int update(CUgraphExec handle, CUgraph graph_handle, int *how)
{
    struct sim_exec *exec = (void *)handle;
    struct sim_graph *graph = (void *)graph_handle;
    if (!sim_is(exec, K_EXEC) || !sim_is(graph, K_GRAPH)) return BAD_HANDLE;
    struct sim_node *a = exec->graph->first, *b = graph->first;
    while (a && b && a->work.op == b->work.op) a = a->next, b = b->next;
    *how = a || b ? 2 : 0; // CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED
    if (*how) return 910;  // CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
    struct sim_graph *copy = sim_graph_copy(graph);
    if (!copy) return NO_MEMORY;
    sim_graph_free(exec->graph);
    exec->graph = copy;
    return OK;
}

API(cuGraphExecUpdate, CUgraphExec, exec, CUgraph, graph, CUgraphNode *, error_node, int *, how)
{
    int ignored;
    if (error_node) *error_node = NULL;
    return update(exec, graph, how ? how : &ignored);
}

struct update_info { // CUgraphExecUpdateResultInfo
    int how;
    CUgraphNode node, from;
};

API(cuGraphExecUpdate_v2, CUgraphExec, exec, CUgraph, graph, struct update_info *, info)
{
    if (!info) return BAD_VALUE;
    *info = (struct update_info){0};
    return update(exec, graph, &info->how);
}

// A change of one node of an executable graph, which is named by the node that it was made from.
static struct sim_node *node_of(CUgraphExec exec, CUgraphNode node, enum sim_op op)
{
    if (!sim_is(exec, K_EXEC) || !sim_is(node, K_NODE)) return NULL;
    struct sim_node *twin =
        sim_graph_twin(((struct sim_exec *)(void *)exec)->graph, (const struct sim_node *)(const void *)node);
    return twin && twin->work.op == op ? twin : NULL;
}

static int set_kernel(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params, bool second)
{
    struct sim_node *mine = node_of(exec, node, OP_KERNEL);
    struct sim_work work;
    if (!mine) return sim_is(exec, K_EXEC) && sim_is(node, K_NODE) ? BAD_VALUE : BAD_HANDLE;
    int result = sim_graph_kernel(params, second, &work);
    if (result == OK) mine->work = work;
    return result;
}

API(cuGraphExecKernelNodeSetParams, CUgraphExec, exec, CUgraphNode, node, const CUDA_KERNEL_NODE_PARAMS *, params)
{
    return set_kernel(exec, node, params, false);
}
API(cuGraphExecKernelNodeSetParams_v2, CUgraphExec, exec, CUgraphNode, node, const CUDA_KERNEL_NODE_PARAMS *, params)
{
    return set_kernel(exec, node, params, true);
}

API(cuGraphExecChildGraphNodeSetParams, CUgraphExec, exec, CUgraphNode, node, CUgraph, child)
{
    struct sim_node *mine = node_of(exec, node, OP_GRAPH);
    if (!mine || !sim_is(child, K_GRAPH)) return BAD_HANDLE;
    struct sim_graph *copy = sim_graph_copy((void *)child);
    if (!copy) return NO_MEMORY;
    sim_graph_free(mine->work.data);
    mine->work.data = copy;
    return OK;
}

API(cuGraphNodeSetEnabled, CUgraphExec, exec, CUgraphNode, node, unsigned, enabled)
{
    struct sim_node *mine = node_of(exec, node, OP_KERNEL);
    if (!mine) return BAD_HANDLE;
    mine->disabled = !enabled;
    return OK;
}

API(cuGraphKernelNodeCopyAttributes, CUgraphNode, to, CUgraphNode, from)
{
    return sim_is(to, K_NODE) && sim_is(from, K_NODE) ? OK : BAD_HANDLE;
}
API(cuGraphKernelNodeGetAttribute, CUgraphNode, node, int, attribute, void *, value)
{
    (void)attribute;
    if (!sim_is(node, K_NODE)) return BAD_HANDLE;
    if (!value) return BAD_VALUE;
    memset(value, 0, 64);
    return OK;
}
API(cuGraphKernelNodeSetAttribute, CUgraphNode, node, int, attribute, const void *, value)
{
    (void)attribute;
    return !sim_is(node, K_NODE) ? BAD_HANDLE : value ? OK : BAD_VALUE;
}
API(cuGraphDebugDotPrint, CUgraph, graph, const char *, path, unsigned, flags)
{
    (void)flags;
    return !sim_is(graph, K_GRAPH) ? BAD_HANDLE : path ? OK : BAD_VALUE;
}
