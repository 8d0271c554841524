// context_state.c - what a context can be asked and told: flags, limits, peers, synchronisation.
#include "sim.h"

API(cuCtxGetFlags, unsigned *, flags)
{
    NEED_CONTEXT(context);
    if (!flags) return BAD_VALUE;
    *flags = context->flags;
    return OK;
}

API(cuCtxSetFlags, unsigned, flags)
{
    NEED_CONTEXT(context);
    context->flags = flags;
    return OK;
}

API0(cuCtxSynchronize)
{
    NEED_CONTEXT(context);
    int result = sim_capture_sync_all(context);
    return result ? result : sim_context_sync(context);
}

API(cuCtxSynchronize_v2, CUcontext, handle)
{
    struct sim_context *context = handle ? (void *)handle : sim_current();
    if (!sim_is(context, K_CONTEXT)) return BAD_CONTEXT;
    int result = sim_capture_sync_all(context);
    return result ? result : sim_context_sync(context);
}

enum { LIMIT_COUNT = 12 };

API(cuCtxSetLimit, int, limit, size_t, value)
{
    NEED_CONTEXT(context);
    if (limit < 0 || limit >= LIMIT_COUNT) return BAD_VALUE;
    context->limits[limit] = value;
    return OK;
}

API(cuCtxGetLimit, size_t *, value, int, limit)
{
    NEED_CONTEXT(context);
    if (!value || limit < 0 || limit >= LIMIT_COUNT) return BAD_VALUE;
    *value = context->limits[limit];
    return OK;
}

API(cuCtxGetCacheConfig, unsigned *, config)
{
    NEED_CONTEXT(context);
    if (!config) return BAD_VALUE;
    *config = context->cache_config;
    return OK;
}

API(cuCtxSetCacheConfig, unsigned, config)
{
    NEED_CONTEXT(context);
    context->cache_config = config;
    return OK;
}

API(cuCtxGetSharedMemConfig, unsigned *, config)
{
    NEED_CONTEXT(context);
    if (!config) return BAD_VALUE;
    *config = 1; // banks of four bytes
    return OK;
}

API(cuCtxSetSharedMemConfig, unsigned, config)
{
    NEED_CONTEXT(context);
    (void)config;
    return OK;
}

API(cuCtxGetStreamPriorityRange, int *, least, int *, greatest)
{
    NEED_CONTEXT(context);
    if (least) *least = 0;
    if (greatest) *greatest = -5;
    return OK;
}

API0(cuCtxResetPersistingL2Cache)
{
    NEED_CONTEXT(context);
    return OK;
}

API(cuCtxEnablePeerAccess, CUcontext, handle, unsigned, flags)
{
    NEED_CONTEXT(context);
    struct sim_context *peer = (void *)handle;
    if (!sim_is(peer, K_CONTEXT) || peer->device == context->device) return BAD_CONTEXT;
    if (flags != 0) return BAD_VALUE;
    unsigned bit = 1u << peer->device->ordinal;
    if (context->peers & bit) return PEER_ALREADY;
    context->peers |= bit;
    return OK;
}

API(cuCtxDisablePeerAccess, CUcontext, handle)
{
    NEED_CONTEXT(context);
    struct sim_context *peer = (void *)handle;
    if (!sim_is(peer, K_CONTEXT)) return BAD_CONTEXT;
    unsigned bit = 1u << peer->device->ordinal;
    if (!(context->peers & bit)) return PEER_MISSING;
    context->peers &= ~bit;
    return OK;
}

API(cuModuleGetLoadingMode, int *, mode)
{
    if (!mode) return BAD_VALUE;
    *mode = sim_set.eager ? NK_LOADING_EAGER : NK_LOADING_LAZY;
    return OK;
}

// Nobody profiles, logs or flushes here; programs that ask go on as they would.
API0(cuProfilerStart) { return OK; }
API0(cuProfilerStop) { return OK; }
API(cuFlushGPUDirectRDMAWrites, int, target, int, scope)
{
    (void)target, (void)scope;
    return OK;
}
API(cuLogsRegisterCallback, void *, callback, void *, data, void **, handle)
{
    (void)callback, (void)data;
    if (handle) *handle = &sim_set;
    return OK;
}
API(cuLogsUnregisterCallback, void *, handle)
{
    (void)handle;
    return OK;
}
