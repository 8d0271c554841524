// part.h - what was found in a part of an archive: several are read at once, and put together in their order.
#ifndef NK_SCAN_PART_H
#define NK_SCAN_PART_H

#include "scan/members.h"
#include "scan/model.h"

// Start from {0}. One thread at a time.
struct nk_part {
    struct nk_scan_item libraries; // until the package is known
    struct nk_scan said;           // problems, and counts of files; no items
    struct nk_members members;     // about the package
    uint64_t out;                  // bytes that came out of it
    bool encrypted;                // that a member is was told
};

// Adds all that is in `more` to `part`; `more` is empty then.
void nk_part_add(struct nk_part *part, struct nk_part *more);
void nk_part_free(struct nk_part *part);
// Adds the libraries as one item, an archive at `path`, and all that was said; the part is empty then.
void nk_part_hand_over(struct nk_part *part, struct nk_scan *scan, const char *path);

#endif
