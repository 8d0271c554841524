// trail_table.c - the streams that launches went to, found by their handles, and the contexts that they are in.
#define _GNU_SOURCE
#include "trail_table.h"

#include "record.h"
#include "wait.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MOST_CONTEXTS = 64 };

static struct nk_trail_context_entry contexts[MOST_CONTEXTS];
struct nk_trail_track nk_trail_tracks[NK_TRAIL_STREAMS];
unsigned nk_trail_place_of[NK_TRAIL_STREAMS];
_Atomic unsigned nk_trail_places;
pthread_mutex_t nk_trail_lock = PTHREAD_MUTEX_INITIALIZER;

// ---- which stream

// Threads are numbered: the system gives the id of one that has ended to another.
static uint64_t thread_number(void)
{
    static _Atomic uint64_t threads;
    if (!nk_thread.number) nk_thread.number = ++threads;
    return nk_thread.number;
}

static bool is_own(CUstream stream, bool per_thread) { return stream == (CUstream)2 || (!stream && per_thread); }

uint64_t nk_trail_default_key(CUstream stream, bool per_thread, CUcontext context)
{
    uint64_t owner = is_own(stream, per_thread) ? thread_number() : 0;
    return nk_hash_u64((uintptr_t)context ^ nk_hash_u64(owner)) | 3;
}

// How many of the first `launched` launches are known to have ended.
uint64_t nk_trail_ended(const struct nk_trail_track *s, uint64_t launched)
{
    uint64_t ended = s->ended;
    if (!s->by_events && s->context->page) {
        int32_t ahead = (int32_t)(s->context->page[s - nk_trail_tracks] - (uint32_t)launched);
        if (ahead > 0) return launched; // markers of later launches
        if (launched - (uint32_t)-ahead > ended) ended = launched - (uint32_t)-ahead;
    }
    return ended < launched ? ended : launched;
}

void nk_trail_have_ended(struct nk_trail_track *s, uint64_t launches)
{
    uint64_t before = s->ended;
    while (before < launches && !atomic_compare_exchange_weak(&s->ended, &before, launches)) continue;
}

// ---- contexts and streams that are new; with the lock held

static enum nk_trail_how how_to_mark(CUdevice device)
{
    int version = 0, can = 0;
    nk_real.cuDriverGetVersion(&version);
    if (version >= 11070) return NK_TRAIL_BY_WRITE;
    nk_real.cuDeviceGetAttribute(&can, NK_ATTR_STREAM_MEM_OPS_V1, device);
    return can ? NK_TRAIL_BY_WRITE_V1 : NK_TRAIL_BY_EVENTS;
}

// Shared memory: the pages stay where the GPU writes to when the process forks.
static void make_page(struct nk_trail_context_entry *c)
{
    enum { SIZE = NK_TRAIL_STREAMS * sizeof *c->page, PORTABLE_AND_MAPPED = 3 };
    void *page = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return;
    if (!nk_real.cuMemHostRegister_v2(page, SIZE, PORTABLE_AND_MAPPED) &&
        !nk_real.cuMemHostGetDevicePointer_v2(&c->address, page, 0))
        c->page = page;
    else
        munmap(page, SIZE);
}

static struct nk_trail_context_entry *context_of(CUcontext handle)
{
    struct nk_trail_context_entry *c = NULL;
    for (int i = 0; i < MOST_CONTEXTS; i++) {
        if (contexts[i].handle == handle) return contexts[i].ending ? NULL : &contexts[i];
        if (!contexts[i].handle && !c) c = &contexts[i];
    }
    if (!c || nk_real.cuCtxGetDevice(&c->device)) return NULL;
    c->page = NULL;
    c->ending = false;
    c->how = how_to_mark(c->device);
    int mode = nk_wait_relax();
    if (c->how != NK_TRAIL_BY_EVENTS) make_page(c);
    nk_wait_strict(mode);
    c->handle = handle;
    return c;
}

static bool may_be_reused(const struct nk_trail_track *s)
{
    return s->key && !s->users && nk_trail_ended(s, s->launched) == s->launched;
}

// A place for a new stream: a free one, else that of a stream whose launches have all ended.
static struct nk_trail_track *choose(uint64_t key)
{
    struct nk_trail_track *old = NULL;
    for (unsigned i = 0; i < NK_TRAIL_MOST_PROBES; i++) {
        struct nk_trail_track *s = nk_trail_place(key, i);
        if (!s->key) return s;
        if (may_be_reused(s) && (!old || (s->gone && !old->gone))) old = s;
    }
    if (!old) return NULL;
    uint64_t before = atomic_exchange(&old->key, NK_TRAIL_KEY_GONE);
    if (!old->users) return old;
    old->key = before; // somebody launches in it just now
    return NULL;
}

static struct nk_trail_track *add(uint64_t key, CUstream handle, bool per_thread, CUcontext context)
{
    struct nk_trail_track *s = nk_trail_hold(key); // another thread was faster
    if (s) return s;
    struct nk_trail_context_entry *c = context_of(context);
    if (!c || !(s = choose(key))) return NULL;
    if (!s->ring && !(s->ring = calloc(NK_TRAIL_RING, sizeof *s->ring))) return NULL;
    if (s->context != c || s->context_handle != context) memset(s->event, 0, sizeof s->event); // of another context
    memset(s->marked, 0, sizeof s->marked);
    if (!s->born) nk_trail_place_of[nk_trail_places] = (unsigned)(s - nk_trail_tracks), nk_trail_places++;
    s->launched = s->ended = s->marks = s->mark_time = 0;
    s->born++;
    s->handle = handle;
    s->per_thread = per_thread;
    s->thread = is_own(handle, per_thread) ? nk_thread_id() : 0;
    s->context = c;
    s->context_handle = context;
    s->by_events = !c->page;
    s->gone = s->ending = s->marking = false;
    s->stopped = NK_CUDA_SUCCESS;
    if (c->page) c->page[s - nk_trail_tracks] = 0;
    s->users++;
    s->key = key;
    return s;
}

struct nk_trail_track *nk_trail_add(uint64_t key, CUstream stream, bool per_thread, CUcontext context)
{
    if (!context && (nk_real.cuCtxGetCurrent(&context) || !context)) return NULL;
    pthread_mutex_lock(&nk_trail_lock);
    struct nk_trail_track *s = add(key, stream, per_thread, context);
    pthread_mutex_unlock(&nk_trail_lock);
    return s;
}

// ---- ends

void nk_trail_stream_gone(CUstream stream)
{
    struct nk_trail_track *s = nk_trail_hold_own(stream);
    if (!s) return;
    s->gone = true;
    s->key = NK_TRAIL_KEY_GONE;
    nk_trail_let_go(s);
}

// With the lock: its streams may just be asked (nk_trail_ask).
void nk_trail_context_ending(CUcontext handle)
{
    bool inside = nk_thread.inside;
    nk_thread.inside = true; // a signal handler may launch, or exit
    for (int i = 0; handle && i < MOST_CONTEXTS; i++) {
        if (contexts[i].handle != handle) continue;
        if (!inside) pthread_mutex_lock(&nk_trail_lock); // else this thread may hold it
        contexts[i].ending = true;
        if (!inside) pthread_mutex_unlock(&nk_trail_lock);
    }
    nk_thread.inside = inside;
}

void nk_trail_context_ended(CUcontext handle, bool goes_on)
{
    for (int i = 0; handle && i < MOST_CONTEXTS; i++) {
        if (contexts[i].handle != handle) continue;
        if (goes_on) {
            contexts[i].ending = false;
            continue;
        }
        for (unsigned k = 0; k < nk_trail_places; k++) {
            struct nk_trail_track *s = &nk_trail_tracks[nk_trail_place_of[k]];
            if (!s->key || s->context != &contexts[i]) continue;
            s->gone = true;
            s->launched = s->ended = 0;
            s->by_events = true; // nothing is to be read of it any more
            s->key = NK_TRAIL_KEY_GONE;
        }
        contexts[i].handle = NULL;
    }
}

void nk_trail_reset(void)
{
    pthread_mutex_init(&nk_trail_lock, NULL);
    if (!nk_trail_places) return;
    memset((void *)contexts, 0, sizeof contexts);
    for (unsigned i = 0; i < nk_trail_places; i++) {
        struct nk_trail_track *s = &nk_trail_tracks[nk_trail_place_of[i]];
        s->context = NULL;
        s->users = 0;
        s->launched = 0;
        s->key = 0;
    }
}
