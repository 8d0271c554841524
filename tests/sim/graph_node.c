// graph_node.c - nodes of any kind by one function, and conditional nodes.
//
// cuGraphAddNode takes kernels, child graphs, empty nodes and conditionals; what else there is has functions of its
// own. Kernels do not run, so no condition ever changes: it is what its handle was created with.
#include "capture.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_HANDLES = 256 };
static unsigned defaults[MOST_HANDLES]; // by handle, which count from 1
static _Atomic unsigned handles;

API(cuGraphConditionalHandleCreate, uint64_t *, out, CUgraph, graph, CUcontext, context, unsigned, value, unsigned,
    flags)
{
    (void)context;
    enum { ASSIGN_DEFAULT = 1 };
    if (!sim_is(graph, K_GRAPH)) return BAD_HANDLE;
    if (!out) return BAD_VALUE;
    unsigned handle = atomic_fetch_add(&handles, 1) + 1;
    if (handle >= MOST_HANDLES) return NO_MEMORY;
    defaults[handle] = flags & ASSIGN_DEFAULT ? value : 0;
    *out = handle;
    return OK;
}

void *sim_condition_copy(const struct sim_condition *condition)
{
    struct sim_condition *copy = malloc(sizeof *copy);
    if (!copy) return NULL;
    *copy = *condition;
    for (unsigned i = 0; i < copy->count; i++)
        copy->bodies[i] = (CUgraph)(void *)sim_graph_copy((void *)condition->bodies[i]);
    return copy;
}

void sim_condition_free(struct sim_condition *condition)
{
    for (unsigned i = 0; condition && i < condition->count; i++)
        if (sim_is(condition->bodies[i], K_GRAPH)) sim_graph_free((void *)condition->bodies[i]);
    free(condition);
}

struct sim_graph *sim_condition_chosen(const struct sim_condition *condition)
{
    enum { IF, WHILE, SWITCH };
    unsigned index = condition->type == SWITCH ? condition->value : condition->value ? 0 : 1;
    return index < condition->count ? (void *)condition->bodies[index] : NULL;
}

// CUgraphNodeParams, as far as it is read.
struct node_params {
    int type, reserved[3];
    union {
        CUDA_KERNEL_NODE_PARAMS kernel;
        CUgraph child;
        struct {
            uint64_t handle;
            int type;
            unsigned size;
            CUgraph *out;
        } conditional;
    };
};

static int add_conditional(CUgraphNode *out, CUgraph graph, const CUgraphNode *depends, size_t count,
                           struct node_params *params)
{
    uint64_t handle = params->conditional.handle;
    unsigned size = params->conditional.size;
    if (handle == 0 || handle > handles || size == 0 || size > 8) return BAD_VALUE;
    struct sim_condition *condition = calloc(1, sizeof *condition);
    if (!condition) return NO_MEMORY;
    condition->count = size;
    condition->type = params->conditional.type;
    condition->value = defaults[handle];
    for (unsigned i = 0; i < size; i++) condition->bodies[i] = (CUgraph)(void *)sim_graph_new();
    struct sim_work work = {.op = OP_CONDITIONAL, .data = condition};
    int result = sim_graph_add_node(out, graph, depends, count, &work, NULL, 0);
    if (result != OK) sim_condition_free(condition);
    if (result == OK) params->conditional.out = condition->bodies;
    return result;
}

static int add(CUgraphNode *out, CUgraph graph, const CUgraphNode *depends, size_t count, struct node_params *params)
{
    struct sim_work work = {.op = OP_EMPTY};
    int result = OK;
    if (!params) return BAD_VALUE;
    switch (params->type) {
    case OP_KERNEL:
        result = sim_graph_kernel(&params->kernel, true, &work);
        break;
    case OP_GRAPH:
        if (!sim_is(params->child, K_GRAPH)) return BAD_HANDLE;
        work = (struct sim_work){.op = OP_GRAPH, .data = sim_graph_copy((void *)params->child)};
        break;
    case OP_EMPTY:
        break;
    case OP_CONDITIONAL:
        return add_conditional(out, graph, depends, count, params);
    default:
        return NOT_SUPPORTED;
    }
    return result ? result : sim_graph_add_node(out, graph, depends, count, &work, NULL, 0);
}

API(cuGraphAddNode, CUgraphNode *, out, CUgraph, graph, const CUgraphNode *, depends, size_t, count,
    struct node_params *, params)
{
    return add(out, graph, depends, count, params);
}
API(cuGraphAddNode_v2, CUgraphNode *, out, CUgraph, graph, const CUgraphNode *, depends, const void *, edges, size_t,
    count, struct node_params *, params)
{
    (void)edges;
    return add(out, graph, depends, count, params);
}
