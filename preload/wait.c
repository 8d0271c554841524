// wait.c - waiting for the stream of a launch, and asking whether it is being captured.
#define _GNU_SOURCE
#include "wait.h"

#include "record.h"

#include <errno.h>
#include <time.h>

bool nk_wait_captured(CUstream stream, bool per_thread)
{
    int status = NK_CAPTURE_NONE;
    CUresult r =
        per_thread ? nk_real.cuStreamIsCapturing_ptsz(stream, &status) : nk_real.cuStreamIsCapturing(stream, &status);
    // An error (906: the legacy stream, while another one is captured) also means: do not touch this stream. 500 comes
    // from drivers older than CUDA 10, which cannot capture.
    return r == NK_CUDA_NOT_FOUND ? false : r != NK_CUDA_SUCCESS || status != NK_CAPTURE_NONE;
}

int nk_wait_relax(void)
{
    int mode = NK_CAPTURE_RELAXED;
    return nk_real.cuThreadExchangeStreamCaptureMode(&mode) == NK_CUDA_SUCCESS ? mode : -1;
}

void nk_wait_strict(int mode)
{
    if (mode >= 0) nk_real.cuThreadExchangeStreamCaptureMode(&mode);
}

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// Asks again and again instead of blocking in the driver. Not for ever: a kernel may wait for one that the program has
// still to launch (NCCL on several GPUs of one process does), and would wait for ever for us. And another thread may
// begin a capture meanwhile, which one more question would invalidate.
static CUresult ask(CUstream stream, bool per_thread, bool *gave_up)
{
    uint64_t start = 0, limit = nk_pin_limit;
    for (unsigned turn = 0;; turn++) {
        if (turn && nk_wait_captured(stream, per_thread)) return NK_CUDA_SUCCESS;
        CUresult r = per_thread ? nk_real.cuStreamQuery_ptsz(stream) : nk_real.cuStreamQuery(stream);
        // A driver that cannot be asked is waited for.
        if (r == NK_CUDA_NOT_FOUND)
            return per_thread ? nk_real.cuStreamSynchronize_ptsz(stream) : nk_real.cuStreamSynchronize(stream);
        if (r != NK_CUDA_NOT_READY) return r;
        if (turn == 64) start = now(); // short kernels end within some tens of queries
        *gave_up = limit && turn > 64 && now() - start > limit;
        if (*gave_up) return NK_CUDA_SUCCESS;
        if (turn > 1000) nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    }
}

CUresult nk_wait_stream(CUstream stream, bool per_thread, bool *gave_up)
{
    int saved = errno;
    CUresult r = NK_CUDA_SUCCESS;
    *gave_up = false;
    if (!nk_wait_captured(stream, per_thread)) {
        int mode = nk_wait_relax();
        r = ask(stream, per_thread, gave_up);
        nk_wait_strict(mode);
    }
    errno = saved;
    return r;
}
