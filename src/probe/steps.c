// steps.c - the steps of a probe, in a process of their own. Nothing is given back: the process ends behind them.
#define _GNU_SOURCE
#include "driver/abi.h"
#include "probe/probe.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = NK_PROBE_BYTES / 4, THREADS = 256, ERROR_LOG = 5, ERROR_LOG_SIZE = 6 }; // CU_JIT_ERROR_LOG_BUFFER...

static const struct {
    const char *key, *call;
    enum nk_probe_half half;
} steps[] = {
#define NK_STEP(name, key, half, call) {key, call, NK_PROBE_##half},
#include "probe/steps.def"
#undef NK_STEP
};

const char *nk_probe_key(enum nk_probe_step step) { return steps[step].key; }
const char *nk_probe_call(enum nk_probe_step step) { return steps[step].call; }
enum nk_probe_half nk_probe_half(enum nk_probe_step step) { return steps[step].half; }

// F(name, exported name, parameters): the functions of the driver that are called.
#define FUNCTIONS(F)                                                                                                   \
    F(init, "cuInit", (unsigned))                                                                                      \
    F(retain, "cuDevicePrimaryCtxRetain", (CUcontext *, CUdevice))                                                     \
    F(current, "cuCtxSetCurrent", (CUcontext))                                                                         \
    F(synchronise, "cuCtxSynchronize", (void))                                                                         \
    F(allocate, "cuMemAlloc_v2", (CUdeviceptr *, size_t))                                                              \
    F(there, "cuMemcpyHtoD_v2", (CUdeviceptr, const void *, size_t))                                                   \
    F(back, "cuMemcpyDtoH_v2", (void *, CUdeviceptr, size_t))                                                          \
    F(load, "cuModuleLoadDataEx", (CUmodule *, const void *, unsigned, int *, void **))                                \
    F(find, "cuModuleGetFunction", (CUfunction *, CUmodule, const char *))                                             \
    F(launch, "cuLaunchKernel",                                                                                        \
      (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **))

struct driver {
#define F(name, symbol, parameters) CUresult(*name) parameters;
    FUNCTIONS(F)
#undef F
};

static uint32_t pattern[COUNT], other[COUNT], got[COUNT];

static bool find_functions(struct driver *driver)
{
    void *libcuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!libcuda) return false;
#define F(name, symbol, parameters)                                                                                    \
    if (!(*(void **)&driver->name = dlsym(libcuda, symbol))) return false;
    FUNCTIONS(F)
#undef F
    return true;
}

// Is what was called good? Else that is the end.
static bool good(struct nk_probe_result *out, CUresult result)
{
    if (!result) return true;
    out->end = NK_PROBE_REFUSED;
    out->result = result;
    return false;
}

static bool begin(struct nk_probe_result *out, enum nk_probe_step step)
{
    out->step = step;
    return true;
}

static bool alike(struct nk_probe_result *out, bool computed)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t wanted = computed ? nk_probe_number(pattern[i], i) : pattern[i];
        if (got[i] == wanted) continue;
        if (!out->wrong++) out->at = i, out->wanted = wanted, out->got = got[i];
    }
    if (out->wrong) out->end = NK_PROBE_WRONG;
    return !out->wrong;
}

static bool memory(const struct driver *d, CUdeviceptr in, CUdeviceptr to, struct nk_probe_result *out)
{
    return begin(out, NK_STEP_COPY_THERE) && good(out, d->there(in, pattern, sizeof pattern)) &&
           good(out, d->there(to, other, sizeof other)) && begin(out, NK_STEP_COPY_BACK) &&
           good(out, d->back(got, in, sizeof got)) && begin(out, NK_STEP_COMPARE) && alike(out, false);
}

static bool loaded(const struct driver *d, CUmodule *module, struct nk_probe_result *out)
{
    int options[] = {ERROR_LOG, ERROR_LOG_SIZE};
    void *values[] = {out->log, (void *)(uintptr_t)(sizeof out->log - 1)};
    return good(out, d->load(module, nk_probe_ptx, 2, options, values));
}

static void launch(const struct driver *d, CUdeviceptr in, CUdeviceptr to, struct nk_probe_result *out)
{
    CUmodule module;
    CUfunction function;
    uint32_t count = COUNT;
    void *parameters[] = {&in, &to, &count};
    bool done = begin(out, NK_STEP_LOAD) && loaded(d, &module, out) && begin(out, NK_STEP_FIND) &&
                good(out, d->find(&function, module, NK_PROBE_KERNEL)) && begin(out, NK_STEP_LAUNCH) &&
                good(out, d->launch(function, COUNT / THREADS, 1, 1, THREADS, 1, 1, 0, NULL, parameters, NULL)) &&
                begin(out, NK_STEP_WAIT) && good(out, d->synchronise()) && begin(out, NK_STEP_COPY_RESULT) &&
                good(out, d->back(got, to, sizeof got));
    memset(out->log + sizeof out->log - 1, 0, 1);
    if (done && begin(out, NK_STEP_CHECK) && alike(out, true)) out->end = NK_PROBE_WORKS;
}

void nk_probe_run(int ordinal, struct nk_probe_result *out)
{
    struct driver d;
    CUcontext context;
    CUdeviceptr in, to;
    for (uint32_t i = 0; i < COUNT; i++) other[i] = ~(pattern[i] = i * 2654435761u);
    begin(out, NK_STEP_OPEN);
    if (!find_functions(&d)) {
        out->end = NK_PROBE_REFUSED;
        return;
    }
    // A driver keeps what it compiles in the home directory; nothing is to be left there, nor found.
    setenv("CUDA_CACHE_DISABLE", "1", 1);
    begin(out, NK_STEP_INIT);
    if (!good(out, d.init(0))) return;
    begin(out, NK_STEP_CONTEXT);
    if (!good(out, d.retain(&context, ordinal)) || !good(out, d.current(context))) return;
    begin(out, NK_STEP_ALLOCATE);
    if (!good(out, d.allocate(&in, NK_PROBE_BYTES)) || !good(out, d.allocate(&to, NK_PROBE_BYTES))) return;
    if (memory(&d, in, to, out)) launch(&d, in, to, out);
}
