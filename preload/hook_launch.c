// hook_launch.c - launching kernels through the driver, and the pin: which launch really failed.
//
// Every launch ends in `launched`. With NOKERNEL_SYNC=off a launch that succeeds costs one look into the map of kernels
// and one count. With NOKERNEL_SYNC=launch (the default) its own stream is then waited for, so that an error of the
// kernel itself comes out of this launch and not out of an innocent later call. With NOKERNEL_SYNC=trail a marker is
// put behind it (trail.h), which tells later whether it had ended.
#include "record.h"
#include "trail.h"
#include "wait.h"

#define CALLER __builtin_return_address(0)

static __attribute__((noinline)) CUresult wait_for(enum nk_entry_id api, CUfunction f, CUstream stream, bool per_thread,
                                                   const void *caller)
{
    bool gave_up;
    CUresult r = nk_wait_stream(stream, per_thread, &gave_up);
    if (gave_up) nk_record_gave_up(f);
    if (r != NK_CUDA_SUCCESS) nk_record_launch_failed(api, f, stream, r, NK_PINNED_SYNCHRONISED, caller);
    return r;
}

static __attribute__((noinline)) CUresult pin_down(int pin, enum nk_entry_id api, CUfunction f, CUstream stream,
                                                   bool per_thread, const void *caller)
{
    nk_record_may_copy();
    if (pin == NK_PIN_LAUNCH) return wait_for(api, f, stream, per_thread, caller);
    nk_trail_launched(stream, per_thread, nk_kernel_of(f), NULL);
    return NK_CUDA_SUCCESS;
}

static __attribute__((cold, noinline)) CUresult failed(enum nk_entry_id api, CUfunction f, CUstream stream, CUresult r,
                                                       const void *caller)
{
    nk_record_launch_failed(api, f, stream, r, NK_PINNED_RETURNED, caller);
    return r;
}

// `per_thread`: a _ptsz entry, whose stream 0 is the thread's own default stream.
static inline __attribute__((always_inline)) CUresult launched(enum nk_entry_id api, CUfunction f, CUstream stream,
                                                               bool per_thread, CUresult r, const void *caller)
{
    if (__builtin_expect(r != NK_CUDA_SUCCESS, 0)) return failed(api, f, stream, r, caller);
    struct nk_kernel *kernel = nk_kernel_of(f);
    uint64_t *counter = kernel ? atomic_load_explicit(&kernel->launches, memory_order_acquire) : NULL;
    nk_thread.launches++;
    if (__builtin_expect(counter != NULL, 1))
        __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
    else
        nk_record_first_launch(f);
    int pin = atomic_load_explicit(&nk_pin, memory_order_relaxed);
    return __builtin_expect(pin == NK_PIN_OFF, 1) ? NK_CUDA_SUCCESS : pin_down(pin, api, f, stream, per_thread, caller);
}

CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, CUstream stream, void **params, void **extra)
{
    CUresult r = nk_real.cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
    return launched(NK_cuLaunchKernel, f, stream, false, r, CALLER);
}

CUresult cuLaunchKernel_ptsz(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                             unsigned shared, CUstream stream, void **params, void **extra)
{
    CUresult r = nk_real.cuLaunchKernel_ptsz(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
    return launched(NK_cuLaunchKernel_ptsz, f, stream, true, r, CALLER);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **params, void **extra)
{
    CUresult r = nk_real.cuLaunchKernelEx(config, f, params, extra);
    return launched(NK_cuLaunchKernelEx, f, config ? config->stream : NULL, false, r, CALLER);
}

CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction f, void **params, void **extra)
{
    CUresult r = nk_real.cuLaunchKernelEx_ptsz(config, f, params, extra);
    return launched(NK_cuLaunchKernelEx_ptsz, f, config ? config->stream : NULL, true, r, CALLER);
}

CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                   unsigned bz, unsigned shared, CUstream stream, void **params)
{
    CUresult r = nk_real.cuLaunchCooperativeKernel(f, gx, gy, gz, bx, by, bz, shared, stream, params);
    return launched(NK_cuLaunchCooperativeKernel, f, stream, false, r, CALLER);
}

CUresult cuLaunchCooperativeKernel_ptsz(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                        unsigned bz, unsigned shared, CUstream stream, void **params)
{
    CUresult r = nk_real.cuLaunchCooperativeKernel_ptsz(f, gx, gy, gz, bx, by, bz, shared, stream, params);
    return launched(NK_cuLaunchCooperativeKernel_ptsz, f, stream, true, r, CALLER);
}
