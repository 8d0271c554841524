// record_graph.c - which kernels an executable graph launches, and failures of graphs.
//
// An executable graph is a copy: the graph that it was made from may be changed or destroyed at once. So its kernel
// nodes are noted when it is made; later changes name a node by its handle in the graph that it was made from. The
// driver is asked without the lock.
#define _GNU_SOURCE
#include "core.h"

#include "trail.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_NODES = 1 << 20, MOST_DEPTH = 16 };

struct node {
    CUgraphNode node, outer; // outer: the node of the outermost graph that it is in; `node` itself there
    const void *function;
    struct nk_kernel *kernel; // of `function`; NULL until the lock is held
    bool off;                 // cuGraphNodeSetEnabled
};

struct exec {
    struct node *nodes; // of kernels only
    size_t count, room;
    struct nk_graph *graph;  // what follows from the nodes; NULL: to be made again
    bool counted;            // its kernels count as launched
    struct nk_table by_node; // node -> its place in `nodes`, from 1; made when it is first needed
};

// Guarded by the lock.
static struct nk_table execs;  // CUgraphExec -> struct exec
static struct nk_table bodies; // CUgraphNode of a conditional -> struct bodies
static struct nk_table graphs; // hash of the kernels -> struct nk_graph
_Atomic unsigned nk_graphs_new;
struct bodies {
    const CUgraph *graph;
    unsigned count;
};

static bool is_on(void) { return !nk_thread.inside && !nk_core.off && !nk_core.finished; }

// ---- noting the nodes

static bool add_node(struct exec *exec, struct node node)
{
    if (exec->count == exec->room) {
        size_t room = exec->room ? exec->room * 2 : 64;
        struct node *more = room > MOST_NODES ? NULL : realloc(exec->nodes, room * sizeof *more);
        if (!more) return false;
        exec->nodes = more;
        exec->room = room;
    }
    exec->nodes[exec->count++] = node;
    return true;
}

static const void *kernel_of(CUgraphNode node)
{
    CUDA_KERNEL_NODE_PARAMS params = {0};
    CUresult r = nk_real.cuGraphKernelNodeGetParams_v2(node, &params);
    if (r == NK_CUDA_NOT_FOUND) r = nk_real.cuGraphKernelNodeGetParams(node, &params);
    if (r) return NULL;
    return params.func ? (const void *)params.func : (const void *)params.kern;
}

static struct bodies bodies_of(CUgraphNode node)
{
    int saved;
    struct bodies found = {0};
    if (!nk_enter(&saved)) return found;
    const struct bodies *known = nk_table_get(&bodies, (uintptr_t)node);
    if (known) found = *known;
    nk_leave(saved);
    return found;
}

static void walk(struct exec *exec, CUgraph graph, CUgraphNode outer, int depth);

static void walk_node(struct exec *exec, CUgraphNode node, CUgraphNode outer, int depth)
{
    int type = -1;
    CUgraph child = NULL;
    if (nk_real.cuGraphNodeGetType(node, &type)) return;
    if (type == NK_NODE_KERNEL) add_node(exec, (struct node){node, outer, kernel_of(node), NULL, false});
    if (type == NK_NODE_GRAPH && !nk_real.cuGraphChildGraphNodeGetGraph(node, &child))
        walk(exec, child, outer, depth + 1);
    struct bodies inner = type == NK_NODE_CONDITIONAL ? bodies_of(node) : (struct bodies){0};
    for (unsigned i = 0; i < inner.count; i++) walk(exec, inner.graph[i], outer, depth + 1);
}

// `outer`: the node of the outermost graph that `graph` is inside of, or NULL.
static void walk(struct exec *exec, CUgraph graph, CUgraphNode outer, int depth)
{
    size_t count = 0;
    if (depth > MOST_DEPTH || nk_real.cuGraphGetNodes(graph, NULL, &count) || !count || count > MOST_NODES) return;
    CUgraphNode *nodes = calloc(count, sizeof *nodes);
    if (nodes && !nk_real.cuGraphGetNodes(graph, nodes, &count))
        for (size_t i = 0; i < count; i++) walk_node(exec, nodes[i], outer ? outer : nodes[i], depth);
    free(nodes);
}

// ---- with the lock held

static void free_exec(struct exec *exec)
{
    if (exec) {
        nk_table_free(&exec->by_node);
        free(exec->nodes);
    }
    free(exec);
}

// It holds kernels that were not in it when it was last launched, if it was.
static void has_new(struct exec *exec)
{
    exec->graph = NULL;
    if (exec->counted) nk_graphs_new++;
    exec->counted = false;
}

static void drop(CUgraphExec handle)
{
    struct exec *exec = nk_table_remove(&execs, (uintptr_t)handle);
    if (exec && !exec->counted) nk_graphs_new--;
    free_exec(exec);
}

static void know_kernel(struct node *node)
{
    node->kernel = node->function ? nk_kernel_of(node->function) : NULL;
    if (!node->kernel && node->function) node->kernel = nk_core_adopt(node->function);
}

static void know_kernels(struct exec *exec)
{
    for (size_t i = 0; i < exec->count; i++) know_kernel(&exec->nodes[i]);
    has_new(exec);
}

// The kernel node of that handle; what the graph launches is then to be summed up again. NULL: not known.
static struct node *node_to_change(CUgraphExec handle, CUgraphNode node)
{
    struct exec *exec = nk_table_get(&execs, (uintptr_t)handle);
    if (!exec) return NULL;
    for (size_t i = 0; !exec->by_node.count && i < exec->count; i++)
        nk_table_put(&exec->by_node, (uintptr_t)exec->nodes[i].node, (void *)(i + 1));
    uintptr_t place = (uintptr_t)nk_table_get(&exec->by_node, (uintptr_t)node);
    exec->graph = NULL;
    return place ? &exec->nodes[place - 1] : NULL;
}

// Each kernel once, with its nodes counted.
static struct nk_graph *sum_up(const struct exec *exec)
{
    struct nk_table places = {0}; // kernel -> its place in the list, from 1
    struct nk_graph *graph = calloc(1, sizeof *graph + exec->count * sizeof *graph->kernel);
    for (size_t i = 0; graph && i < exec->count; i++) {
        const struct node *node = &exec->nodes[i];
        if (node->off) continue;
        uintptr_t place = (uintptr_t)nk_table_get(&places, (uintptr_t)node->kernel);
        if (!place) {
            place = ++graph->count;
            graph->kernel[place - 1].kernel = node->kernel;
            nk_table_put(&places, (uintptr_t)node->kernel, (void *)place);
        }
        graph->kernel[place - 1].nodes++;
        graph->nodes++;
    }
    nk_table_free(&places);
    return graph;
}

static struct nk_graph *shared(struct nk_graph *graph)
{
    uint64_t key = nk_hash_u64(graph->nodes);
    for (uint32_t i = 0; i < graph->count; i++)
        key = nk_hash_u64(key ^ (uintptr_t)graph->kernel[i].kernel) + graph->kernel[i].nodes;
    struct nk_graph *known = nk_table_get(&graphs, key);
    if (known || nk_table_put(&graphs, key, graph)) {
        free(graph);
        return known;
    }
    return graph;
}

// What an executable graph launches now; NULL when that is not known.
static struct nk_graph *graph_of(const void *handle)
{
    struct exec *exec = nk_table_get(&execs, (uintptr_t)handle);
    if (!exec) return NULL;
    if (!exec->graph) {
        struct nk_graph *graph = sum_up(exec);
        if (graph) exec->graph = shared(graph);
    }
    return exec->graph;
}

void nk_core_graph(struct nk_graph *graph, uint32_t gpu)
{
    enum { MOST_KERNELS = 1024 };
    struct nk_rec_graph_kernel *list;
    if (!graph || graph->id) return;
    uint32_t n = graph->count < MOST_KERNELS ? graph->count : MOST_KERNELS;
    if (!(list = calloc(n + 1, sizeof *list))) return;
    for (uint32_t i = 0; i < n; i++) {
        struct nk_kernel *kernel = graph->kernel[i].kernel;
        nk_core_kernel(kernel, gpu);
        list[i] = (struct nk_rec_graph_kernel){kernel ? kernel->id : 0, graph->kernel[i].nodes};
    }
    graph->id = ++nk_core.graphs;
    struct nk_rec_graph record = {.id = graph->id, .nodes = graph->nodes, .n = n};
    nk_writer_add(&nk_core.writer, NK_REC_GRAPH, &record, sizeof record, list, n * sizeof *list);
    free(list);
}

// What the tables pointed to stays allocated: another thread of the parent may have been using it.
void nk_core_graphs_forget(void)
{
    execs = bodies = graphs = (struct nk_table){0};
    nk_graphs_new = 0;
}

// ---- what the hooks report

void nk_record_graph_bodies(CUgraphNode node, const CUgraph *graph, unsigned count)
{
    int saved;
    if (!nk_enter(&saved)) return;
    struct bodies *known = nk_table_get(&bodies, (uintptr_t)node);
    if (!known && (known = calloc(1, sizeof *known)) && nk_table_put(&bodies, (uintptr_t)node, known)) {
        free(known);
        known = NULL;
    }
    if (known) *known = (struct bodies){graph, graph ? count : 0};
    nk_leave(saved);
}

void nk_record_graph_made(CUgraphExec handle, CUgraph graph)
{
    int saved;
    if (!is_on()) return;
    struct exec *exec = calloc(1, sizeof *exec);
    if (!exec) return;
    walk(exec, graph, NULL, 0);
    if (nk_enter(&saved)) {
        know_kernels(exec);
        drop(handle);
        if (!nk_table_put(&execs, (uintptr_t)handle, exec)) {
            nk_graphs_new++;
            exec = NULL;
        }
        nk_leave(saved);
    }
    free_exec(exec);
}

// The nodes keep the handles that they are known by; the kernels are those of the new graph, which has the same shape.
void nk_record_graph_updated(CUgraphExec handle, CUgraph graph)
{
    int saved;
    struct exec new = {0};
    if (!is_on()) return;
    walk(&new, graph, NULL, 0);
    if (nk_enter(&saved)) {
        struct exec *exec = nk_table_get(&execs, (uintptr_t)handle);
        know_kernels(&new);
        for (size_t i = 0; exec && i < exec->count && i < new.count; i++) {
            exec->nodes[i].function = new.nodes[i].function;
            exec->nodes[i].kernel = new.nodes[i].kernel;
        }
        if (exec) has_new(exec);
        nk_leave(saved);
    }
    free(new.nodes);
}

void nk_record_graph_kernel(CUgraphExec handle, CUgraphNode node, const void *function)
{
    int saved;
    if (!is_on() || !nk_enter(&saved)) return;
    struct node *known = node_to_change(handle, node);
    if (known) {
        const struct nk_kernel *before = known->kernel;
        known->function = function;
        know_kernel(known);
        if (known->kernel != before) has_new(nk_table_get(&execs, (uintptr_t)handle));
    }
    nk_leave(saved);
}

void nk_record_graph_child(CUgraphExec handle, CUgraphNode node, CUgraph child)
{
    int saved;
    struct exec new = {0};
    if (!is_on()) return;
    walk(&new, child, node, 0);
    if (nk_enter(&saved)) {
        struct exec *exec = nk_table_get(&execs, (uintptr_t)handle);
        size_t at = 0;
        for (size_t i = 0; exec && i < exec->count; i++) // those of the old child go
            if (exec->nodes[i].outer != node || exec->nodes[i].node == node) exec->nodes[at++] = exec->nodes[i];
        if (exec) {
            exec->count = at;
            for (size_t i = 0; i < new.count; i++) add_node(exec, new.nodes[i]);
            know_kernels(exec);
            nk_table_free(&exec->by_node);
            exec->by_node = (struct nk_table){0};
        }
        nk_leave(saved);
    }
    free(new.nodes);
}

void nk_record_graph_enabled(CUgraphExec handle, CUgraphNode node, bool enabled)
{
    int saved;
    if (!is_on() || !nk_enter(&saved)) return;
    struct node *known = node_to_change(handle, node);
    if (known) known->off = !enabled;
    if (known && enabled) has_new(nk_table_get(&execs, (uintptr_t)handle));
    nk_leave(saved);
}

void nk_record_graph_gone(CUgraphExec handle)
{
    int saved;
    if (!nk_enter_quietly(&saved)) return;
    drop(handle);
    nk_leave(saved);
}

void nk_record_graph_ran(CUgraphExec handle)
{
    int saved;
    uint32_t gpu = nk_core_gpu_here();
    if (!nk_enter(&saved)) return;
    struct exec *exec = nk_table_get(&execs, (uintptr_t)handle);
    for (size_t i = 0; exec && !exec->counted && i < exec->count; i++) {
        struct nk_kernel *kernel = exec->nodes[i].off ? NULL : exec->nodes[i].kernel;
        nk_core_kernel(kernel, gpu);
        if (kernel && !*kernel->launches) __atomic_fetch_add(kernel->launches, 1, __ATOMIC_RELAXED);
    }
    if (exec && !exec->counted) nk_graphs_new--;
    if (exec) exec->counted = true;
    nk_leave(saved);
}

void nk_record_graph(enum nk_entry_id api, const void *function, CUresult r, const void *caller)
{
    int saved;
    uint32_t gpu = nk_core_gpu_here();
    if (!nk_enter(&saved)) return;
    if (!nk_core_comes_back(api, r, gpu, caller))
        nk_core_fail(&(struct nk_event){.kind = NK_FAILED_GRAPH,
                                        .api = api,
                                        .result = r,
                                        .kernel = nk_kernel_of(function),
                                        .caller = caller,
                                        .pinned = NK_PINNED_RETURNED,
                                        .gpu = gpu});
    nk_leave(saved);
}

void nk_record_graph_launched(CUgraphExec exec, CUstream stream, bool per_thread)
{
    int saved;
    struct nk_graph *graph = NULL;
    if (!nk_enter(&saved)) return;
    graph = graph_of(exec);
    nk_leave(saved);
    nk_trail_launched(stream, per_thread, NULL, graph);
}

void nk_record_graph_failed(enum nk_entry_id api, CUgraphExec exec, const void *stream, CUresult r,
                            enum nk_pinned pinned, const void *caller)
{
    int saved;
    if (!nk_enter(&saved)) return;
    struct nk_graph *graph = graph_of(exec);
    nk_leave(saved);
    nk_core_launch_failed((struct nk_event){.kind = NK_FAILED_GRAPH,
                                            .api = api,
                                            .result = r,
                                            .kernel = graph && graph->count == 1 ? graph->kernel[0].kernel : NULL,
                                            .graph = graph,
                                            .caller = caller,
                                            .stream = stream,
                                            .pinned = pinned});
}
