// entries.c - names and facts of the functions in entries.def.
#include "driver/entries.h"

const struct nk_entry nk_entries[NK_ENTRY_COUNT] = {
#define NK_ENTRY(lib, mode, result, symbol, base, since, params, args, subject)                                        \
    {#symbol, #base, NK_##lib, NK_##mode, since},
#include "driver/entries.def"
#undef NK_ENTRY
};
