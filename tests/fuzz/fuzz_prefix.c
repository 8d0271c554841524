// fuzz_prefix.c - any bytes as the images of a container, of which only the beginning is decoded.
#include "fuzz.h"

#include "scan/prefix.h"

#define LIMIT (1u << 20) // of decoded bytes: keeps a run short

static int take(const struct nk_kernel_view *kernel, void *user)
{
    size_t *left = user;
    touch_ends(kernel->name);
    return --*left ? 0 : 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nk_partial partial = {0};
    struct nk_prefix_head head;
    struct nk_entry_view entry;
    struct nk_fatbin walk;
    struct nk_err err;
    if (nk_fatbin_begin(&walk, nk_bytes(data, size), &err)) return 0;
    for (unsigned n = 0; n < 64 && nk_fatbin_next(&walk, &entry, &err) == 1; n++) {
        size_t left = 1000;
        if (entry.unpacked > LIMIT) continue;
        nk_prefix_kernels(&partial, &entry, take, &left, &head);
        // Piece by piece: each is there before it is looked at.
        if (!nk_partial_begin(&partial, &entry)) continue;
        for (uint64_t want = 1; want <= LIMIT && nk_partial_more(&partial, want); want *= 3)
            touch_ends(nk_bytes(partial.data, partial.have));
    }
    nk_partial_free(&partial);
    return 0;
}
