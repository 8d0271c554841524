// hook_stream.c - streams and contexts that end: what was known of their launches is put right.
//
// A context that ends takes its memory with it, so no marker of ours may be put into its streams any more; an error
// that it had cannot come back. The primary context of a GPU has one handle whenever it is made again.
#include "record.h"
#include "trail.h"

CUresult cuStreamDestroy(CUstream stream)
{
    nk_trail_stream_ending(stream);
    CUresult r = nk_real.cuStreamDestroy(stream);
    if (!r) nk_trail_stream_gone(stream);
    return r;
}

CUresult cuStreamDestroy_v2(CUstream stream)
{
    nk_trail_stream_ending(stream);
    CUresult r = nk_real.cuStreamDestroy_v2(stream);
    if (!r) nk_trail_stream_gone(stream);
    return r;
}

// `goes_on`: the call did not end the context.
static CUresult ended(CUcontext context, uint32_t gpu, bool goes_on, CUresult r)
{
    nk_trail_context_ended(context, goes_on);
    if (!goes_on) nk_record_context_ended(gpu);
    return r;
}

CUresult cuCtxDestroy(CUcontext context)
{
    nk_trail_context_ending(context);
    CUresult r = nk_real.cuCtxDestroy(context);
    return ended(context, NK_NONE, r, r);
}

CUresult cuCtxDestroy_v2(CUcontext context)
{
    nk_trail_context_ending(context);
    CUresult r = nk_real.cuCtxDestroy_v2(context);
    return ended(context, NK_NONE, r, r);
}

// ---- primary contexts

enum { MOST_GPUS = 64 };
static _Atomic(CUcontext) primary[MOST_GPUS];

// The first sign that a program is going to use a GPU.
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    CUresult r = nk_real.cuDevicePrimaryCtxRetain(context, device);
    if (r) return r;
    if (context && device >= 0 && device < MOST_GPUS) primary[device] = *context;
    nk_record_gpu(device);
    return r;
}

static CUcontext ending(CUdevice device)
{
    CUcontext context = device >= 0 && device < MOST_GPUS ? primary[device] : NULL;
    nk_trail_context_ending(context);
    return context;
}

// One release of several leaves it as it is.
static CUresult released(CUcontext context, CUdevice device, CUresult r)
{
    unsigned flags;
    int active = 1;
    bool matters = nk_pin == NK_PIN_TRAIL; // else the driver is not asked
    if (matters && !r && nk_real.cuDevicePrimaryCtxGetState(device, &flags, &active)) active = 0;
    return ended(context, (uint32_t)device, active, r);
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
    CUcontext context = ending(device);
    return released(context, device, nk_real.cuDevicePrimaryCtxRelease(device));
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    CUcontext context = ending(device);
    return released(context, device, nk_real.cuDevicePrimaryCtxRelease_v2(device));
}

CUresult cuDevicePrimaryCtxReset(CUdevice device)
{
    CUcontext context = ending(device);
    CUresult r = nk_real.cuDevicePrimaryCtxReset(device);
    return ended(context, (uint32_t)device, r, r);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    CUcontext context = ending(device);
    CUresult r = nk_real.cuDevicePrimaryCtxReset_v2(device);
    return ended(context, (uint32_t)device, r, r);
}
