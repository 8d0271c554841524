// resolve.h - finding the real functions. Idempotent, without a lock of our own, usable from constructors.
#ifndef NK_PRELOAD_RESOLVE_H
#define NK_PRELOAD_RESOLVE_H

#include "real.h"

#include <stdbool.h>

// libc's own dlsym. NULL until nk_resolve_dlsym ran.
extern void *(*nk_real_dlsym)(void *handle, const char *name);
void nk_resolve_dlsym(void);

// Fills all driver slots when libcuda.so.1 is in the process; loads nothing. True when it is there.
bool nk_resolve_driver(void);

// The runtime that the code at `caller` is linked with: found in the caller's own dependency order, because Python
// loads libcudart with RTLD_LOCAL and two runtimes may live in one process. Never NULL; its members may be.
const struct nk_runtime *nk_runtime_of(const void *caller);
// The object around `caller` may be unloading: other code can take its addresses.
void nk_runtime_doubt(const void *caller);

// What dlsym(RTLD_DEFAULT, symbol) would have answered the code at `caller` without us: a function or NULL (then
// dlerror is set).
void *nk_resolve_global(const char *symbol, const void *caller);

#endif
