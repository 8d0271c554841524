// hook_wait.c - calls that wait until the GPU has done what it was given: an error that they return belongs to earlier
// work, and their success says that earlier work has ended (trail.h).
//
// Only what the driver's manual promises: a stream that was waited for, or that was asked and has nothing left to do,
// and all streams of a context. A copy that blocks promises less: of how many bytes, between which memories.
#include "record.h"
#include "trail.h"

#define CALLER __builtin_return_address(0)

static inline void begin(struct nk_trail_wait *wait, CUstream stream, bool per_thread)
{
    wait->count = 0;
    if (atomic_load_explicit(&nk_pin, memory_order_relaxed) == NK_PIN_TRAIL)
        nk_trail_wait_stream(wait, stream, per_thread);
}

static inline void begin_all(struct nk_trail_wait *wait, CUcontext context)
{
    wait->count = 0;
    if (atomic_load_explicit(&nk_pin, memory_order_relaxed) == NK_PIN_TRAIL) nk_trail_wait_context(wait, context);
}

static inline CUresult end(const struct nk_trail_wait *wait, enum nk_entry_id api, CUstream stream, CUresult r,
                           const void *caller)
{
    if (__builtin_expect(r != NK_CUDA_SUCCESS, 0))
        nk_record_wait(api, stream, r, caller);
    else if (wait->count)
        nk_trail_waited(wait);
    nk_record_may_copy();
    return r;
}

CUresult cuCtxSynchronize(void)
{
    struct nk_trail_wait wait;
    begin_all(&wait, NULL);
    return end(&wait, NK_cuCtxSynchronize, NULL, nk_real.cuCtxSynchronize(), CALLER);
}

CUresult cuCtxSynchronize_v2(CUcontext context)
{
    struct nk_trail_wait wait;
    begin_all(&wait, context);
    return end(&wait, NK_cuCtxSynchronize_v2, NULL, nk_real.cuCtxSynchronize_v2(context), CALLER);
}

CUresult cuStreamSynchronize(CUstream stream)
{
    struct nk_trail_wait wait;
    begin(&wait, stream, false);
    return end(&wait, NK_cuStreamSynchronize, stream, nk_real.cuStreamSynchronize(stream), CALLER);
}

CUresult cuStreamSynchronize_ptsz(CUstream stream)
{
    struct nk_trail_wait wait;
    begin(&wait, stream, true);
    return end(&wait, NK_cuStreamSynchronize_ptsz, stream, nk_real.cuStreamSynchronize_ptsz(stream), CALLER);
}

CUresult cuStreamQuery(CUstream stream)
{
    struct nk_trail_wait wait;
    begin(&wait, stream, false);
    return end(&wait, NK_cuStreamQuery, stream, nk_real.cuStreamQuery(stream), CALLER);
}

CUresult cuStreamQuery_ptsz(CUstream stream)
{
    struct nk_trail_wait wait;
    begin(&wait, stream, true);
    return end(&wait, NK_cuStreamQuery_ptsz, stream, nk_real.cuStreamQuery_ptsz(stream), CALLER);
}
