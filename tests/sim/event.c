// event.c - events. One has happened when the kernels before it have ended: at once, but for SIM_KERNEL_MS.
#include "capture.h"

#include <time.h>

static int create(CUevent *out, unsigned flags)
{
    NEED_CONTEXT(context);
    if (!out || flags > 7) return BAD_VALUE;
    struct sim_event *event = sim_new(K_EVENT);
    if (!event) return NO_MEMORY;
    event->context = context;
    event->flags = flags;
    *out = (CUevent)(void *)event;
    return OK;
}

API(cuEventCreate, CUevent *, out, unsigned, flags) { return create(out, flags); }

API(cuEventDestroy_v2, CUevent, handle)
{
    if (!sim_is(handle, K_EVENT)) return BAD_HANDLE;
    sim_capture_forget_event((void *)handle);
    sim_delete((void *)handle);
    return OK;
}
API_ALSO(cuEventDestroy, cuEventDestroy_v2, CUevent, handle)

static int record(CUevent handle, CUstream stream_handle, unsigned flags)
{
    NEED_CONTEXT(context);
    struct sim_event *event = (void *)handle;
    struct sim_stream *stream = sim_stream(stream_handle);
    if (!sim_is(event, K_EVENT) || !stream) return BAD_HANDLE;
    bool captured;
    int result = sim_capture_record(stream, event, flags, &captured);
    if (result != OK || captured) return result;
    event->recorded = sim_now();
    event->due = atomic_load(&stream->busy);
    event->stuck = sim_stream_stopped(stream);
    event->stream = stream;
    event->stream_id = stream->id;
    return OK;
}

API_PT(cuEventRecord, _ptsz, CUevent, event, CUstream, stream) { return record(event, stream, 0); }
API_PT(cuEventRecordWithFlags, _ptsz, CUevent, event, CUstream, stream, unsigned, flags)
{
    return record(event, stream, flags);
}

API_PT(cuStreamWaitEvent, _ptsz, CUstream, stream_handle, CUevent, handle, unsigned, flags)
{
    NEED_CONTEXT(context);
    struct sim_event *event = (void *)handle;
    struct sim_stream *stream = sim_stream(stream_handle);
    if (!sim_is(event, K_EVENT) || !stream) return BAD_HANDLE;
    int result = sim_capture_wait(stream, event, flags);
    if (result == OK && event->stuck && !stream->capture) atomic_store(&stream->stuck, true);
    return result;
}

static bool is_early(const struct sim_event *event)
{
    return sim_set.kernel_ns && event->recorded && event->due > sim_now() && !event->context->sticky;
}

// Waiting for an event also tells an error of the work before it, and only of that.
static int wait(CUevent handle)
{
    struct sim_event *event = (void *)handle;
    if (!sim_is(event, K_EVENT)) return BAD_HANDLE;
    int result = sim_capture_event_query(event);
    if (result != OK) return result;
    if (event->stuck && sim_is(event->stream, K_STREAM) && event->stream->id == event->stream_id)
        return sim_stream_sync(event->stream);
    return atomic_load(&event->context->sticky);
}

API(cuEventQuery, CUevent, event)
{
    int result = sim_capture_unsafe();
    if (result == OK && sim_is(event, K_EVENT) && is_early((void *)event)) return NOT_READY;
    return result ? result : wait(event);
}
API(cuEventSynchronize, CUevent, event)
{
    int result = sim_set.strict_capture ? sim_capture_unsafe() : OK;
    while (result == OK && sim_is(event, K_EVENT) && is_early((void *)event))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return result ? result : wait(event);
}

static int elapsed(float *milliseconds, CUevent start_handle, CUevent end_handle)
{
    struct sim_event *start = (void *)start_handle, *end = (void *)end_handle;
    if (!milliseconds) return BAD_VALUE;
    if (!sim_is(start, K_EVENT) || !sim_is(end, K_EVENT)) return BAD_HANDLE;
    enum { NO_TIMING = 2 };
    if (!start->recorded || !end->recorded || ((start->flags | end->flags) & NO_TIMING)) return BAD_HANDLE;
    *milliseconds = (float)((double)(end->recorded - start->recorded) / 1e6);
    return OK;
}

API(cuEventElapsedTime, float *, milliseconds, CUevent, start, CUevent, end)
{
    return elapsed(milliseconds, start, end);
}
API(cuEventElapsedTime_v2, float *, milliseconds, CUevent, start, CUevent, end)
{
    return elapsed(milliseconds, start, end);
}
