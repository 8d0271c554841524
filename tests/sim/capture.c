// capture.c - stream capture: calls become nodes of a graph, and what a capture forbids is refused.
//
// The rules are those of NVIDIA's driver API manual, "Stream Management": cuStreamBeginCapture,
// cuThreadExchangeStreamCaptureMode, and the programming guide's section on prohibited operations.
#include "capture.h"

#include <stdlib.h>
#include <string.h>

enum { NONE, ACTIVE, INVALIDATED }; // CUstreamCaptureStatus
struct sim_capture {
    int status;
    unsigned mode; // NK_CAPTURE_*
    unsigned long long id;
    pthread_t thread;
    struct sim_graph *graph;
    struct sim_stream *origin;
    bool given; // the graph is the program's own (cuStreamBeginCaptureToGraph)
    struct sim_capture *next;
};

_Atomic int sim_capturing;
static struct sim_capture *captures;
static _Thread_local unsigned thread_mode = NK_CAPTURE_GLOBAL;
enum { NON_BLOCKING = 1 };

static void set_tails(struct sim_stream *stream, struct sim_node *const *tails, size_t count)
{
    if (count > stream->tail_room) {
        void *more = realloc(stream->tails, count * sizeof *tails);
        if (!more) return;
        stream->tails = more;
        stream->tail_room = count;
    }
    if (count) memmove(stream->tails, tails, count * sizeof *tails);
    stream->tail_count = count;
}

static void leave(struct sim_stream *stream)
{
    stream->capture = NULL;
    stream->tail_count = 0;
}

static void each_stream(struct sim_capture *capture, void (*act)(struct sim_stream *))
{
    for (struct sim_stream *s = capture->origin->context->streams; s; s = s->next)
        if (s->capture == capture) act(s);
}

static void end(struct sim_capture *capture)
{
    each_stream(capture, leave);
    struct sim_capture **at = &captures;
    while (*at && *at != capture) at = &(*at)->next;
    if (*at) *at = capture->next;
    atomic_fetch_sub(&sim_capturing, 1);
    free(capture);
}

static int invalidate(struct sim_capture *capture, int result)
{
    capture->status = INVALIDATED;
    return result;
}

// A call that could wait for, or wait on behalf of, the GPU behind the back of a capture.
int sim_capture_unsafe(void)
{
    if (!atomic_load_explicit(&sim_capturing, memory_order_relaxed) || thread_mode == NK_CAPTURE_RELAXED) return OK;
    int result = OK;
    pthread_mutex_lock(&sim_lock);
    for (struct sim_capture *c = captures; c; c = c->next) {
        bool mine = pthread_equal(c->thread, pthread_self());
        bool forbids =
            mine ? c->mode != NK_CAPTURE_RELAXED : c->mode == NK_CAPTURE_GLOBAL && thread_mode == NK_CAPTURE_GLOBAL;
        if (forbids && c->status == ACTIVE) result = invalidate(c, CAPTURE_UNSUPPORTED);
    }
    pthread_mutex_unlock(&sim_lock);
    return result;
}

// A capture in a stream that waits for the legacy one, if `stream` is the legacy one.
static struct sim_capture *met(struct sim_stream *stream)
{
    if (stream != stream->context->legacy) return NULL;
    for (struct sim_stream *s = stream->context->streams; s; s = s->next)
        if (s->capture && !(s->flags & NON_BLOCKING)) return s->capture;
    return NULL;
}

// Work in the legacy stream spoils every such capture.
static int implicit(struct sim_stream *stream)
{
    if (stream != stream->context->legacy) return OK;
    int result = OK;
    for (struct sim_stream *s = stream->context->streams; s; s = s->next)
        if (s->capture && !(s->flags & NON_BLOCKING)) result = invalidate(s->capture, CAPTURE_IMPLICIT);
    return result;
}

int sim_capture_refuse(struct sim_stream *stream)
{
    if (!atomic_load_explicit(&sim_capturing, memory_order_relaxed)) return OK;
    pthread_mutex_lock(&sim_lock);
    int result = stream->capture ? invalidate(stream->capture, CAPTURE_UNSUPPORTED) : implicit(stream);
    pthread_mutex_unlock(&sim_lock);
    return result;
}

int sim_capture_sync(struct sim_stream *stream)
{
    if (!atomic_load_explicit(&sim_capturing, memory_order_relaxed)) return OK;
    int result = sim_capture_refuse(stream);
    if (result == OK && sim_set.strict_capture) result = sim_capture_unsafe();
    return result;
}

int sim_capture_sync_all(struct sim_context *context)
{
    if (!atomic_load_explicit(&sim_capturing, memory_order_relaxed)) return OK;
    int result = OK;
    pthread_mutex_lock(&sim_lock);
    for (struct sim_stream *s = context->streams; s; s = s->next)
        if (s->capture) result = invalidate(s->capture, CAPTURE_UNSUPPORTED);
    pthread_mutex_unlock(&sim_lock);
    return result;
}

int sim_submit(struct sim_stream *stream, const struct sim_work *work, bool *captured)
{
    *captured = false;
    if (!atomic_load_explicit(&sim_capturing, memory_order_relaxed)) return OK;
    pthread_mutex_lock(&sim_lock);
    int result = OK;
    struct sim_capture *capture = stream->capture;
    if (!capture) {
        result = implicit(stream);
    } else if (capture->status == INVALIDATED) {
        result = CAPTURE_INVALIDATED;
    } else {
        struct sim_work node_work = *work;
        node_work.late = sim_late_take();
        struct sim_node *node = sim_graph_add(capture->graph, &node_work, stream->tails, stream->tail_count);
        if (node) set_tails(stream, &node, 1);
        *captured = true;
        result = node ? OK : NO_MEMORY;
    }
    pthread_mutex_unlock(&sim_lock);
    return result;
}

void sim_capture_forget(struct sim_stream *stream)
{
    if (stream->capture) {
        struct sim_capture *capture = stream->capture;
        capture->status = INVALIDATED;
        if (capture->origin == stream) {
            if (!capture->given) sim_graph_free(capture->graph);
            end(capture);
        }
    }
    free(stream->tails);
    stream->tails = NULL;
}

// ---- events in captures
void sim_capture_forget_event(struct sim_event *event) { free(event->tails); }

int sim_capture_record(struct sim_stream *stream, struct sim_event *event, unsigned flags, bool *captured)
{
    *captured = false;
    if (!atomic_load_explicit(&sim_capturing, memory_order_relaxed) && !event->capture) return OK;
    enum { EXTERNAL = 1 };
    if (stream->capture && flags == EXTERNAL) return sim_submit(stream, &(struct sim_work){.op = OP_RECORD}, captured);
    int result = OK;
    pthread_mutex_lock(&sim_lock);
    event->capture = 0;
    if (!stream->capture) {
        result = implicit(stream);
    } else if (stream->capture->status == INVALIDATED) {
        result = CAPTURE_INVALIDATED;
    } else {
        void *tails = realloc(event->tails, (stream->tail_count + 1) * sizeof *event->tails);
        if (tails) event->tails = tails;
        event->tail_count = tails ? stream->tail_count : 0;
        if (event->tail_count) memcpy(event->tails, stream->tails, event->tail_count * sizeof *event->tails);
        event->capture = stream->capture->id;
        *captured = true;
    }
    pthread_mutex_unlock(&sim_lock);
    return result;
}

static struct sim_capture *with_id(unsigned long long id)
{
    struct sim_capture *c = captures;
    while (c && c->id != id) c = c->next;
    return c;
}

// The stream goes on after what it did and what the event stands for; one that was not captured joins.
static int join(struct sim_stream *stream, struct sim_event *event, struct sim_capture *capture)
{
    if (stream->capture && stream->capture != capture) return invalidate(stream->capture, CAPTURE_MERGE);
    struct sim_node *tails[64];
    size_t count = stream->tail_count < 64 ? stream->tail_count : 64;
    if (count) memcpy(tails, stream->tails, count * sizeof *tails);
    for (size_t i = 0; i < event->tail_count && count < 64; i++) {
        bool there = false;
        for (size_t k = 0; k < count; k++) there |= tails[k] == event->tails[i];
        if (!there) tails[count++] = event->tails[i];
    }
    stream->capture = capture;
    set_tails(stream, tails, count);
    return OK;
}

int sim_capture_wait(struct sim_stream *stream, struct sim_event *event, unsigned flags)
{
    if (!atomic_load_explicit(&sim_capturing, memory_order_relaxed)) return OK;
    enum { EXTERNAL = 1 };
    bool captured;
    if (stream->capture && flags == EXTERNAL) return sim_submit(stream, &(struct sim_work){.op = OP_WAIT}, &captured);
    pthread_mutex_lock(&sim_lock);
    struct sim_capture *capture = event->capture ? with_id(event->capture) : NULL;
    int result = OK;
    if (stream->capture && stream->capture->status == INVALIDATED)
        result = CAPTURE_INVALIDATED;
    else if (capture && stream == stream->context->legacy)
        result = invalidate(capture, CAPTURE_IMPLICIT);
    else if (capture)
        result = join(stream, event, capture);
    else if (stream->capture) // the event stands for work that is not captured
        result = event->recorded ? invalidate(stream->capture, CAPTURE_ISOLATION) : OK;
    pthread_mutex_unlock(&sim_lock);
    return result;
}

int sim_capture_event_query(struct sim_event *event)
{
    if (!event->capture) return OK;
    pthread_mutex_lock(&sim_lock);
    struct sim_capture *capture = with_id(event->capture);
    int result = capture ? invalidate(capture, CAPTURED_EVENT) : CAPTURED_EVENT;
    pthread_mutex_unlock(&sim_lock);
    return result;
}

// ---- the driver's functions
static int begin(CUstream handle, unsigned mode, struct sim_graph *graph)
{
    NEED_CONTEXT(context);
    struct sim_stream *stream = sim_stream(handle);
    if (!stream) return BAD_HANDLE;
    if (mode > NK_CAPTURE_RELAXED) return BAD_VALUE;
    if (stream == context->legacy) return CAPTURE_UNSUPPORTED;
    if (stream->capture) return BAD_VALUE;
    struct sim_capture *capture = calloc(1, sizeof *capture);
    if (!capture) return NO_MEMORY;
    *capture = (struct sim_capture){.status = ACTIVE,
                                    .mode = mode,
                                    .id = sim_next_id(),
                                    .thread = pthread_self(),
                                    .origin = stream,
                                    .given = graph != NULL,
                                    .graph = graph ? graph : sim_graph_new()};
    pthread_mutex_lock(&sim_lock);
    capture->next = captures;
    captures = capture;
    stream->capture = capture;
    stream->tail_count = 0;
    atomic_fetch_add(&sim_capturing, 1);
    pthread_mutex_unlock(&sim_lock);
    return OK;
}

API_PT(cuStreamBeginCapture, _ptsz, CUstream, stream) { return begin(stream, NK_CAPTURE_GLOBAL, NULL); }
API_PT(cuStreamBeginCapture_v2, _ptsz, CUstream, stream, unsigned, mode) { return begin(stream, mode, NULL); }
API_PT(cuStreamBeginCaptureToGraph, _ptsz, CUstream, stream_handle, CUgraph, graph, CUgraphNode *, depends, void *,
       edges, size_t, count, unsigned, mode)
{
    (void)edges;
    if (!sim_is(graph, K_GRAPH)) return BAD_HANDLE;
    int result = begin(stream_handle, mode, (void *)graph);
    if (result == OK) set_tails(sim_stream(stream_handle), (struct sim_node **)(void *)depends, count);
    return result;
}

static int finish(struct sim_stream *stream, struct sim_graph **graph)
{
    struct sim_capture *capture = stream->capture;
    *graph = NULL;
    if (!capture) return BAD_VALUE;
    if (capture->origin != stream) return invalidate(capture, CAPTURE_UNMATCHED);
    if (capture->mode != NK_CAPTURE_RELAXED && !pthread_equal(capture->thread, pthread_self()))
        return invalidate(capture, CAPTURE_WRONG_THREAD);
    int result = capture->status == INVALIDATED ? CAPTURE_INVALIDATED : OK;
    if (result == OK && !sim_graph_all_before(capture->graph, stream->tails, stream->tail_count))
        result = CAPTURE_UNJOINED;
    if (result == OK)
        *graph = capture->graph;
    else if (!capture->given)
        sim_graph_free(capture->graph);
    end(capture);
    return result;
}

static int end_capture(CUstream handle, CUgraph *out)
{
    NEED_CONTEXT(context);
    struct sim_stream *stream = sim_stream(handle);
    struct sim_graph *graph;
    if (!stream) return BAD_HANDLE;
    if (!out) return BAD_VALUE;
    pthread_mutex_lock(&sim_lock);
    int result = finish(stream, &graph);
    pthread_mutex_unlock(&sim_lock);
    *out = (CUgraph)(void *)graph;
    return result;
}

API_PT(cuStreamEndCapture, _ptsz, CUstream, stream, CUgraph *, out) { return end_capture(stream, out); }

// A capture into the command buffer of a graphics interface: here what was captured is thrown away.
API_PT(cuStreamBeginCaptureToCig, _ptsz, CUstream, stream, void *, params)
{
    (void)params;
    return begin(stream, NK_CAPTURE_RELAXED, NULL);
}
API_PT(cuStreamEndCaptureToCig, _ptsz, CUstream, stream)
{
    CUgraph graph = NULL;
    int result = end_capture(stream, &graph);
    pthread_mutex_lock(&sim_lock);
    if (graph) sim_graph_free((void *)graph);
    pthread_mutex_unlock(&sim_lock);
    return result;
}

API_PT(cuStreamIsCapturing, _ptsz, CUstream, handle, int *, status)
{
    NEED_CONTEXT(context);
    struct sim_stream *stream = sim_stream(handle);
    if (!stream) return BAD_HANDLE;
    if (!status) return BAD_VALUE;
    *status = NONE;
    if (!atomic_load_explicit(&sim_capturing, memory_order_relaxed)) return OK;
    pthread_mutex_lock(&sim_lock);
    int result = met(stream) ? CAPTURE_IMPLICIT : OK; // a question spoils nothing
    if (stream->capture) *status = stream->capture->status;
    pthread_mutex_unlock(&sim_lock);
    return result;
}

static int info(CUstream handle, int *status, uint64_t *id, CUgraph *graph, const CUgraphNode **depends, size_t *count)
{
    NEED_CONTEXT(context);
    struct sim_stream *stream = sim_stream(handle);
    if (!stream) return BAD_HANDLE;
    if (!status) return BAD_VALUE;
    pthread_mutex_lock(&sim_lock);
    struct sim_capture *capture = stream->capture;
    *status = capture ? capture->status : NONE;
    bool active = capture && capture->status == ACTIVE;
    if (active && id) *id = capture->id;
    if (active && graph) *graph = (CUgraph)(void *)capture->graph;
    if (depends) *depends = active && stream->tail_count ? stream->tails : NULL;
    if (count) *count = active ? stream->tail_count : 0;
    int result = met(stream) ? CAPTURE_IMPLICIT : OK;
    pthread_mutex_unlock(&sim_lock);
    return result;
}

API_PT(cuStreamGetCaptureInfo, _ptsz, CUstream, stream, int *, status, uint64_t *, id)
{
    return info(stream, status, id, NULL, NULL, NULL);
}
API_PT(cuStreamGetCaptureInfo_v2, _ptsz, CUstream, stream, int *, status, uint64_t *, id, CUgraph *, graph,
       const CUgraphNode **, depends, size_t *, count)
{
    return info(stream, status, id, graph, depends, count);
}
API_PT(cuStreamGetCaptureInfo_v3, _ptsz, CUstream, stream, int *, status, uint64_t *, id, CUgraph *, graph,
       const CUgraphNode **, depends, const void **, edges, size_t *, count)
{
    if (edges) *edges = NULL;
    return info(stream, status, id, graph, depends, count);
}

static int update(CUstream handle, CUgraphNode *nodes, size_t count, unsigned flags)
{
    NEED_CONTEXT(context);
    struct sim_stream *stream = sim_stream(handle);
    if (!stream) return BAD_HANDLE;
    if (!stream->capture) return 401; // CUDA_ERROR_ILLEGAL_STATE
    pthread_mutex_lock(&sim_lock);
    enum { SET = 1 };
    if (flags != SET) {
        struct sim_event more = {.tails = (struct sim_node **)(void *)nodes, .tail_count = count};
        join(stream, &more, stream->capture);
    } else {
        set_tails(stream, (struct sim_node **)(void *)nodes, count);
    }
    pthread_mutex_unlock(&sim_lock);
    return OK;
}

API_PT(cuStreamUpdateCaptureDependencies, _ptsz, CUstream, stream, CUgraphNode *, nodes, size_t, count, unsigned, flags)
{
    return update(stream, nodes, count, flags);
}
API_PT(cuStreamUpdateCaptureDependencies_v2, _ptsz, CUstream, stream, CUgraphNode *, nodes, void *, edges, size_t,
       count, unsigned, flags)
{
    (void)edges;
    return update(stream, nodes, count, flags);
}

API(cuThreadExchangeStreamCaptureMode, unsigned *, mode)
{
    if (!mode || *mode > NK_CAPTURE_RELAXED) return BAD_VALUE;
    unsigned before = thread_mode;
    thread_mode = *mode;
    *mode = before;
    return OK;
}
