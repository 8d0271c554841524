// wait.c - waiting for the stream of a launch, and whether it is being captured.
#define _GNU_SOURCE
#include "wait.h"

#include "record.h"

#include <errno.h>
#include <time.h>

__attribute__((visibility("hidden"), used)) struct nk_captures nk_captures;

static CUresult ask_captured(CUstream stream, bool per_thread, int *status)
{
    *status = NK_CAPTURE_NONE;
    return per_thread ? nk_real.cuStreamIsCapturing_ptsz(stream, status) : nk_real.cuStreamIsCapturing(stream, status);
}

bool nk_wait_ask_captured(CUstream stream, bool per_thread)
{
    int status;
    CUresult r = ask_captured(stream, per_thread, &status);
    // An error (906: the legacy stream, while another one is captured) also means: do not touch this stream. 500 comes
    // from drivers older than CUDA 10, which cannot capture.
    return r == NK_CUDA_NOT_FOUND ? false : r != NK_CUDA_SUCCESS || status != NK_CAPTURE_NONE;
}

// ---- captures that are open. The count may be too high, which costs a question a launch, but never too low: then a
// captured stream would not be left alone.

static bool is_surely_free(CUstream stream, bool per_thread)
{
    int saved = errno, status, r = -1;
    if (nk_pin != NK_PIN_OFF) r = ask_captured(stream, per_thread, &status); // else nobody wants to know
    errno = saved;
    return r == NK_CUDA_SUCCESS && status == NK_CAPTURE_NONE;
}

static void one_less(void)
{
    uint64_t open = nk_captures.open;
    while (open && !atomic_compare_exchange_weak(&nk_captures.open, &open, open - 1)) continue;
    if (!open) nk_captures.unknown++; // this one's beginning was not seen: there may be more such
}

void nk_wait_capture_begins(void) { nk_captures.open++; }

CUresult nk_wait_capture_begun(CUstream stream, bool per_thread, CUresult r)
{
    if (r != NK_CUDA_SUCCESS && is_surely_free(stream, per_thread)) one_less();
    return r;
}

// An end that fails ends the capture when it was invalidated or not joined, and leaves it when another stream or
// another thread should have ended it.
CUresult nk_wait_capture_ended(CUstream stream, bool per_thread, CUresult r)
{
    bool broken = r == NK_CUDA_CAPTURE_INVALIDATED || r == NK_CUDA_CAPTURE_UNJOINED;
    if (r == NK_CUDA_SUCCESS || (broken && is_surely_free(stream, per_thread))) one_less();
    return r;
}

// ---- waiting

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
