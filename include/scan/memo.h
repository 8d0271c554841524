// memo.h - payloads that were read already and hold no kernel.
//
// Three of four images of cuBLASLt 13 are the same few hundred bytes, copied: cubins of source files without a kernel.
// What is remembered is their bytes, so nothing is taken for something else. One thread at a time.
#ifndef NK_SCAN_MEMO_H
#define NK_SCAN_MEMO_H

#include "base/table.h"
#include "image/fatbin.h"

// Start from {0}.
struct nk_memo {
    struct nk_table known;
    size_t bytes; // remembered
};

// Was an image with this payload remembered? Then *flags (NK_IMAGE_*) is what was given with it.
bool nk_memo_find(const struct nk_memo *memo, const struct nk_entry_view *entry, uint32_t *flags);
// Remembers a copy of its payload; not of large ones, nor of more than a few MB in all.
void nk_memo_add(struct nk_memo *memo, const struct nk_entry_view *entry, uint32_t flags);
void nk_memo_free(struct nk_memo *memo);

#endif
