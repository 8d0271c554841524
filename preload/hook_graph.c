// hook_graph.c - kernels that reach the driver as nodes of a graph.
#include "record.h"

#define CALLER __builtin_return_address(0)

CUresult cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                              const CUDA_KERNEL_NODE_PARAMS *params)
{
    CUresult r = nk_real.cuGraphAddKernelNode(node, graph, dependencies, count, params);
    if (r) nk_record_graph(NK_cuGraphAddKernelNode, params ? params->func : NULL, NULL, r, CALLER);
    return r;
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                                 const CUDA_KERNEL_NODE_PARAMS *params)
{
    CUresult r = nk_real.cuGraphAddKernelNode_v2(node, graph, dependencies, count, params);
    const void *kernel = !params ? NULL : params->func ? (const void *)params->func : (const void *)params->kern;
    if (r) nk_record_graph(NK_cuGraphAddKernelNode_v2, kernel, NULL, r, CALLER);
    return r;
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    CUresult r = nk_real.cuGraphLaunch(exec, stream);
    if (r) nk_record_graph(NK_cuGraphLaunch, NULL, stream, r, CALLER);
    return r;
}

CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream)
{
    CUresult r = nk_real.cuGraphLaunch_ptsz(exec, stream);
    if (r) nk_record_graph(NK_cuGraphLaunch_ptsz, NULL, stream, r, CALLER);
    return r;
}
