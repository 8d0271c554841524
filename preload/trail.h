// trail.h - NOKERNEL_SYNC=trail: which launches of each stream have ended, without waiting for any.
//
// Behind a launch a marker is put into its stream: the stream writes the launch's number to a page of host memory, or
// records an event where it cannot write. When an error of earlier work comes back, the launches between the last
// marker that was reached and the next one are those that it can have been. Markers take a small part of the time
// (budget.h), so where launches are dense not each of them has one; nk_pin_all: each has. What the program waits for
// itself is known to have ended without any.
//
// What is promised to the host: nothing waits; a captured stream gets no marker; a marker that is refused ends the
// markers of its stream, and nobody else learns of it; the page is ours (mapped, then registered with the context), so
// that it can be read when the context is long gone, and it is never given back.
//
// Launches take no lock and allocate nothing but at the first launch of a stream. The trail has a lock of its own,
// never held together with a call of the recording.
#ifndef NK_PRELOAD_TRAIL_H
#define NK_PRELOAD_TRAIL_H

#include "real.h"

#include <stdbool.h>
#include <stdint.h>

struct nk_kernel;
struct nk_graph;

// A launch that succeeded, of a kernel (NULL: not known) or of a graph. `per_thread` as in wait.h. Keeps errno.
void nk_trail_launched(CUstream stream, bool per_thread, struct nk_kernel *kernel, struct nk_graph *graph);

// A stream is about to be destroyed, and was: what it did stays known, a new one may get its handle.
void nk_trail_stream_ending(CUstream stream);
void nk_trail_stream_gone(CUstream stream);
// Around a call that may end a context: no marker is put into its streams from then on, unless it goes on.
void nk_trail_context_ending(CUcontext context);
void nk_trail_context_ended(CUcontext context, bool goes_on);
// For a forked child: nothing is known.
void nk_trail_reset(void);

// ---- waits of the program: what was launched before a wait began has ended when it succeeds

enum { NK_TRAIL_WAITED = 32 }; // streams of a context that are looked at; of more, less is learnt
struct nk_trail_wait {
    unsigned count; // 0 at first
    struct nk_trail_waited {
        unsigned place;
        uint64_t born, launched;
    } stream[NK_TRAIL_WAITED];
};
// Before a wait for a stream, or for all streams of a context (NULL: of the current one).
void nk_trail_wait_stream(struct nk_trail_wait *wait, CUstream stream, bool per_thread);
void nk_trail_wait_context(struct nk_trail_wait *wait, CUcontext context);
// After it succeeded.
void nk_trail_waited(const struct nk_trail_wait *wait);

// ---- when the process ends

struct nk_trail_asked {
    CUresult result; // 600: still at work
    CUcontext context;
    CUstream stream;
    uint32_t gpu;
    uint64_t open; // launches that were not known to have ended
};
// Asks a stream with such launches, without waiting, and not while it is captured. Start with *cursor = 0; false at the
// end. With none of our other locks held.
bool nk_trail_ask(unsigned *cursor, struct nk_trail_asked *asked);

// ---- when an error came back

// The context that a call about `stream` was about; NULL stream: the current one.
CUcontext nk_trail_context(CUstream stream);

struct nk_trail_launch {
    uint64_t number; // from 1; 0: is not known any more
    uint32_t thread;
    struct nk_kernel *kernel;
    struct nk_graph *graph;
};
struct nk_trail_stream {
    CUstream handle;
    uint32_t thread, gpu; // thread: whose own default stream it is, else 0
    bool events, gone;    // marked by events; destroyed
    CUresult stopped;     // why there are no more markers, or 0
    uint64_t launched, complete;
    uint64_t suspects; // of the launches after `complete`: if the one that failed is in this stream, it is one of them
};
enum { NK_TRAIL_STREAMS = 1024, NK_TRAIL_RING = 1024 };
// The streams of a context that had launches: start with *cursor = 0; false at the end. Another thread may go on
// launching meanwhile: `launched` may be too small by then, `complete` too.
bool nk_trail_next(CUcontext context, unsigned *cursor, struct nk_trail_stream *stream);
// Launch `number` of the stream that nk_trail_next left *cursor behind. Its number is 0 when it is no longer known.
struct nk_trail_launch nk_trail_launch_of(unsigned cursor, uint64_t number);

#endif
