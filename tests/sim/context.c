// context.c - starting the driver, contexts, and which one is current in a thread.
#include "sim.h"

#include <stdio.h>
#include <string.h>

// The stack of the calling thread; its top is current.
static _Thread_local struct sim_context *stack[64];
static _Thread_local int depth;

struct sim_context *sim_current(void) { return depth > 0 ? stack[depth - 1] : NULL; }

int sim_usable(struct sim_context **context)
{
    *context = sim_current();
    if (!*context) return BAD_CONTEXT;
    if (!sim_is(*context, K_CONTEXT)) return CONTEXT_GONE;
    // A primary context that nobody retains is destroyed, though its handle stays.
    if (!(*context)->active) return CONTEXT_GONE;
    return atomic_load_explicit(&(*context)->sticky, memory_order_relaxed);
}

void sim_context_fail(struct sim_context *context, int code)
{
    int none = 0;
    atomic_store(&sim_failed, true);
    sim_writes_due(); // what comes later does not come at all
    atomic_compare_exchange_strong(&context->sticky, &none, code);
}

int sim_context_sync(struct sim_context *context)
{
    sim_stream_wait(context, NULL);
    int of_destroyed = atomic_exchange(&context->late, 0);
    if (of_destroyed) sim_context_fail(context, of_destroyed);
    pthread_mutex_lock(&sim_lock);
    for (struct sim_stream *s = context->streams; s; s = s->next) {
        int late = atomic_exchange(&s->late, 0);
        if (late) sim_context_fail(context, late);
    }
    pthread_mutex_unlock(&sim_lock);
    return atomic_load(&context->sticky);
}

static struct sim_context *new_context(struct sim_device *device, unsigned flags)
{
    static const size_t limits[12] = {1024, 1 << 20, 8 << 20, 2, 2048, 128};
    struct sim_context *context = sim_new(K_CONTEXT);
    if (!context) return NULL;
    context->device = device;
    context->flags = flags;
    context->id = sim_next_id();
    context->active = true;
    memcpy(context->limits, limits, sizeof limits);
    context->legacy = sim_stream_new(context, 0, 0);
    return context;
}

// Everything that is in a context goes with it.
static void empty(struct sim_context *context)
{
    pthread_mutex_lock(&sim_lock);
    sim_storage_clear(context);
    sim_modules_clear(context);
    sim_memory_clear(context);
    for (struct sim_stream *s = context->streams, *next; s; s = next) {
        next = s->next;
        if (s != context->legacy) sim_stream_free(s);
    }
    atomic_store(&context->legacy->late, 0);
    atomic_store(&context->legacy->stuck, false);
    atomic_store(&context->legacy->busy, 0);
    atomic_store(&context->sticky, 0);
    atomic_store(&context->late, 0);
    context->peers = 0;
    pthread_mutex_unlock(&sim_lock);
}

int sim_context_boot(void)
{
    for (int i = 0; i < sim_device_count; i++) {
        struct sim_context *context = new_context(&sim_devices[i], 0);
        if (!context) return NO_MEMORY;
        context->primary = true;
        context->active = false;
        sim_devices[i].primary = context;
    }
    return OK;
}

API_EARLY(cuInit, unsigned, flags)
{
    static bool started;
    if (flags != 0) return BAD_VALUE;
    if (atomic_load(&sim_gate) & GATE_FORKED) return NOT_INITIALIZED;
    pthread_mutex_lock(&sim_lock);
    int result = OK;
    if (!started) {
        sim_settings_read_env();
        result = sim_devices_find();
        if (result == OK) result = sim_context_boot();
        if (result == OK) started = true, atomic_fetch_and(&sim_gate, ~GATE_INIT);
    }
    pthread_mutex_unlock(&sim_lock);
    return result;
}

API_EARLY(cuDriverGetVersion, int *, version)
{
    if (!version) return BAD_VALUE;
    *version = sim_set.driver;
    return OK;
}

// ---- primary contexts
API(cuDevicePrimaryCtxRetain, CUcontext *, context, int, device)
{
    if (!context) return BAD_VALUE;
    if (!sim_device(device)) return BAD_DEVICE;
    struct sim_context *primary = sim_device(device)->primary;
    pthread_mutex_lock(&sim_lock);
    primary->retained++;
    primary->active = true;
    pthread_mutex_unlock(&sim_lock);
    *context = (CUcontext)(void *)primary;
    return OK;
}

API(cuDevicePrimaryCtxRelease_v2, int, device)
{
    if (!sim_device(device)) return BAD_DEVICE;
    struct sim_context *primary = sim_device(device)->primary;
    pthread_mutex_lock(&sim_lock);
    int result = primary->retained > 0 ? OK : BAD_CONTEXT;
    if (result == OK && --primary->retained == 0) {
        empty(primary);
        primary->active = false;
    }
    pthread_mutex_unlock(&sim_lock);
    return result;
}
API_ALSO(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, int, device)

API(cuDevicePrimaryCtxReset_v2, int, device)
{
    if (!sim_device(device)) return BAD_DEVICE;
    struct sim_context *primary = sim_device(device)->primary;
    empty(primary);
    pthread_mutex_lock(&sim_lock);
    primary->active = primary->retained > 0;
    pthread_mutex_unlock(&sim_lock);
    return OK;
}
API_ALSO(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2, int, device)

API(cuDevicePrimaryCtxSetFlags_v2, int, device, unsigned, flags)
{
    if (!sim_device(device)) return BAD_DEVICE;
    sim_device(device)->primary->flags = flags;
    return OK;
}
API_ALSO(cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2, int, device, unsigned, flags)

API(cuDevicePrimaryCtxGetState, int, device, unsigned *, flags, int *, active)
{
    if (!sim_device(device)) return BAD_DEVICE;
    if (flags) *flags = sim_device(device)->primary->flags;
    if (active) *active = sim_device(device)->primary->active;
    return OK;
}

// ---- a program's own contexts
static int create(CUcontext *context, unsigned flags, int device)
{
    if (!context) return BAD_VALUE;
    if (!sim_device(device)) return BAD_DEVICE;
    if (depth == sizeof stack / sizeof *stack) return NO_MEMORY;
    struct sim_context *made = new_context(sim_device(device), flags);
    if (!made) return NO_MEMORY;
    stack[depth++] = made;
    *context = (CUcontext)(void *)made;
    return OK;
}

API(cuCtxCreate_v2, CUcontext *, context, unsigned, flags, int, device) { return create(context, flags, device); }
API(cuCtxCreate_v3, CUcontext *, context, void *, affinity, int, count, unsigned, flags, int, device)
{
    (void)affinity, (void)count;
    return create(context, flags, device);
}
API(cuCtxCreate_v4, CUcontext *, context, void *, params, unsigned, flags, int, device)
{
    (void)params;
    return create(context, flags, device);
}

API(cuCtxDestroy_v2, CUcontext, handle)
{
    struct sim_context *context = (void *)handle;
    if (!sim_is(context, K_CONTEXT) || context->primary) return BAD_CONTEXT;
    if (sim_current() == context) depth--;
    pthread_mutex_lock(&sim_lock);
    empty(context);
    sim_stream_free(context->legacy);
    sim_delete(context);
    pthread_mutex_unlock(&sim_lock);
    return OK;
}
API_ALSO(cuCtxDestroy, cuCtxDestroy_v2, CUcontext, handle)
API_ALSO(cuCtxDetach, cuCtxDestroy_v2, CUcontext, handle)

API(cuCtxPushCurrent_v2, CUcontext, handle)
{
    if (!sim_is(handle, K_CONTEXT)) return BAD_CONTEXT;
    if (depth == sizeof stack / sizeof *stack) return BAD_VALUE;
    stack[depth++] = (void *)handle;
    return OK;
}
API_ALSO(cuCtxPushCurrent, cuCtxPushCurrent_v2, CUcontext, handle)

API(cuCtxPopCurrent_v2, CUcontext *, context)
{
    if (depth == 0) return BAD_CONTEXT;
    depth--;
    if (context) *context = (CUcontext)(void *)stack[depth];
    return OK;
}
API_ALSO(cuCtxPopCurrent, cuCtxPopCurrent_v2, CUcontext *, context)

API(cuCtxSetCurrent, CUcontext, handle)
{
    if (handle && !sim_is(handle, K_CONTEXT)) return BAD_CONTEXT;
    if (depth > 0) depth--;
    if (handle) stack[depth++] = (void *)handle;
    return OK;
}

API(cuCtxGetCurrent, CUcontext *, context)
{
    if (!context) return BAD_VALUE;
    *context = (CUcontext)(void *)sim_current();
    return OK;
}

API(cuCtxGetDevice, int *, device)
{
    if (!device) return BAD_VALUE;
    if (!sim_is(sim_current(), K_CONTEXT)) return BAD_CONTEXT;
    *device = sim_current()->device->ordinal;
    return OK;
}

API(cuCtxGetDevice_v2, int *, device, CUcontext, handle)
{
    struct sim_context *context = handle ? (void *)handle : sim_current();
    if (!device) return BAD_VALUE;
    if (!sim_is(context, K_CONTEXT)) return BAD_CONTEXT;
    *device = context->device->ordinal;
    return OK;
}

API(cuCtxGetId, CUcontext, handle, unsigned long long *, id)
{
    struct sim_context *context = handle ? (void *)handle : sim_current();
    if (!id) return BAD_VALUE;
    if (!sim_is(context, K_CONTEXT)) return BAD_CONTEXT;
    *id = context->id;
    return OK;
}

API(cuCtxGetApiVersion, CUcontext, handle, unsigned *, version)
{
    struct sim_context *context = handle ? (void *)handle : sim_current();
    if (!version) return BAD_VALUE;
    if (!sim_is(context, K_CONTEXT)) return BAD_CONTEXT;
    *version = 3020;
    return OK;
}
