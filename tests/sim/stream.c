// stream.c - streams: their order, functions of the host, values in memory.
#include "sim.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t sim_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

enum { NON_BLOCKING = 1 };

struct sim_stream *sim_stream_new(struct sim_context *context, unsigned flags, int priority)
{
    struct sim_stream *stream = sim_new(K_STREAM);
    if (!stream) return NULL;
    stream->context = context;
    stream->flags = flags;
    stream->priority = priority;
    stream->id = sim_next_id();
    pthread_mutex_lock(&sim_lock);
    stream->next = context->streams;
    context->streams = stream;
    pthread_mutex_unlock(&sim_lock);
    return stream;
}

void sim_stream_free(struct sim_stream *stream)
{
    sim_capture_forget(stream);
    int late = atomic_load(&stream->late);
    if (late) atomic_store(&stream->context->late, late);
    struct sim_stream **at = &stream->context->streams;
    while (*at && *at != stream) at = &(*at)->next;
    if (*at) *at = stream->next;
    sim_delete(stream);
}

// The calling thread's own default stream, one for each context it used.
static struct sim_stream *own_stream(struct sim_context *context)
{
    static _Thread_local struct {
        struct sim_context *context;
        unsigned long long id;
        struct sim_stream *stream;
    } own[SIM_MAX_GPUS];
    for (int i = 0; i < SIM_MAX_GPUS; i++) {
        if (own[i].context == context && own[i].id == context->id && sim_is(own[i].stream, K_STREAM))
            return own[i].stream;
        if (own[i].context && sim_is(own[i].context, K_CONTEXT) && sim_is(own[i].stream, K_STREAM)) continue;
        own[i].context = context;
        own[i].id = context->id;
        return own[i].stream = sim_stream_new(context, 0, 0);
    }
    return context->legacy;
}

struct sim_stream *sim_stream(CUstream handle)
{
    uintptr_t value = (uintptr_t)handle;
    struct sim_context *context = sim_current();
    struct sim_stream *stream = NULL;
    if (value > 2)
        stream = sim_is(handle, K_STREAM) ? (void *)handle : NULL;
    else if (context && sim_is(context, K_CONTEXT))
        stream = value == 2 || (value == 0 && sim_per_thread) ? own_stream(context) : context->legacy;
    sim_last_stream = stream;
    return stream;
}

#define NEED_STREAM(s, handle)                                                                                         \
    NEED_CONTEXT(context);                                                                                             \
    struct sim_stream *s = sim_stream(handle);                                                                         \
    if (!s) return BAD_HANDLE

// ---- the order of work. Work is done when it is asked for, with two exceptions: nothing is done after work that
// failed (SIM_FAIL=...~CODE), and values are written to memory when the kernels before them have ended (SIM_KERNEL_MS).

static struct write {
    uint64_t due;
    struct sim_stream *stream;
    unsigned long long stream_id;
    struct sim_work work;
    struct write *next;
} * writes, **last_write = &writes;

// The legacy stream and those that are not NON_BLOCKING wait for each other.
static bool together(const struct sim_stream *a, const struct sim_stream *b)
{
    if (a == b) return true;
    const struct sim_stream *legacy = a->context->legacy;
    return (a == legacy && !(b->flags & NON_BLOCKING)) || (b == legacy && !(a->flags & NON_BLOCKING));
}

_Atomic bool sim_failed;

bool sim_stream_stopped(struct sim_stream *stream)
{
    if (!atomic_load_explicit(&sim_failed, memory_order_relaxed)) return false;
    bool stopped = atomic_load(&stream->context->sticky) != OK;
    pthread_mutex_lock(&sim_lock);
    for (struct sim_stream *s = stream->context->streams; s && !stopped; s = s->next)
        stopped = together(s, stream) && (atomic_load(&s->late) || atomic_load(&s->stuck));
    pthread_mutex_unlock(&sim_lock);
    return stopped;
}

void sim_writes_due(void)
{
    if (!sim_set.kernel_ns) return;
    uint64_t now = sim_now();
    pthread_mutex_lock(&sim_lock);
    for (struct write **at = &writes, *w; (w = *at);) {
        bool lives = sim_is(w->stream, K_STREAM) && w->stream->id == w->stream_id && !w->stream->context->sticky;
        if (lives && w->due > now) {
            at = &w->next;
            continue;
        }
        if (lives) sim_work_run(&w->work);
        *at = w->next;
        free(w);
    }
    for (last_write = &writes; *last_write;) last_write = &(*last_write)->next;
    pthread_mutex_unlock(&sim_lock);
}

void sim_stream_do(struct sim_stream *stream, const struct sim_work *work)
{
    if (sim_stream_stopped(stream)) return;
    if (work->op != OP_WRITE || !sim_set.kernel_ns) {
        sim_work_run(work);
        return;
    }
    struct write *write = malloc(sizeof *write);
    if (!write) return;
    *write = (struct write){atomic_load(&stream->busy), stream, stream->id, *work, NULL};
    pthread_mutex_lock(&sim_lock);
    *last_write = write;
    last_write = &write->next;
    pthread_mutex_unlock(&sim_lock);
    sim_writes_due();
}

void sim_stream_kernel(struct sim_stream *stream, int late)
{
    if (!late && !sim_set.kernel_ns) return;
    if (sim_stream_stopped(stream)) return;
    uint64_t now = sim_now(), busy = atomic_load(&stream->busy);
    if (sim_set.kernel_ns) atomic_store(&stream->busy, (busy > now ? busy : now) + sim_set.kernel_ns);
    if (late) atomic_store(&sim_failed, true);
    if (late) atomic_store(&stream->late, late);
}

void sim_stream_wait(struct sim_context *context, struct sim_stream *stream)
{
    uint64_t until = 0;
    if (!sim_set.kernel_ns) return;
    pthread_mutex_lock(&sim_lock);
    for (struct sim_stream *s = context->streams; s; s = s->next) {
        uint64_t busy = !stream || together(s, stream) ? atomic_load(&s->busy) : 0;
        if (busy > until) until = busy;
    }
    pthread_mutex_unlock(&sim_lock);
    while (until > sim_now()) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    sim_writes_due();
}

int sim_stream_sync(struct sim_stream *stream)
{
    struct sim_context *context = stream->context;
    sim_writes_due();
    int of_destroyed = atomic_exchange(&context->late, 0); // it is the whole context's
    if (of_destroyed) sim_context_fail(context, of_destroyed);
    pthread_mutex_lock(&sim_lock);
    for (struct sim_stream *s = context->streams; s; s = s->next) {
        int late = together(s, stream) ? atomic_exchange(&s->late, 0) : 0;
        if (late) sim_context_fail(context, late);
    }
    pthread_mutex_unlock(&sim_lock);
    return atomic_load(&context->sticky);
}

static int create(CUstream *out, unsigned flags, int priority)
{
    NEED_CONTEXT(context);
    if (!out || flags > NON_BLOCKING) return BAD_VALUE;
    struct sim_stream *stream = sim_stream_new(context, flags, priority > 0 ? 0 : priority < -5 ? -5 : priority);
    if (!stream) return NO_MEMORY;
    *out = (CUstream)(void *)stream;
    return OK;
}

API(cuStreamCreate, CUstream *, out, unsigned, flags) { return create(out, flags, 0); }
API(cuStreamCreateWithPriority, CUstream *, out, unsigned, flags, int, priority)
{
    return create(out, flags, priority);
}

API(cuStreamDestroy_v2, CUstream, handle)
{
    if ((uintptr_t)handle <= 2) return BAD_VALUE;
    if (!sim_is(handle, K_STREAM)) return BAD_HANDLE;
    pthread_mutex_lock(&sim_lock);
    sim_stream_free((void *)handle);
    pthread_mutex_unlock(&sim_lock);
    return OK;
}
API_ALSO(cuStreamDestroy, cuStreamDestroy_v2, CUstream, handle)

static bool is_busy(struct sim_stream *stream) { return sim_set.kernel_ns && atomic_load(&stream->busy) > sim_now(); }

API_PT(cuStreamSynchronize, _ptsz, CUstream, handle)
{
    NEED_STREAM(stream, handle);
    int result = sim_capture_sync(stream);
    if (!result) sim_stream_wait(context, stream);
    return result ? result : sim_stream_sync(stream);
}

API_PT(cuStreamQuery, _ptsz, CUstream, handle)
{
    NEED_STREAM(stream, handle);
    int result = sim_capture_sync(stream);
    if (!result && is_busy(stream)) return NOT_READY;
    return result ? result : sim_stream_sync(stream);
}

API_PT(cuStreamGetFlags, _ptsz, CUstream, handle, unsigned *, flags)
{
    NEED_STREAM(stream, handle);
    if (!flags) return BAD_VALUE;
    *flags = stream->flags;
    return OK;
}

API_PT(cuStreamGetPriority, _ptsz, CUstream, handle, int *, priority)
{
    NEED_STREAM(stream, handle);
    if (!priority) return BAD_VALUE;
    *priority = stream->priority;
    return OK;
}

API_PT(cuStreamGetId, _ptsz, CUstream, handle, unsigned long long *, id)
{
    NEED_STREAM(stream, handle);
    if (!id) return BAD_VALUE;
    *id = stream->id;
    return OK;
}

API_PT(cuStreamGetCtx, _ptsz, CUstream, handle, CUcontext *, out)
{
    NEED_STREAM(stream, handle);
    if (!out) return BAD_VALUE;
    *out = (CUcontext)(void *)stream->context;
    return OK;
}

API_PT(cuStreamGetCtx_v2, _ptsz, CUstream, handle, CUcontext *, out, void **, green)
{
    NEED_STREAM(stream, handle);
    if (!out) return BAD_VALUE;
    *out = (CUcontext)(void *)stream->context;
    if (green) *green = NULL;
    return OK;
}

API(cuStreamGetGreenCtx, CUstream, handle, void **, green)
{
    NEED_STREAM(stream, handle);
    if (!green) return BAD_VALUE;
    *green = NULL;
    return OK;
}

API_PT(cuStreamGetDevice, _ptsz, CUstream, handle, int *, device)
{
    NEED_STREAM(stream, handle);
    if (!device) return BAD_VALUE;
    *device = stream->context->device->ordinal;
    return OK;
}

API_PT(cuStreamCopyAttributes, _ptsz, CUstream, to, CUstream, from)
{
    NEED_STREAM(stream, to);
    return sim_stream(from) ? OK : BAD_HANDLE;
}

API_PT(cuStreamGetAttribute, _ptsz, CUstream, handle, int, attribute, void *, value)
{
    NEED_STREAM(stream, handle);
    if (!value) return BAD_VALUE;
    memset(value, 0, 64);
    if (attribute == 8) memcpy(value, &stream->priority, sizeof stream->priority);
    return OK;
}

API_PT(cuStreamSetAttribute, _ptsz, CUstream, handle, int, attribute, const void *, value)
{
    (void)attribute;
    NEED_STREAM(stream, handle);
    return value ? OK : BAD_VALUE;
}

API_PT(cuStreamAttachMemAsync, _ptsz, CUstream, handle, CUdeviceptr, address, size_t, length, unsigned, flags)
{
    (void)address, (void)length, (void)flags;
    NEED_STREAM(stream, handle);
    return sim_capture_refuse(stream);
}

API_PT(cuLaunchHostFunc, _ptsz, CUstream, handle, void *, function, void *, data)
{
    NEED_STREAM(stream, handle);
    if (!function) return BAD_VALUE;
    bool captured;
    struct sim_work work = {.op = OP_HOST, .function = function, .data = data};
    int result = sim_submit(stream, &work, &captured);
    if (result == OK && !captured) sim_stream_do(stream, &work);
    return result;
}

API_PT(cuStreamAddCallback, _ptsz, CUstream, handle, void *, callback, void *, data, unsigned, flags)
{
    NEED_STREAM(stream, handle);
    if (!callback || flags != 0) return BAD_VALUE;
    int result = sim_capture_refuse(stream);
    if (result != OK) return result;
    void (*function)(CUstream, int, void *) = (void (*)(CUstream, int, void *))callback;
    function(handle, atomic_load(&context->sticky), data);
    return OK;
}

// A value in memory: the write is done in the order of the stream; a wait is taken to be fulfilled.
static int write_value(CUstream handle, uintptr_t address, uint64_t value, size_t size)
{
    NEED_STREAM(stream, handle);
    if (sim_listed(sim_set.lacks, "cuStreamWriteValue32")) return NOT_SUPPORTED;
    if (!sim_memory_has(address, size)) return BAD_VALUE;
    bool captured;
    struct sim_work work = {.op = OP_WRITE, .to = address, .from = value, .size = size};
    int result = sim_submit(stream, &work, &captured);
    if (result == OK && !captured) sim_stream_do(stream, &work);
    return result;
}
static int wait_value(CUstream handle, uintptr_t address, size_t size)
{
    NEED_STREAM(stream, handle);
    bool captured;
    return sim_memory_has(address, size) ? sim_submit(stream, &(struct sim_work){.op = OP_WRITE}, &captured)
                                         : BAD_VALUE;
}
API_PT(cuStreamWriteValue32_v2, _ptsz, CUstream, handle, CUdeviceptr, address, unsigned, value, unsigned, flags)
{
    (void)flags;
    return write_value(handle, address, value, 4);
}
API_PT(cuStreamWriteValue64_v2, _ptsz, CUstream, handle, CUdeviceptr, address, uint64_t, value, unsigned, flags)
{
    (void)flags;
    return write_value(handle, address, value, 8);
}
API_PT(cuStreamWaitValue32_v2, _ptsz, CUstream, handle, CUdeviceptr, address, unsigned, value, unsigned, flags)
{
    (void)flags, (void)value;
    return wait_value(handle, address, 4);
}
API_PT(cuStreamWaitValue64_v2, _ptsz, CUstream, handle, CUdeviceptr, address, uint64_t, value, unsigned, flags)
{
    (void)flags, (void)value;
    return wait_value(handle, address, 8);
}
API_ALSO(cuStreamWriteValue32, cuStreamWriteValue32_v2, CUstream, handle, CUdeviceptr, address, unsigned, value,
         unsigned, flags)
API_ALSO(cuStreamWriteValue64, cuStreamWriteValue64_v2, CUstream, handle, CUdeviceptr, address, uint64_t, value,
         unsigned, flags)
API_ALSO(cuStreamWaitValue32, cuStreamWaitValue32_v2, CUstream, handle, CUdeviceptr, address, unsigned, value, unsigned,
         flags)
API_ALSO(cuStreamWaitValue64, cuStreamWaitValue64_v2, CUstream, handle, CUdeviceptr, address, uint64_t, value, unsigned,
         flags)
