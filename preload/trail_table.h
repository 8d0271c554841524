// trail_table.h - what trail.c and trail_table.c share: the streams that launches went to, and their contexts. Nobody
// else includes it.
//
// A stream keeps its track until its place is given to another one, which happens under the lock, and only when nobody
// holds it and all its launches are known to have ended. Tracks are never freed.
#ifndef NK_PRELOAD_TRAIL_TABLE_H
#define NK_PRELOAD_TRAIL_TABLE_H

#include "trail.h"

#include "base/table.h"

#include <pthread.h>

enum { NK_TRAIL_MOST_EVENTS = 64, NK_TRAIL_MOST_PROBES = 32 };
// How the streams of a context are marked.
enum nk_trail_how { NK_TRAIL_BY_EVENTS, NK_TRAIL_BY_WRITE, NK_TRAIL_BY_WRITE_V1 };

struct nk_trail_context_entry {
    _Atomic(CUcontext) handle; // NULL: free
    _Atomic bool ending;
    enum nk_trail_how how;
    _Atomic uint32_t *page; // a word a stream, by the stream's place in the table
    CUdeviceptr address;    // the same, as the GPU sees it
    CUdevice device;
};

struct nk_trail_note {
    _Atomic uint64_t number; // 0: being written
    _Atomic uintptr_t what;  // struct nk_kernel, or struct nk_graph with the lowest bit set
    _Atomic uint64_t marked; // its number again, if a marker stands behind it
    _Atomic uint32_t thread;
};

struct nk_trail_track {
    // What a launch touches.
    _Alignas(64) _Atomic uint64_t key; // 0: never used; NK_TRAIL_KEY_GONE
    _Atomic uint32_t users;            // threads that are at work with it, whatever its key is
    bool per_thread;
    _Atomic bool marking; // a thread is putting a marker into it, and is alone with its marks and events
    _Atomic uint64_t launched;
    struct nk_trail_note *ring; // launch n is at n % NK_TRAIL_RING
    _Atomic uint64_t mark_time; // of the last marker, in ticks
    // What a marker touches.
    struct nk_trail_context_entry *context;
    CUcontext context_handle;
    CUstream handle;
    _Atomic bool by_events, gone;
    _Atomic bool ending; // is being destroyed, or was
    _Atomic CUresult stopped;
    uint32_t thread;
    _Atomic uint64_t born;  // tells streams apart that had this place
    _Atomic uint64_t ended; // launches known to have ended by events, or because they were waited for
    _Atomic uint64_t marks; // the last launch with a marker
    unsigned events;        // recorded so far
    CUevent event[NK_TRAIL_MOST_EVENTS];
    uint64_t marked[NK_TRAIL_MOST_EVENTS]; // the launch that the event stands behind, or 0
};
enum { NK_TRAIL_KEY_GONE = 1 };

extern struct nk_trail_track nk_trail_tracks[NK_TRAIL_STREAMS];
extern unsigned nk_trail_place_of[NK_TRAIL_STREAMS]; // the places that were ever used, nk_trail_places of them
extern _Atomic unsigned nk_trail_places;
extern pthread_mutex_t nk_trail_lock;

// The name of a stream in the table. The default streams have one handle in all contexts, and in all threads; the
// handles of others are their own, and even. `context` is theirs that have none of their own.
uint64_t nk_trail_default_key(CUstream stream, bool per_thread, CUcontext context);
static inline bool nk_trail_is_default(CUstream stream) { return (uintptr_t)stream <= 2; }
static inline uint64_t nk_trail_key(CUstream stream, bool per_thread, CUcontext context)
{
    return nk_trail_is_default(stream) ? nk_trail_default_key(stream, per_thread, context) : (uintptr_t)stream;
}

static inline struct nk_trail_track *nk_trail_place(uint64_t key, unsigned probe)
{
    return &nk_trail_tracks[(nk_hash_u64(key) + probe) % NK_TRAIL_STREAMS];
}

// The track of that stream, held until nk_trail_let_go; NULL: there is none.
static inline struct nk_trail_track *nk_trail_hold(uint64_t key)
{
    for (unsigned i = 0; i < NK_TRAIL_MOST_PROBES; i++) {
        struct nk_trail_track *s = nk_trail_place(key, i);
        uint64_t there = s->key;
        if (!there) return NULL;
        if (there != key) continue;
        s->users++;
        if (s->key == key) return s;
        s->users--;
    }
    return NULL;
}

// The same for a stream whose handle is enough; NULL also for a default one.
static inline struct nk_trail_track *nk_trail_hold_own(CUstream stream)
{
    return nk_trail_is_default(stream) ? NULL : nk_trail_hold((uintptr_t)stream);
}

static inline void nk_trail_let_go(struct nk_trail_track *track) { track->users--; }
// The track of a new stream, held; NULL: there is no room, or no context (`context` is NULL: the current one).
struct nk_trail_track *nk_trail_add(uint64_t key, CUstream stream, bool per_thread, CUcontext context);

// How many of the first `launched` launches are known to have ended.
uint64_t nk_trail_ended(const struct nk_trail_track *track, uint64_t launched);
// The first `launches` have, as is known without a marker.
void nk_trail_have_ended(struct nk_trail_track *track, uint64_t launches);

#endif
