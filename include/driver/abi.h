// abi.h - the CUDA driver's and runtime's types, as far as an interposer touches them.
//
// Our own minimal declarations, so that nothing of NVIDIA's is needed to build: handles are opaque pointers, enums are
// ints, structs are declared only up to the last member that is read. `make check-abi` compares this file and
// entries.def with cuda.h and cuda_runtime_api.h where they are installed.
#ifndef NK_DRIVER_ABI_H
#define NK_DRIVER_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef int CUresult;    // driver: 0 is success (results.def)
typedef int cudaError_t; // runtime: the same numbers
typedef int CUdevice;    // ordinal
typedef uint64_t CUdeviceptr;
typedef uint64_t cuuint64_t;

typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUlib_st *CUlibrary;
typedef struct CUkern_st *CUkernel;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef CUstream cudaStream_t;
typedef CUkernel cudaKernel_t;

typedef struct {
    unsigned char bytes[16];
} CUuuid;

// dim3 is passed by value: 12 bytes in two registers, as in the runtime's own ABI.
typedef struct {
    unsigned x, y, z;
} nk_dim3;

// CUlaunchConfig (cuLaunchKernelEx, 11.6) up to what is read.
typedef struct {
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
    CUstream stream;
    const void *attributes;
    unsigned attribute_count;
} CUlaunchConfig;

// CUDA_KERNEL_NODE_PARAMS: v1 ends at `extra`; v2 (12.0) goes on with kern and ctx. Only `func` and `kern` are read.
typedef struct {
    CUfunction func;
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
    void **params;
    void **extra;
    CUkernel kern; // v2 only: used when func is NULL
    CUcontext ctx; // v2 only
} CUDA_KERNEL_NODE_PARAMS;

// CUgraphNodeParams (cuGraphAddNode, 12.2) up to what is read.
typedef struct {
    int type, reserved[3];
    union {
        CUDA_KERNEL_NODE_PARAMS kernel;
        CUgraph graph;
        struct { // CUDA_CONDITIONAL_NODE_PARAMS
            uint64_t handle;
            int type;
            unsigned size;
            CUgraph *bodies; // the driver's own array, filled when the node was added; lives as long as the node
            CUcontext ctx;
        } conditional;
    };
} CUgraphNodeParams;
enum { NK_NODE_KERNEL = 0, NK_NODE_GRAPH = 4, NK_NODE_CONDITIONAL = 13 }; // CUgraphNodeType

enum { // CUdevice_attribute
    NK_ATTR_PCI_BUS = 33,
    NK_ATTR_PCI_DEVICE = 34,
    NK_ATTR_INTEGRATED = 18,
    NK_ATTR_PCI_DOMAIN = 50,
    NK_ATTR_CC_MAJOR = 75,
    NK_ATTR_CC_MINOR = 76,
    NK_ATTR_STREAM_MEM_OPS_V1 = 92, // whether cuStreamWriteValue32 of before 11.7 may be used
};
enum { NK_LOADING_EAGER = 1, NK_LOADING_LAZY = 2 };                            // CUmoduleLoadingMode (11.7)
enum { NK_CAPTURE_GLOBAL = 0, NK_CAPTURE_THREAD = 1, NK_CAPTURE_RELAXED = 2 }; // CUstreamCaptureMode
enum { NK_CAPTURE_NONE = 0 };                                                  // CUstreamCaptureStatus

// The results that mean "there is no usable image" or belong to its neighbours.
enum {
    NK_CUDA_SUCCESS = 0,
    NK_CUDA_INVALID_VALUE = 1,
    NK_CUDA_OUT_OF_MEMORY = 2,
    NK_CUDA_NOT_INITIALIZED = 3,
    NK_CUDA_INVALID_DEVICE_FUNCTION = 98,
    NK_CUDA_NO_DEVICE = 100,
    NK_CUDA_INVALID_IMAGE = 200,
    NK_CUDA_NO_BINARY_FOR_GPU = 209,
    NK_CUDA_INVALID_PTX = 218,
    NK_CUDA_JIT_COMPILER_NOT_FOUND = 221,
    NK_CUDA_UNSUPPORTED_PTX_VERSION = 222,
    NK_CUDA_JIT_COMPILATION_DISABLED = 223,
    NK_CUDA_UNSUPPORTED_DEVSIDE_SYNC = 225,
    NK_CUDA_INSUFFICIENT_LOADER = 227,
    NK_CUDA_INVALID_SOURCE = 300,
    NK_CUDA_INVALID_HANDLE = 400,
    NK_CUDA_NOT_FOUND = 500,
    NK_CUDA_NOT_READY = 600,
    NK_CUDA_NOT_SUPPORTED = 801,
    NK_CUDA_CAPTURE_INVALIDATED = 901,
    NK_CUDA_CAPTURE_UNJOINED = 904,
};

#endif
