// wait.h - waiting for the stream of a launch, and whether it is being captured.
//
// Nothing of the host is disturbed: only the one stream is asked, never the context (a device-wide wait breaks the
// capture of another thread), never while it is captured, and in the relaxed capture mode of this thread, which is
// given back: in another mode our question would invalidate captures elsewhere.
#ifndef NK_PRELOAD_WAIT_H
#define NK_PRELOAD_WAIT_H

#include "real.h"

#include <stdbool.h>

// Captures: those that were begun and of which it is not certain that they are over; and calls of functions of the
// driver that are not known here and may have begun one. While both are 0 no stream is captured, and none is asked.
struct nk_captures {
    _Atomic uint64_t unknown; // first: passed.c counts here
    _Atomic uint64_t open;
};
extern struct nk_captures nk_captures;
// Around a call that begins a capture, and after one that ends one; what the call returned is handed back.
void nk_wait_capture_begins(void);
CUresult nk_wait_capture_begun(CUstream stream, bool per_thread, CUresult r);
CUresult nk_wait_capture_ended(CUstream stream, bool per_thread, CUresult r);

// What nk_wait_captured asks of the driver while a capture can be open.
bool nk_wait_ask_captured(CUstream stream, bool per_thread);
// Must the stream be left alone? `per_thread`: stream 0 is the thread's own default stream (a _ptsz function).
static inline bool nk_wait_captured(CUstream stream, bool per_thread)
{
    bool none = !atomic_load_explicit(&nk_captures.open, memory_order_relaxed) &&
                !atomic_load_explicit(&nk_captures.unknown, memory_order_relaxed);
    return __builtin_expect(none, 1) ? false : nk_wait_ask_captured(stream, per_thread);
}
// This thread becomes relaxed; what to hand to nk_wait_strict afterwards (-1: the driver cannot, nothing to give back).
int nk_wait_relax(void);
void nk_wait_strict(int mode);
// Waits until the work in the stream has ended: 0, or the error that it ended with. Returns 0 without having waited
// when the stream is or becomes captured. After nk_pin_limit it gives up: 0, and *gave_up is set.
CUresult nk_wait_stream(CUstream stream, bool per_thread, bool *gave_up);

#endif
