// trail.c - NOKERNEL_SYNC=trail: which launches of each stream have ended, without waiting for any.
//
// A number is taken after the launch has returned, and its marker is put into the stream after that. So when a marker
// is reached, all launches of that stream with its number or a lower one have ended, whichever threads made them.
#define _GNU_SOURCE
#include "trail.h"

#include "base/table.h"
#include "record.h"
#include "wait.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MOST_CONTEXTS = 64, MOST_EVENTS = 64, MOST_PROBES = 32 };
enum how { BY_EVENTS, BY_WRITE, BY_WRITE_V1 }; // how the streams of a context are marked

struct context {
    _Atomic(CUcontext) handle; // NULL: free
    _Atomic bool ending;
    enum how how;
    _Atomic uint32_t *page; // a word a stream, by the stream's place in the table
    CUdeviceptr address;    // the same, as the GPU sees it
    CUdevice device;
};

struct launch {
    _Atomic uint64_t number;
    _Atomic uintptr_t what; // struct nk_kernel, or struct nk_graph with the lowest bit set
    _Atomic uint32_t thread;
};

struct stream {
    _Atomic uint64_t key;   // 0: never used; GONE
    _Atomic uint32_t users; // threads that are at work with it, whatever its key is
    _Atomic uint64_t launched;
    struct launch *ring; // launch n is at n % NK_TRAIL_RING
    CUstream handle;
    bool per_thread;
    uint32_t thread;
    struct context *context;
    CUcontext context_handle;
    _Atomic bool by_events, gone;
    _Atomic CUresult stopped;
    _Atomic bool events_taken; // by a thread
    CUevent event[MOST_EVENTS];
    uint64_t marked[MOST_EVENTS]; // the launch that the event stands behind, or 0
    _Atomic uint64_t asked;       // launches known to have ended by events
};
enum { GONE = 1 };

static struct context contexts[MOST_CONTEXTS];
static struct stream streams[NK_TRAIL_STREAMS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool used; // there is something in the tables

// ---- which stream

// Threads are numbered: the system gives the id of one that has ended to another.
static uint64_t thread_number(void)
{
    static _Atomic uint64_t threads;
    if (!nk_thread.number) nk_thread.number = ++threads;
    return nk_thread.number;
}

static bool is_own(CUstream stream, bool per_thread) { return stream == (CUstream)2 || (!stream && per_thread); }

// The default streams have one handle in all contexts, and in all threads; the handles of others are their own, and
// even.
static uint64_t key_of(CUstream stream, bool per_thread, CUcontext context)
{
    if ((uintptr_t)stream > 2) return (uintptr_t)stream;
    uint64_t owner = is_own(stream, per_thread) ? thread_number() : 0;
    return nk_hash_u64((uintptr_t)context ^ nk_hash_u64(owner)) | 3;
}

static struct stream *place(uint64_t key, unsigned probe)
{
    return &streams[(nk_hash_u64(key) + probe) % NK_TRAIL_STREAMS];
}

// The stream of that key, held until `let_go`; NULL: there is none.
static struct stream *hold(uint64_t key)
{
    for (unsigned i = 0; i < MOST_PROBES; i++) {
        struct stream *s = place(key, i);
        uint64_t there = s->key;
        if (!there) return NULL;
        if (there != key) continue;
        s->users++;
        if (s->key == key) return s;
        s->users--;
    }
    return NULL;
}

static void let_go(struct stream *s) { s->users--; }

static uint64_t complete(const struct stream *s, uint64_t launched)
{
    if (s->by_events || !s->context->page) return s->asked;
    uint32_t word = s->context->page[s - streams];
    return launched - (uint32_t)((uint32_t)launched - word);
}

// ---- contexts and streams that are new; with the lock held

static enum how how_to_mark(CUdevice device)
{
    int version = 0, can = 0;
    nk_real.cuDriverGetVersion(&version);
    if (version >= 11070) return BY_WRITE;
    nk_real.cuDeviceGetAttribute(&can, NK_ATTR_STREAM_MEM_OPS_V1, device);
    return can ? BY_WRITE_V1 : BY_EVENTS;
}

// Shared memory: the pages stay where the GPU writes to when the process forks.
static void make_page(struct context *c)
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

static struct context *context_of(CUcontext handle)
{
    struct context *c = NULL;
    for (int i = 0; i < MOST_CONTEXTS; i++) {
        if (contexts[i].handle == handle) return contexts[i].ending ? NULL : &contexts[i];
        if (!contexts[i].handle && !c) c = &contexts[i];
    }
    if (!c || nk_real.cuCtxGetDevice(&c->device)) return NULL;
    c->page = NULL;
    c->ending = false;
    c->how = how_to_mark(c->device);
    int mode = nk_wait_relax();
    if (c->how != BY_EVENTS) make_page(c);
    nk_wait_strict(mode);
    c->handle = handle;
    return c;
}

static bool may_be_reused(const struct stream *s)
{
    return s->key && !s->users && complete(s, s->launched) == s->launched;
}

// A place for a new stream: a free one, else that of a stream whose launches have all ended.
static struct stream *choose(uint64_t key)
{
    struct stream *old = NULL;
    for (unsigned i = 0; i < MOST_PROBES; i++) {
        struct stream *s = place(key, i);
        if (!s->key) return s;
        if (may_be_reused(s) && (!old || (s->gone && !old->gone))) old = s;
    }
    if (!old) return NULL;
    uint64_t before = atomic_exchange(&old->key, GONE);
    if (!old->users) return old;
    old->key = before; // somebody launches in it just now
    return NULL;
}

static struct stream *add(uint64_t key, CUstream handle, bool per_thread, CUcontext context)
{
    struct stream *s = hold(key); // another thread was faster
    if (s) return s;
    struct context *c = context_of(context);
    if (!c || !(s = choose(key))) return NULL;
    if (!s->ring && !(s->ring = calloc(NK_TRAIL_RING, sizeof *s->ring))) return NULL;
    if (s->context != c || s->context_handle != context) memset(s->event, 0, sizeof s->event); // of another context
    memset(s->marked, 0, sizeof s->marked);
    s->launched = s->asked = 0;
    s->handle = handle;
    s->per_thread = per_thread;
    s->thread = is_own(handle, per_thread) ? nk_thread_id() : 0;
    s->context = c;
    s->context_handle = context;
    s->by_events = !c->page;
    s->gone = s->events_taken = false;
    s->stopped = NK_CUDA_SUCCESS;
    if (c->page) c->page[s - streams] = 0;
    s->users++;
    s->key = key;
    used = true;
    return s;
}

static struct stream *hold_or_add(CUstream handle, bool per_thread)
{
    CUcontext context = NULL;
    if ((uintptr_t)handle <= 2 && nk_real.cuCtxGetCurrent(&context)) return NULL;
    uint64_t key = key_of(handle, per_thread, context);
    struct stream *s = hold(key);
    if (s || (!context && nk_real.cuCtxGetCurrent(&context)) || !context) return s;
    pthread_mutex_lock(&lock);
    s = add(key, handle, per_thread, context);
    pthread_mutex_unlock(&lock);
    return s;
}

// ---- markers

static CUresult write_number(const struct stream *s, uint32_t number)
{
    CUdeviceptr to = s->context->address + (CUdeviceptr)(s - streams) * sizeof(uint32_t);
    if (s->context->how == BY_WRITE)
        return s->per_thread ? nk_real.cuStreamWriteValue32_v2_ptsz(s->handle, to, number, 0)
                             : nk_real.cuStreamWriteValue32_v2(s->handle, to, number, 0);
    return s->per_thread ? nk_real.cuStreamWriteValue32_ptsz(s->handle, to, number, 0)
                         : nk_real.cuStreamWriteValue32(s->handle, to, number, 0);
}

// The oldest event that is still to come: how many launches had ended by now.
static void ask_events(struct stream *s)
{
    int mode = nk_wait_relax();
    for (int turn = 0; turn < 2; turn++) {
        int oldest = -1;
        for (int i = 0; i < MOST_EVENTS; i++)
            if (s->marked[i] > s->asked && (oldest < 0 || s->marked[i] < s->marked[oldest])) oldest = i;
        if (oldest < 0 || nk_real.cuEventQuery(s->event[oldest]) != NK_CUDA_SUCCESS) break;
        s->asked = s->marked[oldest];
    }
    nk_wait_strict(mode);
}

static CUresult record_event(struct stream *s, uint64_t number)
{
    enum { NO_TIMING = 2 };
    CUevent *event = &s->event[number % MOST_EVENTS];
    CUresult r = NK_CUDA_SUCCESS;
    if (atomic_exchange(&s->events_taken, true))
        return r; // another thread's marker stands for this launch too, or the next
    ask_events(s);
    if (!*event) r = nk_real.cuEventCreate(event, NO_TIMING);
    s->marked[number % MOST_EVENTS] = 0;
    if (!r)
        r = s->per_thread ? nk_real.cuEventRecord_ptsz(*event, s->handle) : nk_real.cuEventRecord(*event, s->handle);
    if (!r) s->marked[number % MOST_EVENTS] = number;
    s->events_taken = false;
    return r;
}

static void mark(struct stream *s, uint64_t number)
{
    if (s->stopped || s->context->ending || s->context->handle != s->context_handle) return;
    CUresult r = s->by_events ? record_event(s, number) : write_number(s, (uint32_t)number);
    if (!s->by_events && (r == NK_CUDA_NOT_SUPPORTED || r == NK_CUDA_NOT_FOUND)) {
        s->asked = complete(s, number);
        s->by_events = true;
        r = record_event(s, number);
    }
    if (r) s->stopped = r;
}

void nk_trail_launched(CUstream stream, bool per_thread, struct nk_kernel *kernel, struct nk_graph *graph)
{
    int saved = errno;
    if (nk_thread.inside || nk_wait_captured(stream, per_thread)) return;
    nk_thread.inside = true; // a signal handler that launches shall not come here too
    struct stream *s = hold_or_add(stream, per_thread);
    if (s) {
        uint64_t number = ++s->launched;
        struct launch *l = &s->ring[number % NK_TRAIL_RING];
        l->number = 0;
        l->what = graph ? (uintptr_t)graph | 1 : (uintptr_t)kernel;
        l->thread = nk_thread_id();
        l->number = number;
        mark(s, number);
        let_go(s);
    }
    nk_thread.inside = false;
    errno = saved;
}

// ---- ends

void nk_trail_stream_gone(CUstream stream)
{
    struct stream *s = (uintptr_t)stream > 2 ? hold((uintptr_t)stream) : NULL;
    if (!s) return;
    s->gone = true;
    s->key = GONE;
    let_go(s);
}

void nk_trail_context_ending(CUcontext handle)
{
    for (int i = 0; handle && i < MOST_CONTEXTS; i++)
        if (contexts[i].handle == handle) contexts[i].ending = true;
}

void nk_trail_context_ended(CUcontext handle, bool goes_on)
{
    for (int i = 0; handle && i < MOST_CONTEXTS; i++) {
        if (contexts[i].handle != handle) continue;
        if (goes_on) {
            contexts[i].ending = false;
            continue;
        }
        for (int k = 0; k < NK_TRAIL_STREAMS; k++)
            if (streams[k].key && streams[k].context == &contexts[i]) {
                streams[k].gone = true;
                streams[k].launched = streams[k].asked = 0;
                streams[k].by_events = true; // nothing is to be read of it any more
                streams[k].key = GONE;
            }
        contexts[i].handle = NULL;
    }
}

void nk_trail_reset(void)
{
    pthread_mutex_init(&lock, NULL);
    if (!used) return;
    memset((void *)contexts, 0, sizeof contexts);
    for (int i = 0; i < NK_TRAIL_STREAMS; i++) {
        if (!streams[i].key) continue;
        streams[i].context = NULL;
        streams[i].users = 0;
        streams[i].launched = 0;
        streams[i].key = 0;
    }
}

// ---- when an error came back

CUcontext nk_trail_context(CUstream stream)
{
    CUcontext context = NULL;
    struct stream *s = (uintptr_t)stream > 2 ? hold((uintptr_t)stream) : NULL;
    if (s) {
        context = s->context_handle;
        let_go(s);
    } else if (nk_real.cuCtxGetCurrent(&context))
        context = NULL;
    return context;
}

bool nk_trail_next(CUcontext context, unsigned *cursor, struct nk_trail_stream *out)
{
    while (*cursor < NK_TRAIL_STREAMS) {
        const struct stream *s = &streams[(*cursor)++];
        uint64_t launched = s->launched;
        if (!s->key || !launched || s->context_handle != context) continue;
        *out = (struct nk_trail_stream){.handle = s->per_thread && !s->handle ? (CUstream)2 : s->handle,
                                        .thread = s->thread,
                                        .gpu = (uint32_t)s->context->device,
                                        .events = s->by_events,
                                        .gone = s->gone,
                                        .stopped = s->stopped,
                                        .launched = launched,
                                        .complete = complete(s, launched)};
        return true;
    }
    return false;
}

struct nk_trail_launch nk_trail_launch_of(unsigned cursor, uint64_t number)
{
    const struct launch *l = &streams[cursor - 1].ring[number % NK_TRAIL_RING];
    uintptr_t what = l->what;
    struct nk_trail_launch out = {.number = l->number, .thread = l->thread};
    if (out.number != number) return (struct nk_trail_launch){0};
    if (what & 1)
        out.graph = (struct nk_graph *)(what & ~(uintptr_t)1);
    else
        out.kernel = (struct nk_kernel *)what;
    return out;
}
