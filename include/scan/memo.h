// memo.h - payloads that were read already, and what was in them.
//
// Three of four images of cuBLASLt 13 are copies of a few hundred bytes to a few KB: cubins of source files without a
// kernel, or with the same one. What is remembered is their bytes, so nothing is taken for something else. One thread
// at a time.
#ifndef NK_SCAN_MEMO_H
#define NK_SCAN_MEMO_H

#include "base/table.h"
#include "image/fatbin.h"

#define NK_MEMO_LARGEST 4096u // bytes of payload, and of a note

// Start from {0}.
struct nk_memo {
    struct nk_table known;
    size_t bytes; // remembered
};

// Was an image with this payload remembered? Then *flags (NK_IMAGE_*) and *note are what was given with it.
bool nk_memo_find(const struct nk_memo *memo, const struct nk_entry_view *entry, uint32_t *flags,
                  struct nk_bytes *note);
// Remembers copies of its payload and of the note; not of larger ones, nor of more than a few MB in all.
void nk_memo_add(struct nk_memo *memo, const struct nk_entry_view *entry, uint32_t flags, struct nk_bytes note);
void nk_memo_free(struct nk_memo *memo);

#endif
