// partial.h - the beginning of an image, decoded as far as it is needed.
//
// For one image after another: the memory is reused, and of it only what was decoded is ever touched. One thread at a
// time.
#ifndef NK_SCAN_PARTIAL_H
#define NK_SCAN_PARTIAL_H

#include "base/scratch.h"
#include "image/fatbin.h"

// Start from {0}.
struct nk_partial {
    const uint8_t *data; // the first `have` bytes of the image
    size_t have;
    uint64_t size; // of the whole image
    struct nk_bytes payload;
    uint8_t codec;
    struct nk_scratch memory;
    size_t taken;  // bytes of the payload that zstd has read
    void *context; // of libzstd
};

// Starts on an image; nothing is decoded yet. False when that is not for this reader: a concatenated or scrambled
// image, one beyond the bounds of image/unpack.h, no memory. nk_unpack then does it, or says what is wrong.
bool nk_partial_begin(struct nk_partial *partial, const struct nk_entry_view *entry);
// Decodes on until at least `want` bytes are there. False when the image has fewer, or its bytes cannot be decoded.
// `data` may move.
bool nk_partial_more(struct nk_partial *partial, uint64_t want);
void nk_partial_free(struct nk_partial *partial);

#endif
