// record_failure.c - failures: what caused them, how often, and where they were read.
#define _GNU_SOURCE
#include "core.h"

#include "entries.h"
#include "stack.h"
#include "trail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool nk_core_is_serious(int result)
{
    return result == 214 || result == 220 || (result >= 700 && result <= 721) || result == NK_CUDA_OUT_OF_MEMORY ||
           result == NK_CUDA_INVALID_SOURCE;
}

// Where the program itself made the call: past the shared runtime, whose own calls of the driver are hooked too.
static const void *program_of(const void *caller)
{
    enum { ROOM = 16 };
    void *addresses[ROOM];
    struct nk_dso dso;
    bool passed = false;
    if (!caller || !nk_dso_find(caller, &dso) || !strstr(dso.path, "/libcudart")) return caller;
    size_t count = nk_stack_walk(addresses, ROOM);
    for (size_t i = 0; i < count; i++) {
        bool inside = (uintptr_t)addresses[i] >= dso.start && (uintptr_t)addresses[i] < dso.end;
        if (passed && !inside) return addresses[i];
        passed |= inside;
    }
    return caller;
}

// ---- failures

static enum nk_failure_kind kind_of_call(enum nk_entry_id api)
{
    if (nk_entries[api].mode == NK_PROBE) return NK_FAILED_PROBE;
    return api == NK_cudaGraphAddKernelNode ? NK_FAILED_GRAPH : NK_FAILED_LAUNCH;
}

// What the runtime was called for says more than the driver's function that refused: a look-up inside a launch is a
// failed launch, one inside cudaFuncGetAttributes or an occupancy query a probe.
static void look_at_call(struct nk_event *event)
{
    struct nk_call *call = nk_thread.call;
    if (!call) return;
    if (event->kind != NK_FAILED_WAIT) event->kind = kind_of_call(call->api);
    struct nk_kernel *wanted = event->kernel ? NULL : nk_core_host_kernel(call->function);
    if (wanted) event->kernel = event->container ? nk_kernel_get(event->container, wanted->name) : wanted;
    call->failed = true;
}

// One failure for each kind, kernel (or container, while the kernel is unknown), result and GPU.
static uint64_t key_of(const struct nk_event *event)
{
    const void *subject = event->graph    ? (const void *)event->graph
                          : event->kernel ? (const void *)event->kernel
                                          : (const void *)event->container;
    uint64_t place = subject ? (uintptr_t)subject : (uint64_t)event->api;
    return nk_hash_u64(place) ^ nk_hash_u64((uint64_t)event->kind << 32 | (uint32_t)event->result) ^ event->gpu;
}

static void add_failure(struct nk_failure *failure, const struct nk_event *event)
{
    const struct nk_call *call = nk_thread.call;
    struct nk_container *container = event->container;
    if (!container && event->kernel) container = event->kernel->container;
    nk_core_container(container, event->caller);
    nk_core_kernel(event->kernel, event->gpu);
    nk_core_graph(event->graph, event->gpu);
    struct nk_rec_failure record = {
        .id = failure->id,
        .kind = event->kind,
        .api = nk_core_text(nk_entries[event->api].symbol),
        .inside = call && call->api != event->api ? nk_core_text(nk_entries[call->api].symbol) : 0,
        .result = event->result,
        .kernel = event->kernel ? event->kernel->id : 0,
        .container = container ? container->id : 0,
        .library = nk_core_library_at(call ? call->caller : program_of(event->caller)),
        .gpu = event->gpu,
        .pinned = event->pinned,
        .runtime = event->runtime,
        .thread = nk_thread_id(),
        .stream = (uintptr_t)event->stream,
        .time = nk_core_time(),
        .graph = event->graph ? event->graph->id : 0,
        .at_end = event->at_end,
    };
    failure->counter = nk_writer_counter(&nk_core.writer, &record.counter);
    if (!event->at_end) // else it would be that of the end
        failure->place[failure->places++] = nk_core_place(&record.stack, &record.python, NULL, 0);
    __atomic_fetch_add(failure->counter, 1, __ATOMIC_RELAXED);
    nk_writer_add(&nk_core.writer, NK_REC_FAILURE, &record, sizeof record, NULL, 0);
    if (event->pinned == NK_PINNED_TRAIL) nk_core_trail(failure->id);
    // 400: what 12.8 and 12.9 runtimes answer, EAGER, for a kernel whose fat binary was refused at their start.
    if (nk_result_is_image(event->result) || event->result == NK_CUDA_INVALID_HANDLE)
        nk_core_explain(event->kernel, container);
}

// The first times, and then ever more seldom: a program may fail in a loop.
static void add_place(struct nk_failure *failure, const struct nk_event *event)
{
    struct nk_rec_place record = {.failure = failure->id, .nth = *failure->counter};
    bool turn = record.nth <= 8 || !(record.nth & (record.nth - 1));
    if (!turn || failure->places == NK_MOST_PLACES || event->kind == NK_FAILED_PROBE || event->at_end) return;
    uint64_t key = nk_core_place(&record.stack, &record.python, failure->place, failure->places);
    if (!key) return;
    failure->place[failure->places++] = key;
    nk_writer_add(&nk_core.writer, NK_REC_PLACE, &record, sizeof record, NULL, 0);
}

void nk_core_fail(const struct nk_event *seen)
{
    struct nk_event event = *seen;
    // A runtime that takes itself apart refuses the launches of other threads by itself: kernels are no longer
    // registered.
    if (nk_core.reported && (event.runtime || !nk_result_is_image(event.result))) return;
    if (event.kind == NK_FAILED_WAIT && nk_pin == NK_PIN_TRAIL && nk_core_is_late(event.result))
        nk_core_trail_suspect(&event);
    look_at_call(&event);
    uint64_t key = key_of(&event);
    struct nk_failure *failure = nk_table_get(&nk_core.failures_by_key, key);
    if (!failure && nk_core.writer.fd < 0) {
        nk_core.unrecorded++;
        return;
    }
    if (failure) {
        __atomic_fetch_add(failure->counter, 1, __ATOMIC_RELAXED);
        add_place(failure, &event);
    } else {
        failure = nk_got(calloc(1, sizeof *failure));
        if (!failure || nk_table_put(&nk_core.failures_by_key, key, failure)) {
            free(failure);
            return;
        }
        failure->id = ++nk_core.failures;
        failure->result = event.result;
        failure->gpu = event.gpu;
        add_failure(failure, &event);
        if (nk_core.reported && event.kind != NK_FAILED_PROBE) nk_core.failed_late = true;
    }
    failure->over = false;
    failure->thread = &nk_thread;
    failure->launches = nk_thread.launches;
    nk_core.last_failure = failure;
}

// Can a failure of this GPU (NK_NONE: of any) have left this error behind?
static bool left(const struct nk_failure *failure, int result, uint32_t gpu)
{
    bool same = gpu == NK_NONE || failure->gpu == NK_NONE || failure->gpu == gpu;
    return failure->result == result && same && !failure->over;
}

// The failure that left this error behind: the last one, else any with that result.
static struct nk_failure *origin_of(int result, uint32_t gpu)
{
    if (nk_core.last_failure && left(nk_core.last_failure, result, gpu)) return nk_core.last_failure;
    size_t cursor = 0;
    struct nk_failure *failure;
    while ((failure = nk_table_next(&nk_core.failures_by_key, &cursor, NULL)))
        if (left(failure, result, gpu)) return failure;
    return NULL;
}

bool nk_core_is_known(int result, uint32_t gpu) { return origin_of(result, gpu) != NULL; }

static void add_surfaced(struct nk_failure *failure, enum nk_entry_id api, int r, const void *caller)
{
    if (failure->surfaced) return;
    failure->surfaced = true;
    struct nk_rec_surfaced record = {
        .failure = failure->id,
        .api = nk_core_text(nk_entries[api].symbol),
        .result = r,
        .library = nk_core_library_at(program_of(caller)),
        .later = failure->thread != &nk_thread || failure->launches != nk_thread.launches,
        .thread = nk_thread_id(),
        .time = nk_core_time(),
    };
    if (record.later) nk_core_place(&record.stack, NULL, NULL, 0);
    nk_writer_add(&nk_core.writer, NK_REC_SURFACED, &record, sizeof record, NULL, 0);
}

bool nk_core_comes_back(enum nk_entry_id api, int r, uint32_t gpu, const void *caller)
{
    struct nk_failure *origin = nk_result_is_sticky(r) ? origin_of(r, gpu) : NULL;
    if (origin) add_surfaced(origin, api, r, caller);
    return origin != NULL;
}

void nk_record_surfaced(enum nk_entry_id api, cudaError_t r, const void *caller)
{
    int saved;
    // Nothing failed that we saw: nothing to say, and no recording to open for it.
    if (!nk_core.last_failure || !nk_enter(&saved)) return;
    struct nk_failure *origin = origin_of(r, NK_NONE);
    if (origin) add_surfaced(origin, api, r, caller);
    nk_leave(saved);
}

// ---- what the hooks report

void nk_core_launch_failed(struct nk_event event)
{
    int saved;
    if (event.pinned == NK_PINNED_RETURNED && nk_core_is_late(event.result)) {
        nk_record_wait(event.api, event.stream, event.result, event.caller); // this launch is innocent
        return;
    }
    event.gpu = nk_core_gpu_here();
    if (event.result == 4 || !nk_enter(&saved)) return; // CUDA_ERROR_DEINITIALIZED: the process is ending
    if (event.pinned == NK_PINNED_SYNCHRONISED || !nk_core_comes_back(event.api, event.result, event.gpu, event.caller))
        nk_core_fail(&event);
    nk_leave(saved);
}

// A program that was refused a kernel, does not look, and launches nothing (TensorFlow does): what it tells its user is
// this call's error, but that is where the refusal surfaced.
static bool is_refusal_that_surfaces(enum nk_entry_id api, const void *function, CUresult r, const void *caller)
{
    int saved;
    if (function || r != NK_CUDA_INVALID_HANDLE || !nk_core.last_failure || !nk_enter(&saved)) return false;
    struct nk_failure *last = nk_core.last_failure;
    bool refused =
        nk_result_is_image(last->result) && last->thread == &nk_thread && last->launches == nk_thread.launches;
    if (refused) add_surfaced(last, api, r, caller);
    nk_leave(saved);
    return refused;
}

void nk_record_launch_failed(enum nk_entry_id api, const void *function, const void *stream, CUresult r,
                             enum nk_pinned pinned, const void *caller)
{
    if (is_refusal_that_surfaces(api, function, r, caller)) return;
    nk_core_launch_failed((struct nk_event){.kind = NK_FAILED_LAUNCH,
                                            .api = api,
                                            .result = r,
                                            .kernel = nk_kernel_of(function),
                                            .caller = caller,
                                            .stream = stream,
                                            .pinned = pinned});
}

void nk_record_gave_up(const void *function)
{
    int saved;
    char text[512];
    nk_pin = 0;
    if (!nk_enter(&saved)) return;
    const struct nk_kernel *kernel = function ? nk_kernel_of(function) : NULL;
    snprintf(
        text, sizeof text,
        "launches are no longer waited for: %.300s had not ended after %s s (NOKERNEL_WAIT), perhaps because it waits "
        "for a later one; errors of a kernel itself can now show in a later call",
        kernel     ? kernel->name
        : function ? "a kernel"
                   : "a graph",
        nk_core.settings.wait);
    nk_core_note(text);
    nk_leave(saved);
}

void nk_record_probe(enum nk_entry_id api, const void *function, CUresult r, const void *caller)
{
    int saved;
    // Only refusals for want of an image: "too many resources" is an answer, not a refusal.
    if (!nk_result_is_image(r)) return;
    uint32_t gpu = nk_core_gpu_here();
    if (!nk_enter(&saved)) return;
    nk_core_fail(&(struct nk_event){.kind = NK_FAILED_PROBE,
                                    .api = api,
                                    .result = r,
                                    .kernel = nk_kernel_of(function),
                                    .caller = caller,
                                    .pinned = NK_PINNED_RETURNED,
                                    .gpu = gpu});
    nk_leave(saved);
}

void nk_record_wait(enum nk_entry_id api, const void *stream, CUresult r, const void *caller)
{
    int saved;
    // 600: "not ready" is no error. Other results of a wait (invalid handle, no context) are the program's own affair.
    if (!nk_result_is_sticky(r) && !nk_result_is_image(r)) return;
    uint32_t gpu = nk_core_gpu_here();
    CUcontext context = nk_pin == NK_PIN_TRAIL ? nk_trail_context((CUstream)stream) : NULL;
    if (!nk_enter(&saved)) return;
    if (!nk_core_comes_back(api, r, gpu, caller))
        nk_core_fail(&(struct nk_event){.kind = NK_FAILED_WAIT,
                                        .api = api,
                                        .result = r,
                                        .caller = caller,
                                        .stream = stream,
                                        .pinned = NK_PINNED_RETURNED,
                                        .gpu = gpu,
                                        .context = context});
    nk_leave(saved);
}

void nk_record_context_ended(uint32_t gpu)
{
    int saved;
    size_t cursor = 0;
    struct nk_failure *failure;
    if (!nk_core.last_failure || !nk_enter_quietly(&saved)) return;
    while ((failure = nk_table_next(&nk_core.failures_by_key, &cursor, NULL)))
        failure->over |= nk_result_is_sticky(failure->result) && (gpu == NK_NONE || failure->gpu == gpu);
    nk_leave(saved);
}

// A runtime can answer from memory: one refusal by the driver, then failures that no driver call shows.
static void runtime_failed(struct nk_call *call, cudaError_t r)
{
    int saved;
    enum nk_failure_kind kind = kind_of_call(call->api);
    if (r == 4 || (kind == NK_FAILED_PROBE && !nk_result_is_image(r))) return;
    if (nk_core_is_late(r)) {
        nk_record_wait(call->api, NULL, r, call->caller);
        return;
    }
    uint32_t gpu = nk_core_gpu_here();
    if (!nk_enter(&saved)) return;
    if (!nk_core_comes_back(call->api, r, gpu, call->caller))
        nk_core_fail(&(struct nk_event){.kind = kind,
                                        .api = call->api,
                                        .result = r,
                                        .runtime = true,
                                        .kernel = nk_core_host_kernel(call->function),
                                        .caller = call->caller,
                                        .pinned = NK_PINNED_RETURNED,
                                        .gpu = gpu});
    nk_leave(saved);
}

cudaError_t nk_call_end(struct nk_call *call, cudaError_t r)
{
    if (__builtin_expect(r != NK_CUDA_SUCCESS, 0) && !call->failed) runtime_failed(call, r);
    nk_thread.call = call->outer;
    return r;
}
