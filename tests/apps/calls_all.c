// calls_all.c - calls every driver function of entries.def at least once, and says each result: calls_all FATBIN PTX.
//
// FATBIN holds kernel a, PTX the text of one. It goes on after errors: a handle that is missing is passed on as NULL.
#include "driver/abi.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "_Z3k_aPf"

static void *driver;

static void *look_up(const char *symbol)
{
    void *function = dlsym(driver, symbol);
    if (!function) printf("no %s\n", symbol);
    return function;
}

// One function for each entry: typed, and it says what it returned.
static int say(const char *symbol, int code)
{
    printf("%s %d\n", symbol, code);
    return code;
}
#define NK_DO_DRIVER(symbol, params, args)                                                                             \
    static int do_##symbol params                                                                                      \
    {                                                                                                                  \
        CUresult(*called) params;                                                                                      \
        *(void **)&called = look_up(#symbol);                                                                          \
        return called ? say(#symbol, called args) : -1;                                                                \
    }
#define NK_DO_RUNTIME(symbol, params, args)
#define NK_ENTRY(lib, mode, result, symbol, base, since, params, args, subject) NK_DO_##lib(symbol, params, args)
#include "driver/entries.def"
#undef NK_ENTRY

static int other(const char *symbol, void *a, void *b, void *c, void *d)
{
    int (*function)(void *, void *, void *, void *);
    *(void **)&function = look_up(symbol);
    return function ? say(symbol, function(a, b, c, d)) : -1;
}

static char *whole(const char *path, size_t *size)
{
    static char bytes[2][1 << 20];
    static int file_number;
    char *to = bytes[file_number++];
    FILE *file = fopen(path, "rb");
    if (!file || !(*size = fread(to, 1, sizeof bytes[0] - 1, file))) exit(9);
    fclose(file);
    return to;
}

static CUcontext context;
static CUstream stream;

static void ask_device(void)
{
    char name[256];
    int number = 0;
    size_t bytes;
    CUuuid uuid;
    const void *table = NULL;
    void *pfn;
    static const CUuuid any = {{1}};
    other("cuInit", NULL, NULL, NULL, NULL);
    do_cuDriverGetVersion(&number);
    do_cuGetProcAddress("cuInit", &pfn, 11030, 0);
    do_cuGetProcAddress_v2("cuInit", &pfn, 12000, 0, &number);
    do_cuGetExportTable(&table, &any);
    do_cuDeviceGetAttribute(&number, NK_ATTR_CC_MAJOR, 0);
    do_cuDeviceGetName(name, sizeof name, 0);
    do_cuDeviceGetUuid(&uuid, 0);
    do_cuDeviceTotalMem_v2(&bytes, 0);
    do_cuModuleGetLoadingMode(&number);
}

static void open_context(void)
{
    int number = 0;
    CUdevice device;
    do_cuDevicePrimaryCtxRetain(&context, 0);
    do_cuCtxPushCurrent_v2(context);
    do_cuCtxPopCurrent_v2(&context);
    other("cuCtxSetCurrent", context, NULL, NULL, NULL);
    do_cuCtxGetDevice(&device);
    other("cuStreamCreate", &stream, NULL, NULL, NULL);
    do_cuStreamQuery(stream);
    do_cuStreamQuery_ptsz(stream);
    do_cuStreamIsCapturing(stream, &number);
    do_cuStreamIsCapturing_ptsz(stream, &number);
    number = NK_CAPTURE_RELAXED;
    do_cuThreadExchangeStreamCaptureMode(&number);
    // Once more with a context: an error that stays would spoil it, whoever asks.
    do_cuDriverGetVersion(&number);
    do_cuModuleGetLoadingMode(&number);
}

static void ask_function(CUfunction f)
{
    int number = 0, block = 0;
    size_t bytes;
    const char *name;
    CUlaunchConfig config = {1, 1, 1, 1, 1, 1, 0, stream, NULL, 0};
    do_cuFuncGetName(&name, f);
    do_cuFuncGetAttribute(&number, 0, f);
    do_cuFuncSetAttribute(f, 8, 0);
    do_cuOccupancyMaxActiveBlocksPerMultiprocessor(&number, f, 32, 0);
    do_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&number, f, 32, 0, 0);
    do_cuOccupancyMaxPotentialBlockSize(&number, &block, f, NULL, 0, 32);
    do_cuOccupancyMaxPotentialBlockSizeWithFlags(&number, &block, f, NULL, 0, 32, 0);
    do_cuOccupancyAvailableDynamicSMemPerBlock(&bytes, f, 1, 32);
    do_cuOccupancyMaxPotentialClusterSize(&number, f, &config);
    do_cuOccupancyMaxActiveClusters(&number, f, &config);
}

static void launch(CUfunction f)
{
    void *data = NULL, *params[] = {&data};
    CUlaunchConfig config = {1, 1, 1, 1, 1, 1, 0, stream, NULL, 0};
    do_cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL);
    do_cuLaunchKernel_ptsz(f, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL);
    do_cuLaunchKernelEx(&config, f, params, NULL);
    do_cuLaunchKernelEx_ptsz(&config, f, params, NULL);
    do_cuLaunchCooperativeKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, params);
    do_cuLaunchCooperativeKernel_ptsz(f, 1, 1, 1, 1, 1, 1, 0, stream, params);
}

// What the library asks about a graph is asked before the graph is used: an error that stays is then there in any case.
static void ask_graph(CUgraph graph, CUgraphNode kernel, CUgraphNode child)
{
    CUDA_KERNEL_NODE_PARAMS node;
    CUgraphNode nodes[8];
    CUgraph inner;
    size_t count = 8;
    int type;
    do_cuGraphGetNodes(graph, nodes, &count);
    do_cuGraphNodeGetType(kernel, &type);
    do_cuGraphKernelNodeGetParams(kernel, &node);
    do_cuGraphKernelNodeGetParams_v2(kernel, &node);
    do_cuGraphChildGraphNodeGetGraph(child, &inner);
}

static void change_graph(CUgraphExec exec, CUgraph graph, CUgraphNode kernel, CUgraphNode child, CUfunction f)
{
    void *data = NULL, *params[] = {&data}, *told[8] = {NULL};
    CUDA_KERNEL_NODE_PARAMS node = {f, 1, 1, 1, 1, 1, 1, 0, params, NULL, NULL, NULL};
    CUgraphNodeParams any = {.type = NK_NODE_KERNEL, .kernel = node};
    CUgraphNode wrong;
    CUgraph empty = NULL;
    int how;
    other("cuGraphCreate", &empty, NULL, NULL, NULL);
    do_cuGraphExecKernelNodeSetParams(exec, kernel, &node);
    do_cuGraphExecKernelNodeSetParams_v2(exec, kernel, &node);
    do_cuGraphExecNodeSetParams(exec, kernel, &any);
    do_cuGraphExecChildGraphNodeSetParams(exec, child, empty);
    do_cuGraphNodeSetEnabled(exec, kernel, 1);
    do_cuGraphExecUpdate(exec, graph, &wrong, &how);
    do_cuGraphExecUpdate_v2(exec, graph, told);
}

static void graphs(CUfunction f)
{
    void *data = NULL, *params[] = {&data}, *told[8] = {NULL};
    CUDA_KERNEL_NODE_PARAMS node = {f, 1, 1, 1, 1, 1, 1, 0, params, NULL, NULL, NULL};
    CUgraphNodeParams any = {.type = NK_NODE_KERNEL, .kernel = node};
    CUgraph graph = NULL, inner = NULL;
    CUgraphNode kernel = NULL, child = NULL, added;
    CUgraphExec exec = NULL, more = NULL;
    char text[16];
    other("cuGraphCreate", &graph, NULL, NULL, NULL);
    other("cuGraphCreate", &inner, NULL, NULL, NULL);
    do_cuGraphAddKernelNode(&added, graph, NULL, 0, &node);
    do_cuGraphAddKernelNode_v2(&kernel, graph, NULL, 0, &node);
    do_cuGraphAddNode(&added, graph, NULL, 0, &any);
    do_cuGraphAddNode_v2(&added, graph, NULL, NULL, 0, &any);
    any = (CUgraphNodeParams){.type = NK_NODE_GRAPH, .graph = inner};
    do_cuGraphAddNode(&child, graph, NULL, 0, &any);
    ask_graph(graph, kernel, child);
    do_cuGraphInstantiate(&more, graph, &added, text, sizeof text);
    do_cuGraphInstantiate_v2(&more, graph, &added, text, sizeof text);
    do_cuGraphInstantiateWithParams(&more, graph, told);
    do_cuGraphInstantiateWithParams_ptsz(&more, graph, told);
    do_cuGraphInstantiateWithFlags(&exec, graph, 0);
    do_cuGraphLaunch(exec, stream);
    do_cuGraphLaunch_ptsz(exec, stream);
    change_graph(exec, graph, kernel, child, f);
    do_cuGraphLaunch(exec, stream);
    do_cuGraphExecDestroy(exec);
}

static void capture(void)
{
    CUgraph graph = NULL;
    do_cuStreamBeginCapture(stream);
    do_cuStreamEndCapture(stream, &graph);
    do_cuStreamBeginCapture_ptsz(stream);
    do_cuStreamEndCapture_ptsz(stream, &graph);
    do_cuStreamBeginCapture_v2(stream, NK_CAPTURE_GLOBAL);
    do_cuStreamEndCapture(stream, &graph);
    do_cuStreamBeginCapture_v2_ptsz(stream, NK_CAPTURE_RELAXED);
    do_cuStreamEndCapture(stream, &graph);
    do_cuStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0, NK_CAPTURE_THREAD);
    do_cuStreamEndCapture(stream, &graph);
    do_cuStreamBeginCaptureToGraph_ptsz(stream, graph, NULL, NULL, 0, NK_CAPTURE_THREAD);
    do_cuStreamEndCapture(stream, &graph);
    do_cuStreamBeginRecaptureToGraph(stream, NK_CAPTURE_THREAD, graph, NULL, NULL);
    do_cuStreamBeginRecaptureToGraph_ptsz(stream, NK_CAPTURE_THREAD, graph, NULL, NULL);
    do_cuStreamEndCapture(stream, &graph); // no capture is open
}

static void wait_for_all(void)
{
    CUevent event = NULL;
    do_cuEventCreate(&event, 0);
    do_cuEventRecord(event, stream);
    do_cuEventRecord_ptsz(event, stream);
    do_cuEventQuery(event);
    do_cuEventSynchronize(event);
    do_cuStreamSynchronize(stream);
    do_cuStreamSynchronize_ptsz(stream);
    do_cuCtxSynchronize();
    do_cuCtxSynchronize_v2(context);
}

static void memory(void)
{
    static char page[4096] __attribute__((aligned(4096)));
    CUdeviceptr data = 0, mapped = 0;
    int number = 7;
    do_cuMemAlloc_v2(&data, 64);
    do_cuMemcpyHtoD_v2(data, &number, sizeof number);
    do_cuMemcpyHtoD_v2_ptds(data, &number, sizeof number);
    do_cuMemcpyHtoDAsync_v2(data, &number, sizeof number, stream);
    do_cuMemcpyHtoDAsync_v2_ptsz(data, &number, sizeof number, stream);
    do_cuMemcpyDtoH_v2(&number, data, sizeof number);
    do_cuMemcpyDtoH_v2_ptds(&number, data, sizeof number);
    do_cuMemcpyDtoHAsync_v2(&number, data, sizeof number, stream);
    do_cuMemcpyDtoHAsync_v2_ptsz(&number, data, sizeof number, stream);
    do_cuMemcpy(data + 8, data, sizeof number);
    do_cuMemcpy_ptds(data + 8, data, sizeof number);
    do_cuMemcpyAsync(data + 8, data, sizeof number, stream);
    do_cuMemcpyAsync_ptsz(data + 8, data, sizeof number, stream);
    do_cuMemHostRegister_v2(page, sizeof page, 3);
    do_cuMemHostGetDevicePointer_v2(&mapped, page, 0);
    do_cuStreamWriteValue32(stream, mapped, 1, 0);
    do_cuStreamWriteValue32_ptsz(stream, mapped, 2, 0);
    do_cuStreamWriteValue32_v2(stream, mapped, 3, 0);
    do_cuStreamWriteValue32_v2_ptsz(stream, mapped, 4, 0);
    do_cuMemFree_v2(data);
}

// What ends last of all.
static void close_contexts(void)
{
    CUcontext made = NULL;
    CUstream more = NULL;
    unsigned flags;
    int active;
    do_cuCtxGetCurrent(&made);
    do_cuStreamDestroy(stream);
    other("cuStreamCreate", &more, NULL, NULL, NULL);
    do_cuStreamDestroy_v2(more);
    made = NULL;
    other("cuCtxCreate_v2", &made, NULL, NULL, NULL);
    do_cuCtxDestroy(made);
    made = NULL;
    other("cuCtxCreate_v2", &made, NULL, NULL, NULL);
    do_cuCtxDestroy_v2(made);
    do_cuDevicePrimaryCtxGetState(0, &flags, &active);
    do_cuDevicePrimaryCtxReset(0);
    do_cuDevicePrimaryCtxReset_v2(0);
    do_cuDevicePrimaryCtxRelease(0);
    do_cuDevicePrimaryCtxRelease_v2(0);
}

static void modules(const char *path, char *fatbin, char *ptx)
{
    CUmodule module[4] = {NULL};
    CUfunction f = NULL;
    do_cuModuleLoad(&module[0], path);
    do_cuModuleLoadData(&module[1], ptx);
    do_cuModuleLoadDataEx(&module[2], fatbin, 0, NULL, NULL);
    do_cuModuleLoadFatBinary(&module[3], fatbin);
    do_cuModuleGetFunction(&f, module[3], NAME);
    ask_function(f);
    launch(f);
    graphs(f);
    capture();
    wait_for_all();
    for (int i = 0; i < 4; i++) do_cuModuleUnload(module[i]);
}

static void libraries(const char *path, char *fatbin)
{
    CUlibrary library[2] = {NULL};
    CUmodule module;
    CUkernel kernel = NULL, all[4];
    CUfunction f = NULL;
    const char *name;
    int number = 0;
    do_cuLibraryLoadData(&library[0], fatbin, NULL, NULL, 0, NULL, NULL, 0);
    do_cuLibraryLoadFromFile(&library[1], path, NULL, NULL, 0, NULL, NULL, 0);
    do_cuLibraryGetModule(&module, library[0]);
    do_cuLibraryEnumerateKernels(all, 1, library[0]);
    do_cuLibraryGetKernel(&kernel, library[0], NAME);
    do_cuKernelGetName(&name, kernel);
    do_cuKernelGetAttribute(&number, 0, kernel, 0);
    do_cuKernelSetAttribute(8, 0, kernel, 0);
    do_cuKernelGetFunction(&f, kernel);
    launch((CUfunction)kernel);
    launch(f);
    wait_for_all();
    do_cuLibraryUnload(library[0]);
    do_cuLibraryUnload(library[1]);
}

static void linker(const char *path, char *ptx, size_t size)
{
    void *state = NULL, *cubin = NULL;
    size_t bytes;
    do_cuLinkCreate_v2(0, NULL, NULL, &state);
    do_cuLinkAddData_v2(state, 1, ptx, size + 1, "text", 0, NULL, NULL);
    do_cuLinkAddFile_v2(state, 3, path, 0, NULL, NULL);
    do_cuLinkComplete(state, &cubin, &bytes);
    do_cuLinkDestroy(state);
}

int main(int argc, char **argv)
{
    size_t size, ptx_size;
    if (argc < 3 || !(driver = dlopen("libcuda.so.1", RTLD_NOW))) return 2;
    char *fatbin = whole(argv[1], &size), *ptx = whole(argv[2], &ptx_size);
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    ask_device();
    open_context();
    modules(argv[1], fatbin, ptx);
    libraries(argv[1], fatbin);
    linker(argv[1], ptx, ptx_size);
    memory();
    close_contexts();
    return 0;
}
