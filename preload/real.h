// real.h - the real functions of the driver and of the runtimes, typed, one slot each; made of entries.def.
#ifndef NK_PRELOAD_REAL_H
#define NK_PRELOAD_REAL_H

#include "driver/abi.h"
#include "driver/entries.h"

#include <stdatomic.h>

// The driver's functions. There is one driver in a process, so a slot holds its function, or at first a thunk that
// resolves all slots and calls again: callers never test a slot. A function that the driver lacks answers 500.
struct nk_real {
#define NK_SLOT_DRIVER(result, symbol, params) result(*_Atomic symbol) params;
#define NK_SLOT_RUNTIME(result, symbol, params)
#define NK_ENTRY(lib, mode, result, symbol, base, since, params, args, subject) NK_SLOT_##lib(result, symbol, params)
#include "driver/entries.def"
#undef NK_ENTRY
#undef NK_SLOT_DRIVER
#undef NK_SLOT_RUNTIME
};
extern struct nk_real nk_real;

// The functions of one copy of the runtime. Several copies can live in a process, so these are found by caller
// (resolve.h). A member is NULL when that runtime does not have the function.
struct nk_runtime {
#define NK_SLOT_DRIVER(result, symbol, params)
#define NK_SLOT_RUNTIME(result, symbol, params)                                 result(*symbol) params;
#define NK_ENTRY(lib, mode, result, symbol, base, since, params, args, subject) NK_SLOT_##lib(result, symbol, params)
#include "driver/entries.def"
#undef NK_ENTRY
#undef NK_SLOT_DRIVER
#undef NK_SLOT_RUNTIME
};

// Our own functions, exported under CUDA's names. REAL entries have a prototype too, but no body.
#define NK_EXPORT                                                               __attribute__((visibility("default")))
#define NK_ENTRY(lib, mode, result, symbol, base, since, params, args, subject) NK_EXPORT result symbol params;
#include "driver/entries.def"
#undef NK_ENTRY

#endif
