// hook_graph.c - kernels that reach the driver as nodes of a graph, and the captures that make graphs.
//
// What an executable graph launches is noted when it is made and whenever it is changed (record_graph.c), because the
// graph that it was made from may be gone when a launch fails. A launch of a graph is pinned as one of a kernel is.
#include "record.h"
#include "wait.h"

#define CALLER __builtin_return_address(0)

// ---- building graphs

static const void *kernel_of(const CUDA_KERNEL_NODE_PARAMS *params, bool second)
{
    if (!params) return NULL;
    return params->func || !second ? (const void *)params->func : (const void *)params->kern;
}

CUresult cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                              const CUDA_KERNEL_NODE_PARAMS *params)
{
    CUresult r = nk_real.cuGraphAddKernelNode(node, graph, dependencies, count, params);
    if (r) nk_record_graph(NK_cuGraphAddKernelNode, kernel_of(params, false), r, CALLER);
    return r;
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                                 const CUDA_KERNEL_NODE_PARAMS *params)
{
    CUresult r = nk_real.cuGraphAddKernelNode_v2(node, graph, dependencies, count, params);
    if (r) nk_record_graph(NK_cuGraphAddKernelNode_v2, kernel_of(params, true), r, CALLER);
    return r;
}

// A node of any kind. The bodies of a conditional one are told here and nowhere else.
static CUresult added(enum nk_entry_id api, CUgraphNode *node, const CUgraphNodeParams *params, CUresult r,
                      const void *caller)
{
    if (!params) return r;
    if (r && params->type == NK_NODE_KERNEL) nk_record_graph(api, kernel_of(&params->kernel, true), r, caller);
    if (!r && node && params->type == NK_NODE_CONDITIONAL)
        nk_record_graph_bodies(*node, params->conditional.bodies, params->conditional.size);
    return r;
}

CUresult cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                        CUgraphNodeParams *params)
{
    CUresult r = nk_real.cuGraphAddNode(node, graph, dependencies, count, params);
    return added(NK_cuGraphAddNode, node, params, r, CALLER);
}

CUresult cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, const void *edges,
                           size_t count, CUgraphNodeParams *params)
{
    CUresult r = nk_real.cuGraphAddNode_v2(node, graph, dependencies, edges, count, params);
    return added(NK_cuGraphAddNode_v2, node, params, r, CALLER);
}

// ---- executable graphs: made, changed, gone

CUresult cuGraphInstantiate(CUgraphExec *exec, CUgraph graph, CUgraphNode *error_node, char *log, size_t size)
{
    CUresult r = nk_real.cuGraphInstantiate(exec, graph, error_node, log, size);
    if (!r) nk_record_graph_made(*exec, graph);
    return r;
}

CUresult cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph, CUgraphNode *error_node, char *log, size_t size)
{
    CUresult r = nk_real.cuGraphInstantiate_v2(exec, graph, error_node, log, size);
    if (!r) nk_record_graph_made(*exec, graph);
    return r;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
    CUresult r = nk_real.cuGraphInstantiateWithFlags(exec, graph, flags);
    if (!r) nk_record_graph_made(*exec, graph);
    return r;
}

CUresult cuGraphInstantiateWithParams(CUgraphExec *exec, CUgraph graph, void *params)
{
    CUresult r = nk_real.cuGraphInstantiateWithParams(exec, graph, params);
    if (!r) nk_record_graph_made(*exec, graph);
    return r;
}

CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec *exec, CUgraph graph, void *params)
{
    CUresult r = nk_real.cuGraphInstantiateWithParams_ptsz(exec, graph, params);
    if (!r) nk_record_graph_made(*exec, graph);
    return r;
}

CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *error_node, int *how)
{
    CUresult r = nk_real.cuGraphExecUpdate(exec, graph, error_node, how);
    if (!r) nk_record_graph_updated(exec, graph);
    return r;
}

CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, void *info)
{
    CUresult r = nk_real.cuGraphExecUpdate_v2(exec, graph, info);
    if (!r) nk_record_graph_updated(exec, graph);
    return r;
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params)
{
    CUresult r = nk_real.cuGraphExecKernelNodeSetParams(exec, node, params);
    if (!r) nk_record_graph_kernel(exec, node, kernel_of(params, false));
    return r;
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params)
{
    CUresult r = nk_real.cuGraphExecKernelNodeSetParams_v2(exec, node, params);
    if (!r) nk_record_graph_kernel(exec, node, kernel_of(params, true));
    return r;
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child)
{
    CUresult r = nk_real.cuGraphExecChildGraphNodeSetParams(exec, node, child);
    if (!r) nk_record_graph_child(exec, node, child);
    return r;
}

CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params)
{
    CUresult r = nk_real.cuGraphExecNodeSetParams(exec, node, params);
    if (!r && params->type == NK_NODE_KERNEL) nk_record_graph_kernel(exec, node, kernel_of(&params->kernel, true));
    if (!r && params->type == NK_NODE_GRAPH) nk_record_graph_child(exec, node, params->graph);
    return r;
}

CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned enabled)
{
    CUresult r = nk_real.cuGraphNodeSetEnabled(exec, node, enabled);
    if (!r) nk_record_graph_enabled(exec, node, enabled);
    return r;
}

CUresult cuGraphExecDestroy(CUgraphExec exec)
{
    CUresult r = nk_real.cuGraphExecDestroy(exec);
    if (!r) nk_record_graph_gone(exec);
    return r;
}

// ---- captures

CUresult cuStreamBeginCapture(CUstream stream)
{
    nk_wait_capture_begins();
    return nk_wait_capture_begun(stream, false, nk_real.cuStreamBeginCapture(stream));
}

CUresult cuStreamBeginCapture_ptsz(CUstream stream)
{
    nk_wait_capture_begins();
    return nk_wait_capture_begun(stream, true, nk_real.cuStreamBeginCapture_ptsz(stream));
}

CUresult cuStreamBeginCapture_v2(CUstream stream, int mode)
{
    nk_wait_capture_begins();
    return nk_wait_capture_begun(stream, false, nk_real.cuStreamBeginCapture_v2(stream, mode));
}

CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, int mode)
{
    nk_wait_capture_begins();
    return nk_wait_capture_begun(stream, true, nk_real.cuStreamBeginCapture_v2_ptsz(stream, mode));
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode *before, const void *edges,
                                     size_t count, int mode)
{
    nk_wait_capture_begins();
    return nk_wait_capture_begun(stream, false,
                                 nk_real.cuStreamBeginCaptureToGraph(stream, graph, before, edges, count, mode));
}

CUresult cuStreamBeginCaptureToGraph_ptsz(CUstream stream, CUgraph graph, const CUgraphNode *before, const void *edges,
                                          size_t count, int mode)
{
    nk_wait_capture_begins();
    return nk_wait_capture_begun(stream, true,
                                 nk_real.cuStreamBeginCaptureToGraph_ptsz(stream, graph, before, edges, count, mode));
}

CUresult cuStreamBeginRecaptureToGraph(CUstream stream, int mode, CUgraph graph, void *callback, void *data)
{
    nk_wait_capture_begins();
    return nk_wait_capture_begun(stream, false,
                                 nk_real.cuStreamBeginRecaptureToGraph(stream, mode, graph, callback, data));
}

CUresult cuStreamBeginRecaptureToGraph_ptsz(CUstream stream, int mode, CUgraph graph, void *callback, void *data)
{
    nk_wait_capture_begins();
    return nk_wait_capture_begun(stream, true,
                                 nk_real.cuStreamBeginRecaptureToGraph_ptsz(stream, mode, graph, callback, data));
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    return nk_wait_capture_ended(stream, false, nk_real.cuStreamEndCapture(stream, graph));
}

CUresult cuStreamEndCapture_ptsz(CUstream stream, CUgraph *graph)
{
    return nk_wait_capture_ended(stream, true, nk_real.cuStreamEndCapture_ptsz(stream, graph));
}

// ---- launches

static CUresult launched(enum nk_entry_id api, CUgraphExec exec, CUstream stream, bool per_thread, CUresult r,
                         const void *caller)
{
    bool gave_up = false;
    if (r) {
        nk_record_graph_failed(api, exec, stream, r, NK_PINNED_RETURNED, caller);
        return r;
    }
    if (__builtin_expect(nk_graphs_new != 0, 0)) nk_record_graph_ran(exec);
    int pin = atomic_load_explicit(&nk_pin, memory_order_relaxed);
    if (pin == NK_PIN_TRAIL) nk_record_graph_launched(exec, stream, per_thread);
    if (pin != NK_PIN_LAUNCH) return r;
    r = nk_wait_stream(stream, per_thread, &gave_up);
    if (gave_up) nk_record_gave_up(NULL);
    if (r) nk_record_graph_failed(api, exec, stream, r, NK_PINNED_SYNCHRONISED, caller);
    return r;
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    CUresult r = nk_real.cuGraphLaunch(exec, stream);
    return launched(NK_cuGraphLaunch, exec, stream, false, r, CALLER);
}

CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream)
{
    CUresult r = nk_real.cuGraphLaunch_ptsz(exec, stream);
    return launched(NK_cuGraphLaunch_ptsz, exec, stream, true, r, CALLER);
}
