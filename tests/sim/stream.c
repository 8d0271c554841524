// stream.c - streams, events and functions of the host. All work is done at once, in the order of the calls.
#include "sim.h"

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

int sim_stream_sync(struct sim_stream *stream)
{
    struct sim_context *context = stream->context;
    // The legacy stream waits for every stream that is not NON_BLOCKING, and they for it.
    pthread_mutex_lock(&sim_lock);
    for (struct sim_stream *s = context->streams; s; s = s->next) {
        bool together = s == stream || (stream == context->legacy && !(s->flags & NON_BLOCKING)) ||
                        (s == context->legacy && !(stream->flags & NON_BLOCKING));
        int late = together ? atomic_exchange(&s->late, 0) : 0;
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
    while (!result && is_busy(stream)) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
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
    return OK;
}

API_PT(cuLaunchHostFunc, _ptsz, CUstream, handle, void *, function, void *, data)
{
    NEED_STREAM(stream, handle);
    if (!function) return BAD_VALUE;
    bool captured;
    struct sim_work work = {.op = OP_HOST, .function = function, .data = data};
    int result = sim_submit(stream, &work, &captured);
    if (result == OK && !captured) sim_work_run(&work);
    return result;
}

API_PT(cuStreamAddCallback, _ptsz, CUstream, handle, void *, callback, void *, data, unsigned, flags)
{
    NEED_STREAM(stream, handle);
    if (!callback || flags != 0) return BAD_VALUE;
    if (stream->capture) return CAPTURE_UNSUPPORTED;
    void (*function)(CUstream, int, void *) = (void (*)(CUstream, int, void *))callback;
    function(handle, atomic_load(&context->sticky), data);
    return OK;
}

// A value in memory: the write is done; a wait is taken to be fulfilled.
static int write_value(CUstream handle, uintptr_t address, uint64_t value, size_t size)
{
    NEED_STREAM(stream, handle);
    if (!sim_memory_has(address, size)) return BAD_VALUE;
    memcpy((void *)address, &value, size);
    return OK;
}
static int wait_value(CUstream handle, uintptr_t address, size_t size)
{
    NEED_STREAM(stream, handle);
    return sim_memory_has(address, size) ? OK : BAD_VALUE;
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
