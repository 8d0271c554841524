// entries.c - entries.def made into slots, first-call thunks, generated wrappers and the swap table.
//
// The only file full of macros. Wrappers that have something to say are ordinary functions in hook_*.c.
#include "entries.h"

#include "record.h"
#include "resolve.h"

#include <string.h>

// ---- thunks: what a driver slot holds until the driver is known
#define NK_THUNK_DRIVER(result, symbol, params, args)                                                                  \
    static result first_##symbol params                                                                                \
    {                                                                                                                  \
        nk_resolve_driver();                                                                                           \
        result(*real) params = nk_real.symbol;                                                                         \
        return real == first_##symbol ? NK_CUDA_NOT_FOUND : real args;                                                 \
    }
#define NK_THUNK_RUNTIME(result, symbol, params, args)
#define NK_ENTRY(lib, mode, result, symbol, base, since, params, args, subject)                                        \
    NK_THUNK_##lib(result, symbol, params, args)
#include "driver/entries.def"
#undef NK_ENTRY

struct nk_real nk_real = {
#define NK_INIT_DRIVER(symbol) .symbol = first_##symbol,
#define NK_INIT_RUNTIME(symbol)
#define NK_ENTRY(lib, mode, result, symbol, base, since, params, args, subject) NK_INIT_##lib(symbol)
#include "driver/entries.def"
#undef NK_ENTRY
};

static void *const thunks[NK_ENTRY_COUNT] = {
#define NK_ADDRESS_DRIVER(symbol)                                               (void *)first_##symbol,
#define NK_ADDRESS_RUNTIME(symbol)                                              NULL,
#define NK_ENTRY(lib, mode, result, symbol, base, since, params, args, subject) NK_ADDRESS_##lib(symbol)
#include "driver/entries.def"
#undef NK_ENTRY
};

const size_t nk_slot_offset[NK_ENTRY_COUNT] = {
#define NK_OFFSET_DRIVER(symbol)                                                offsetof(struct nk_real, symbol),
#define NK_OFFSET_RUNTIME(symbol)                                               offsetof(struct nk_runtime, symbol),
#define NK_ENTRY(lib, mode, result, symbol, base, since, params, args, subject) NK_OFFSET_##lib(symbol)
#include "driver/entries.def"
#undef NK_ENTRY
};

// ---- generated wrappers: call the real one, report what it refused, return what it returned
#define NK_BODY_PROBE_DRIVER(symbol, params, args, subject)                                                            \
    CUresult symbol params                                                                                             \
    {                                                                                                                  \
        CUresult r = nk_real.symbol args;                                                                              \
        if (__builtin_expect(r != NK_CUDA_SUCCESS, 0))                                                                 \
            nk_record_probe(NK_##symbol, subject, r, __builtin_return_address(0));                                     \
        return r;                                                                                                      \
    }
#define NK_BODY_PROBE_RUNTIME(symbol, params, args, subject)                                                           \
    cudaError_t symbol params                                                                                          \
    {                                                                                                                  \
        const struct nk_runtime *runtime = nk_runtime_of(__builtin_return_address(0));                                 \
        struct nk_call call;                                                                                           \
        if (!runtime->symbol) return NK_CUDA_NOT_INITIALIZED;                                                          \
        nk_call_begin(&call, NK_##symbol, subject, __builtin_return_address(0));                                       \
        return nk_call_end(&call, runtime->symbol args);                                                               \
    }
#define NK_BODY_WAIT_DRIVER(symbol, params, args, subject)                                                             \
    CUresult symbol params                                                                                             \
    {                                                                                                                  \
        CUresult r = nk_real.symbol args;                                                                              \
        if (__builtin_expect(r != NK_CUDA_SUCCESS, 0))                                                                 \
            nk_record_wait(NK_##symbol, subject, r, __builtin_return_address(0));                                      \
        nk_record_may_copy();                                                                                          \
        return r;                                                                                                      \
    }
#define NK_BODY_HAND_DRIVER(symbol, params, args, subject)
#define NK_BODY_HAND_RUNTIME(symbol, params, args, subject)
#define NK_BODY_REAL_DRIVER(symbol, params, args, subject)
#define NK_ENTRY(lib, mode, result, symbol, base, since, params, args, subject)                                        \
    NK_BODY_##mode##_##lib(symbol, params, args, subject)
#include "driver/entries.def"
#undef NK_ENTRY

// ---- the swap table
void *const nk_wrapper[NK_ENTRY_COUNT] = {
#define NK_OURS_HAND(symbol)                                                    (void *)symbol,
#define NK_OURS_PROBE(symbol)                                                   (void *)symbol,
#define NK_OURS_WAIT(symbol)                                                    (void *)symbol,
#define NK_OURS_REAL(symbol)                                                    NULL,
#define NK_ENTRY(lib, mode, result, symbol, base, since, params, args, subject) NK_OURS_##mode(symbol)
#include "driver/entries.def"
#undef NK_ENTRY
};

static _Atomic(void *) *slot(enum nk_entry_id id) { return (_Atomic(void *) *)((char *)&nk_real + nk_slot_offset[id]); }

void *nk_slot_get(enum nk_entry_id id)
{
    void *function = *slot(id);
    return function == thunks[id] ? NULL : function;
}

void nk_slot_fill(enum nk_entry_id id, void *function)
{
    void *expected = thunks[id];
    if (function) atomic_compare_exchange_strong(slot(id), &expected, function);
}

static bool is_hooked(enum nk_entry_id id) { return nk_entries[id].lib == NK_DRIVER && nk_wrapper[id]; }

static bool is_per_thread(enum nk_entry_id id)
{
    size_t size = strlen(nk_entries[id].symbol);
    const char *end = nk_entries[id].symbol + (size > 5 ? size - 5 : size);
    return !strcmp(end, "_ptsz") || !strcmp(end, "_ptds");
}

// By address: the entry whose slot holds `real`, one that has the asked name before any other.
static enum nk_entry_id by_address(const void *real, const char *asked)
{
    enum nk_entry_id found = NK_ENTRY_COUNT;
    for (int id = 0; id < NK_ENTRY_COUNT; id++) {
        if (!is_hooked(id) || nk_slot_get(id) != real) continue;
        if (!strcmp(nk_entries[id].symbol, asked)) return id;
        if (found == NK_ENTRY_COUNT || !strcmp(nk_entries[id].base, asked)) found = id;
    }
    return found;
}

// By name: the newest signature that is not newer than the version asked for.
static enum nk_entry_id by_name(const char *asked, int version, bool per_thread)
{
    enum nk_entry_id found = NK_ENTRY_COUNT;
    for (int id = 0; id < NK_ENTRY_COUNT; id++) {
        const struct nk_entry *entry = &nk_entries[id];
        if (entry->lib != NK_DRIVER || strcmp(entry->base, asked) || entry->since > version) continue;
        if (is_per_thread(id) && !per_thread) continue;
        bool better = found == NK_ENTRY_COUNT || entry->since > nk_entries[found].since ||
                      (entry->since == nk_entries[found].since && is_per_thread(id));
        // A per-thread variant is what a per-thread caller gets wherever one exists.
        if (better && !(found != NK_ENTRY_COUNT && is_per_thread(found) && !is_per_thread(id))) found = id;
    }
    return found;
}

void *nk_swap(void *real, const char *asked, int version, bool per_thread)
{
    enum nk_entry_id id = by_address(real, asked);
    if (id == NK_ENTRY_COUNT && version > 0) {
        id = by_name(asked, version, per_thread);
        if (id == NK_ENTRY_COUNT || !nk_wrapper[id]) return real;
        nk_slot_fill(id, real);
    }
    return id == NK_ENTRY_COUNT ? real : nk_wrapper[id];
}

bool nk_is_ours(const void *function)
{
    for (int id = 0; id < NK_ENTRY_COUNT; id++)
        if (function && nk_wrapper[id] == function) return true;
    return false;
}

enum nk_entry_id nk_entry_named(const char *symbol)
{
    for (int id = 0; id < NK_ENTRY_COUNT; id++)
        if (!strcmp(nk_entries[id].symbol, symbol)) return id;
    return NK_ENTRY_COUNT;
}
