// fatbin.h - the images inside a fat binary container, one by one, from their headers alone.
//
// The format is not published; what is read here was measured on containers made by CUDA 10.0 to 13.5 (several hundred
// thousand images) and agrees with NVIDIA's cuobjdump. Only headers are touched: a walk over a container of 50 MB reads
// a few pages. Views own nothing and are valid as long as the bytes of the container.
//
// A bare cubin or PTX text may be given instead of a container: it is handed out as the only image, flagged
// NK_IMAGE_BARE.
#ifndef NK_IMAGE_FATBIN_H
#define NK_IMAGE_FATBIN_H

#include "base/bytes.h"
#include "base/err.h"
#include "image/image.h"

#define NK_FATBIN_MAGIC  0xba55ed50u
#define NK_WRAPPER_MAGIC 0x466243b1u // of the 24-byte struct that __cudaRegisterFatBinary gets
#define NK_FATBIN_HEADER 16u

// The first 8 bytes of every container seen: safe to search for, at any offset. (The bare magic has false hits.)
#define NK_FATBIN_KEY      "\x50\xed\x55\xba\x01\x00\x10\x00"
#define NK_FATBIN_KEY_SIZE 8u

// One image. `image` is from the headers alone: see image/target.h for what its first bytes may correct.
struct nk_entry_view {
    struct nk_image image;    // .kernels is UINT32_MAX. .size of a concatenated image is its unpacked size
    struct nk_bytes payload;  // stored bytes, without padding where they are compressed; shared by concatenated images
    uint64_t unpacked;        // bytes of the payload after decoding
    uint64_t part, part_size; // where this image lies in the decoded payload: 0 and `unpacked` unless concatenated
    struct nk_bytes name, options; // of the entry header; mostly empty
    uint64_t raw_flags;
    uint16_t raw_kind;
    uint32_t index; // among the images of the container
};

struct nk_fatbin {
    struct nk_bytes bytes; // the container, header included, as far as it is there
    uint64_t claimed;      // the size that its header claims, header included
    uint64_t at;           // offset of the next entry; after damage: of the damaged one
    uint32_t images;       // handed out so far
    uint32_t parts;        // images left in the concatenated entry `whole`
    uint64_t part_at, part_end;
    struct nk_entry_view whole;
    bool bare, ended;
};

// Starts a walk. `view` starts at the container and may reach beyond its end.
// 0, or -1 with a sentence: neither container nor ELF nor PTX, a container version that is not known, a header cut
// short. A container that is cut short is no error here: the images that are whole are handed out first.
int nk_fatbin_begin(struct nk_fatbin *walk, struct nk_bytes view, struct nk_err *err);

// 1 and the next image; 0 at the end; -1 with a sentence where the container is damaged: the walk is then over, and
// what was handed out before is good.
int nk_fatbin_next(struct nk_fatbin *walk, struct nk_entry_view *entry, struct nk_err *err);

#endif
