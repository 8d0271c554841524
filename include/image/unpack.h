// unpack.h - the bytes of an image, decoded: stored as they are, LZ4 blocks, zstd frames.
//
// The only place of this room that allocates. One struct nk_unpacked serves many images one after another: its memory
// is reused, and images that share a payload (concatenated ones) are decoded once. One thread at a time.
#ifndef NK_IMAGE_UNPACK_H
#define NK_IMAGE_UNPACK_H

#include "base/scratch.h"
#include "image/fatbin.h"

// Bounds before anything is allocated: the announced size may be at most NK_UNPACK_MAX, and at most so many times the
// stored size. (The LZ4 block format cannot do more than 255; real zstd images stay below 140, but a table of zeros
// would not, so sizes up to NK_UNPACK_SMALL are let through.)
#define NK_UNPACK_MAX        (1ull << 30)
#define NK_UNPACK_SMALL      (16ull << 20)
#define NK_UNPACK_RATIO_LZ4  256u
#define NK_UNPACK_RATIO_ZSTD 4096u
// What nk_unpack_head is meant for: enough for the ELF header, and for .version and .target below PTX's first comment.
#define NK_UNPACK_HEAD 1024u

// Start from `struct nk_unpacked u = {0};`. Every nk_unpack invalidates the bytes of the one before.
struct nk_unpacked {
    struct nk_bytes bytes;   // the image
    struct nk_bytes payload; // what was decoded last
    struct nk_scratch memory;
    size_t size;   // decoded bytes in memory, 0 none
    void *context; // of libzstd
};

// Decodes one image; `limit` (0: NK_UNPACK_MAX) bounds its decoded size further. A stored image is not copied.
// 0, or -1 with a sentence: NK_ERR_LIMIT (a bound), NK_ERR_MEMORY, NK_ERR_UNSUPPORTED (codec not known, LTO-IR, which
// is scrambled), NK_ERR_BAD_INPUT (the decoder refuses, or gives another size than announced).
int nk_unpack(struct nk_unpacked *unpacked, const struct nk_entry_view *entry, uint64_t limit, struct nk_err *err);
void nk_unpack_free(struct nk_unpacked *unpacked);

// Decodes no more than the first `size` bytes of an image into `head`; *got says how many there were. Costs one block,
// not the image, but a concatenated image is reached only by decoding all before it, so it must start within the first
// 16 MB of its entry. Returns as nk_unpack.
int nk_unpack_head(const struct nk_entry_view *entry, void *head, size_t size, size_t *got, struct nk_err *err);

#endif
