// entries.h - the tables that are made of entries.def.
#ifndef NK_PRELOAD_ENTRIES_H
#define NK_PRELOAD_ENTRIES_H

#include "real.h"

#include <stdbool.h>

// Our function for an entry; NULL for REAL entries.
extern void *const nk_wrapper[NK_ENTRY_COUNT];
// Where the slot of an entry lies inside struct nk_real (driver) or struct nk_runtime (runtime).
extern const size_t nk_slot_offset[NK_ENTRY_COUNT];

// The function in a driver slot, or NULL while it is unresolved or absent.
void *nk_slot_get(enum nk_entry_id id);
// Fills a driver slot that is still a thunk. Another thread may do the same with the same pointer.
void nk_slot_fill(enum nk_entry_id id, void *function);

// The pointer to hand out instead of `real`, the driver's function that somebody looked up: our wrapper when it is one
// of ours, else `real` itself. By address; among several names for one address, and only for what cuGetProcAddress
// answers (`asked` with `version` > 0), by the name that was asked for: a driver may hand out other addresses there
// than it exports.
void *nk_swap(void *real, const char *asked, int version, bool per_thread);
// True when `function` is one of our exported functions.
bool nk_is_ours(const void *function);
// The entry with that exported symbol, or NK_ENTRY_COUNT.
enum nk_entry_id nk_entry_named(const char *symbol);

#endif
