// fuzz_find.c - any bytes as a file that may hold device code somewhere.
#include "fuzz.h"

#include "image/fatbin.h"
#include "image/find.h"

#include <stdlib.h>

struct state {
    const uint8_t *data;
    size_t size, places;
};

// What is handed out must lie where it says, and there cannot be more places than bytes.
static int take(const struct nk_found *found, void *user)
{
    struct state *state = user;
    if (found->offset > state->size || found->bytes.data != state->data + found->offset) abort();
    if (found->bytes.size > state->size - found->offset || ++state->places > state->size) abort();
    touch_ends(found->bytes);
    touch(found->section);
    touch(found->member);
    struct nk_fatbin walk;
    struct nk_entry_view entry;
    struct nk_err err;
    if (nk_fatbin_begin(&walk, found->bytes, &err)) return 0;
    while (nk_fatbin_next(&walk, &entry, &err) == 1) touch_ends(entry.payload);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (unsigned options = 0; options <= NK_FIND_SECTIONS_ONLY; options++) {
        struct state state = {data, size, 0};
        struct nk_err err;
        nk_find_images(nk_bytes(data, size), options, take, &state, &err);
    }
    struct state state = {data, size, 0};
    uint64_t unsearched = 0;
    nk_find_quickly(nk_bytes(data, size), take, &state, &unsearched, NULL);
    if (unsearched > size) abort();
    return 0;
}
