// trail.c - NOKERNEL_SYNC=trail: which launches of each stream have ended, without waiting for any.
//
// A number is taken after the launch has returned, and its marker is put into the stream after that. So when a marker
// is reached, all launches of that stream with its number or a lower one have ended, whichever threads made them. The
// numbers of a stream's markers only grow, so the one that was reached last is also the highest.
#define _GNU_SOURCE
#include "trail_table.h"

#include "budget.h"
#include "record.h"
#include "wait.h"

#include <errno.h>
#include <time.h>

static struct nk_budget budget; // for markers

// ---- markers

static CUresult write_number(const struct nk_trail_track *s, uint32_t number)
{
    CUdeviceptr to = s->context->address + (CUdeviceptr)(s - nk_trail_tracks) * sizeof(uint32_t);
    if (s->context->how == NK_TRAIL_BY_WRITE)
        return s->per_thread ? nk_real.cuStreamWriteValue32_v2_ptsz(s->handle, to, number, 0)
                             : nk_real.cuStreamWriteValue32_v2(s->handle, to, number, 0);
    return s->per_thread ? nk_real.cuStreamWriteValue32_ptsz(s->handle, to, number, 0)
                         : nk_real.cuStreamWriteValue32(s->handle, to, number, 0);
}

// The oldest event that is still to come: how many launches had ended by now.
static void ask_events(struct nk_trail_track *s)
{
    int mode = nk_wait_relax();
    for (int turn = 0; turn < 2; turn++) {
        int oldest = -1;
        for (int i = 0; i < NK_TRAIL_MOST_EVENTS; i++)
            if (s->marked[i] > s->ended && (oldest < 0 || s->marked[i] < s->marked[oldest])) oldest = i;
        if (oldest < 0 || nk_real.cuEventQuery(s->event[oldest]) != NK_CUDA_SUCCESS) break;
        nk_trail_have_ended(s, s->marked[oldest]);
    }
    nk_wait_strict(mode);
}

static CUresult record_event(struct nk_trail_track *s, uint64_t number)
{
    enum { NO_TIMING = 2 };
    unsigned at = s->events++ % NK_TRAIL_MOST_EVENTS;
    CUevent *event = &s->event[at];
    CUresult r = NK_CUDA_SUCCESS;
    ask_events(s);
    if (!*event) r = nk_real.cuEventCreate(event, NO_TIMING);
    s->marked[at] = 0;
    if (!r)
        r = s->per_thread ? nk_real.cuEventRecord_ptsz(*event, s->handle) : nk_real.cuEventRecord(*event, s->handle);
    if (!r) s->marked[at] = number;
    return r;
}

static void put_marker(struct nk_trail_track *s, uint64_t number, struct nk_trail_note *l)
{
    if (s->stopped || s->context->ending || s->context->handle != s->context_handle) return;
    CUresult r = s->by_events ? record_event(s, number) : write_number(s, (uint32_t)number);
    if (!s->by_events && (r == NK_CUDA_NOT_SUPPORTED || r == NK_CUDA_NOT_FOUND)) {
        nk_trail_have_ended(s, nk_trail_ended(s, number));
        s->by_events = true;
        r = record_event(s, number);
    }
    s->stopped = r;
    if (r) return;
    s->marks = number;
    atomic_store_explicit(&l->marked, number, memory_order_relaxed);
}

// Markers are put as time allows, in the order of their numbers: where another thread puts one just now, that one
// stands for this launch too, or the next will.
static __attribute__((cold, noinline)) void mark(struct nk_trail_track *s, uint64_t number, struct nk_trail_note *l)
{
    if (atomic_exchange(&s->marking, true)) return;
    if (number > s->marks) {
        uint64_t start = nk_ticks();
        put_marker(s, number, l);
        uint64_t end = nk_ticks();
        nk_budget_spend(&budget, start, end);
        atomic_store_explicit(&s->mark_time, end, memory_order_relaxed);
    }
    s->marking = false;
}

static inline bool may_mark(struct nk_trail_track *s)
{
    return nk_budget_allows(&budget, nk_ticks(), atomic_load_explicit(&s->mark_time, memory_order_relaxed)) ||
           nk_pin_all;
}

// `number` is 0 while the rest changes, and known again last of all. A marker may have been noted here for a stream
// that had this place before.
static struct nk_trail_note *note(struct nk_trail_track *s, uint64_t number, uintptr_t what)
{
    struct nk_trail_note *l = &s->ring[number % NK_TRAIL_RING];
    atomic_store_explicit(&l->number, 0, memory_order_relaxed);
    atomic_store_explicit(&l->marked, 0, memory_order_relaxed);
    atomic_store_explicit(&l->what, what, memory_order_release);
    atomic_store_explicit(&l->thread, nk_thread.id ? nk_thread.id : nk_thread_id(), memory_order_release);
    atomic_store_explicit(&l->number, number, memory_order_release);
    return l;
}

// False: a default stream, and no context that it could be of.
static inline bool key_of(CUstream stream, bool per_thread, CUcontext *context, uint64_t *key)
{
    *context = NULL;
    if (nk_trail_is_default(stream) && (nk_real.cuCtxGetCurrent(context) || !*context)) return false;
    *key = nk_trail_key(stream, per_thread, *context);
    return true;
}

static inline struct nk_trail_track *track_of(CUstream stream, bool per_thread)
{
    CUcontext context;
    uint64_t key;
    if (!key_of(stream, per_thread, &context, &key)) return NULL;
    struct nk_trail_track *s = nk_trail_hold(key);
    return __builtin_expect(s != NULL, 1) ? s : nk_trail_add(key, stream, per_thread, context);
}

void nk_trail_launched(CUstream stream, bool per_thread, struct nk_kernel *kernel, struct nk_graph *graph)
{
    if (nk_thread.inside) return;
    int saved = errno;
    nk_thread.inside = true; // a signal handler that launches shall not come here too
    struct nk_trail_track *s = nk_wait_captured(stream, per_thread) ? NULL : track_of(stream, per_thread);
    if (s) {
        uint64_t number = ++s->launched;
        struct nk_trail_note *l = note(s, number, graph ? (uintptr_t)graph | 1 : (uintptr_t)kernel);
        if (may_mark(s)) mark(s, number, l);
        nk_trail_let_go(s);
    }
    nk_thread.inside = false;
    errno = saved;
}

// ---- waits of the program

static void look(struct nk_trail_wait *wait, const struct nk_trail_track *s)
{
    struct nk_trail_waited waited = {.place = (unsigned)(s - nk_trail_tracks),
                                     .born = s->born}; // born before launched: see add
    waited.launched = s->launched;
    if (nk_trail_ended(s, waited.launched) < waited.launched) wait->stream[wait->count++] = waited;
}

void nk_trail_wait_stream(struct nk_trail_wait *wait, CUstream stream, bool per_thread)
{
    int saved = errno;
    CUcontext context;
    uint64_t key;
    struct nk_trail_track *s = key_of(stream, per_thread, &context, &key) ? nk_trail_hold(key) : NULL;
    if (s) {
        look(wait, s);
        nk_trail_let_go(s);
    }
    errno = saved;
}

void nk_trail_wait_context(struct nk_trail_wait *wait, CUcontext context)
{
    int saved = errno;
    if (context || !nk_real.cuCtxGetCurrent(&context))
        for (unsigned i = 0; context && i < nk_trail_places && wait->count < NK_TRAIL_WAITED; i++) {
            const struct nk_trail_track *s = &nk_trail_tracks[nk_trail_place_of[i]];
            if (s->key && s->context_handle == context) look(wait, s);
        }
    errno = saved;
}

static void learn(const struct nk_trail_wait *wait)
{
    for (unsigned i = 0; i < wait->count; i++) {
        struct nk_trail_track *s = &nk_trail_tracks[wait->stream[i].place];
        if (s->born == wait->stream[i].born) nk_trail_have_ended(s, wait->stream[i].launched);
    }
}

// A stream's place is given to another one under the lock only. Where it is taken, something is not learnt, no more.
void nk_trail_waited(const struct nk_trail_wait *wait)
{
    bool inside = nk_thread.inside;
    nk_thread.inside = true; // a signal handler may launch, or exit
    if (wait->count && !pthread_mutex_trylock(&nk_trail_lock)) {
        learn(wait);
        pthread_mutex_unlock(&nk_trail_lock);
    }
    nk_thread.inside = inside;
}

// ---- ends

// A last marker: nothing else will tell that its launches ended, and only then is its place free for another stream.
void nk_trail_stream_ending(CUstream stream)
{
    struct nk_trail_track *s = nk_thread.inside ? NULL : nk_trail_hold_own(stream);
    if (!s) return;
    int saved = errno;
    uint64_t launched = s->launched;
    nk_thread.inside = true;
    if (s->marks < launched && nk_trail_ended(s, launched) < launched && !nk_wait_captured(stream, false))
        mark(s, launched, &s->ring[launched % NK_TRAIL_RING]);
    pthread_mutex_lock(&nk_trail_lock); // it may just be asked (nk_trail_ask)
    s->ending = true;
    pthread_mutex_unlock(&nk_trail_lock);
    nk_thread.inside = false;
    nk_trail_let_go(s);
    errno = saved;
}

// ---- the end of the process

static CUresult ask(CUstream stream, bool per_thread)
{
    if (nk_wait_captured(stream, per_thread)) return NK_CUDA_SUCCESS;
    int mode = nk_wait_relax();
    CUresult r = per_thread ? nk_real.cuStreamQuery_ptsz(stream) : nk_real.cuStreamQuery(stream);
    nk_wait_strict(mode);
    return r;
}

// A stream that is gone, or another thread's own, cannot be asked: the context's default stream is, for errors are the
// context's.
static CUresult ask_track(struct nk_trail_track *s, CUstream *asked)
{
    CUcontext current = NULL, ours = s->context_handle, popped;
    bool own = !s->ending && (!s->thread || s->thread == nk_thread_id());
    *asked = own ? s->handle : (CUstream)1;
    bool pushed = nk_real.cuCtxGetCurrent(&current) || current != ours;
    if (pushed && nk_real.cuCtxPushCurrent_v2(ours)) return NK_CUDA_SUCCESS; // nothing is learnt
    CUresult r = ask(*asked, own && s->per_thread);
    if (pushed) nk_real.cuCtxPopCurrent_v2(&popped);
    return r;
}

// Another thread may hold it for as long as the driver likes.
static bool lock_soon(void)
{
    for (int turn = 0; turn < 100; turn++) {
        if (!pthread_mutex_trylock(&nk_trail_lock)) return true;
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    }
    return false;
}

bool nk_trail_ask(unsigned *cursor, struct nk_trail_asked *out)
{
    bool inside = nk_thread.inside, asked = false;
    nk_thread.inside = true;
    while (!asked && *cursor < nk_trail_places && lock_soon()) { // neither it nor its context is destroyed meanwhile
        struct nk_trail_track *s = &nk_trail_tracks[nk_trail_place_of[(*cursor)++]];
        uint64_t launched = s->key ? s->launched : 0, ended = launched ? nk_trail_ended(s, launched) : 0;
        asked = ended < launched && !s->context->ending && s->context->handle == s->context_handle;
        if (asked) {
            *out = (struct nk_trail_asked){
                .context = s->context_handle, .gpu = (uint32_t)s->context->device, .open = launched - ended};
            out->result = ask_track(s, &out->stream);
        }
        pthread_mutex_unlock(&nk_trail_lock);
    }
    nk_thread.inside = inside;
    return asked;
}

// ---- when an error came back

CUcontext nk_trail_context(CUstream stream)
{
    CUcontext context = NULL;
    struct nk_trail_track *s = nk_trail_hold_own(stream);
    if (s) {
        context = s->context_handle;
        nk_trail_let_go(s);
    } else if (nk_real.cuCtxGetCurrent(&context))
        context = NULL;
    return context;
}

static bool is_marked(const struct nk_trail_track *s, uint64_t number)
{
    return atomic_load_explicit(&s->ring[number % NK_TRAIL_RING].marked, memory_order_relaxed) == number;
}

// The launch that failed lies before the first marker that was not reached. What events tell is as old as the last one,
// and more of them may have been reached since: then it can be any.
static uint64_t suspects(const struct nk_trail_track *s, uint64_t ended, uint64_t launched)
{
    uint64_t number = ended + 1;
    if (number + NK_TRAIL_RING <= launched) number = launched - NK_TRAIL_RING + 1; // what stood before is forgotten
    while (number < launched && (s->by_events || !is_marked(s, number))) number++;
    return number <= launched ? number - ended : 0;
}

bool nk_trail_next(CUcontext context, unsigned *cursor, struct nk_trail_stream *out)
{
    while (*cursor < nk_trail_places) {
        const struct nk_trail_track *s = &nk_trail_tracks[nk_trail_place_of[(*cursor)++]];
        uint64_t launched = s->launched;
        if (!s->key || !launched || s->context_handle != context) continue;
        uint64_t ended = nk_trail_ended(s, launched);
        *out = (struct nk_trail_stream){.handle = s->per_thread && !s->handle ? (CUstream)2 : s->handle,
                                        .thread = s->thread,
                                        .gpu = (uint32_t)s->context->device,
                                        .events = s->by_events,
                                        .gone = s->gone,
                                        .stopped = s->stopped,
                                        .launched = launched,
                                        .complete = ended,
                                        .suspects = suspects(s, ended, launched)};
        return true;
    }
    return false;
}

struct nk_trail_launch nk_trail_launch_of(unsigned cursor, uint64_t number)
{
    const struct nk_trail_note *l = &nk_trail_tracks[nk_trail_place_of[cursor - 1]].ring[number % NK_TRAIL_RING];
    uint64_t before = atomic_load_explicit(&l->number, memory_order_acquire);
    uintptr_t what = atomic_load_explicit(&l->what, memory_order_acquire);
    struct nk_trail_launch out = {.number = number, .thread = atomic_load_explicit(&l->thread, memory_order_acquire)};
    if (before != number || atomic_load_explicit(&l->number, memory_order_relaxed) != number)
        return (struct nk_trail_launch){0};
    if (what & 1)
        out.graph = (struct nk_graph *)(what & ~(uintptr_t)1);
    else
        out.kernel = (struct nk_kernel *)what;
    return out;
}
