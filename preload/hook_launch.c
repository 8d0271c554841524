// hook_launch.c - launching kernels through the driver, and the pin: which launch really failed.
//
// Every launch ends in `launched`. With NOKERNEL_SYNC=off a launch that succeeds costs one look into the map of kernels
// and one count. With NOKERNEL_SYNC=launch (the default) its own stream is then waited for, so that an error of the
// kernel itself comes out of this launch and not out of an innocent later call.
#define _GNU_SOURCE
#include "record.h"

#include <errno.h>
#include <time.h>

#define CALLER __builtin_return_address(0)

static bool is_capturing(CUstream stream, bool per_thread)
{
    int status = NK_CAPTURE_NONE;
    CUresult r =
        per_thread ? nk_real.cuStreamIsCapturing_ptsz(stream, &status) : nk_real.cuStreamIsCapturing(stream, &status);
    // An error (906: the legacy stream, while another one is captured) also means: do not touch this stream. 500 comes
    // from drivers older than CUDA 10, which cannot capture.
    return r == NK_CUDA_NOT_FOUND ? false : r != NK_CUDA_SUCCESS || status != NK_CAPTURE_NONE;
}

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// Waits for a stream, but not for ever: a kernel may wait for one that the program has still to launch (NCCL on several
// GPUs of one process does), and would wait for ever for us. False when the limit is reached.
static bool drain(CUstream stream, bool per_thread, CUresult *r)
{
    uint64_t start = 0, limit = nk_pin_limit;
    for (unsigned turn = 0;; turn++) {
        *r = per_thread ? nk_real.cuStreamQuery_ptsz(stream) : nk_real.cuStreamQuery(stream);
        if (*r != NK_CUDA_NOT_READY || !limit) break;
        if (turn == 64) start = now(); // short kernels end within some tens of queries
        if (turn > 64 && now() - start > limit) return false;
        if (turn > 1000) nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    }
    if (*r == NK_CUDA_SUCCESS || *r == NK_CUDA_NOT_READY || *r == NK_CUDA_NOT_FOUND)
        *r = per_thread ? nk_real.cuStreamSynchronize_ptsz(stream) : nk_real.cuStreamSynchronize(stream);
    return true;
}

// Waits for the launch's own stream, never for the context: a device-wide wait breaks another thread's capture. In the
// relaxed mode of this thread, or a capture in global mode elsewhere would be invalidated by our waiting.
static __attribute__((cold, noinline)) CUresult wait_for(enum nk_entry_id api, CUfunction f, CUstream stream,
                                                         bool per_thread, const void *caller)
{
    int saved = errno, mode = NK_CAPTURE_RELAXED;
    CUresult r = NK_CUDA_SUCCESS;
    if (!is_capturing(stream, per_thread)) {
        bool exchanged = nk_real.cuThreadExchangeStreamCaptureMode(&mode) == NK_CUDA_SUCCESS;
        bool ended = drain(stream, per_thread, &r);
        if (!ended) r = NK_CUDA_SUCCESS;
        if (exchanged) nk_real.cuThreadExchangeStreamCaptureMode(&mode);
        if (!ended) nk_record_gave_up(f);
    }
    if (r != NK_CUDA_SUCCESS) nk_record_launch_failed(api, f, stream, r, NK_PINNED_SYNCHRONISED, caller);
    errno = saved;
    return r;
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
    if (__builtin_expect(atomic_load_explicit(&nk_pin, memory_order_relaxed), 0))
        return wait_for(api, f, stream, per_thread, caller);
    return NK_CUDA_SUCCESS;
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
