// ptx.h - PTX text: its version, its target, the kernels in it.
//
// The text may or may not end with NULs (toolkits before 10.2 wrote none), may be cut anywhere and may hold comments.
// Views own nothing.
#ifndef NK_IMAGE_PTX_H
#define NK_IMAGE_PTX_H

#include "base/bytes.h"
#include "base/err.h"
#include "image/image.h"

struct nk_ptx_head {
    uint8_t isa_major, isa_minor; // .version 8.7
    uint16_t arch;                // .target sm_90
    uint8_t suffix;               // 0, 'a' or 'f'
    bool debug;                   // ", debug" in the list of targets
};

struct nk_ptx_entry {
    struct nk_bytes name;
    struct nk_bytes body; // between its braces; .data is NULL for a declaration or when the text ends before
};

struct nk_ptx_entries {
    struct nk_bytes text;
    size_t at;
};

// True when the text starts (after blanks and comments) with ".version".
bool nk_ptx_looks(struct nk_bytes text);
// Reads .version and .target; the first few hundred bytes are enough. 0, or -1 with a sentence: no .version, no
// .target, or numbers that cannot be read.
int nk_ptx_read_head(struct nk_bytes text, struct nk_ptx_head *head, struct nk_err *err);
// The same as an image without container. `image.kernels` is UINT32_MAX.
int nk_ptx_image(struct nk_bytes text, struct nk_image *image, struct nk_err *err);

// Walks over the kernels (.entry). A name comes twice when it is declared and defined. False at the end.
void nk_ptx_entries_begin(struct nk_ptx_entries *walk, struct nk_bytes text);
bool nk_ptx_entries_next(struct nk_ptx_entries *walk, struct nk_ptx_entry *out);

#endif
