// entries.h - ids, names and facts of the functions in entries.def.
#ifndef NK_DRIVER_ENTRIES_H
#define NK_DRIVER_ENTRIES_H

#include "driver/results.h"

enum nk_entry_mode { NK_HAND, NK_PROBE, NK_WAIT, NK_REAL };

enum nk_entry_id {
#define NK_ENTRY(lib, mode, result, symbol, base, since, params, args, subject) NK_##symbol,
#include "driver/entries.def"
#undef NK_ENTRY
    NK_ENTRY_COUNT
};

struct nk_entry {
    const char *symbol; // exported name
    const char *base;   // name to ask cuGetProcAddress for
    enum nk_lib lib;
    enum nk_entry_mode mode;
    int since;
};

extern const struct nk_entry nk_entries[NK_ENTRY_COUNT];

#endif
