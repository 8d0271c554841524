// pairs.h - the libraries of two scans, matched; and the kernels of two libraries, compared.
#ifndef NK_SCAN_PAIRS_H
#define NK_SCAN_PAIRS_H

#include "scan/sum.h"

struct nk_scan_pair {
    const struct nk_scan_item *old_item, *new_item;          // one of them may be NULL
    const struct nk_scan_library *old_library, *new_library; // likewise
};

// The path without hashes ("libx-a7a60d30.so.4.8.5" of a repaired wheel, torchvision's "libx.4a0b5c81.so.13") and
// without what follows ".so": what stays the same from release to release. The caller frees; NULL when memory is short.
char *nk_scan_plain_path(const char *path);

// The pairs, in the order of the new scan, then what is gone. *count of them; the caller frees. NULL when memory is
// short.
struct nk_scan_pair *nk_scan_pairs(const struct nk_scan *old, const struct nk_scan *new_one, size_t *count);

enum { NK_SCAN_TARGETS = 64 };

// A target that some of the kernels gained or lost.
struct nk_scan_change {
    struct nk_scan_arch arch; // kind, target; no ISA
    bool in_old, in_new;      // does any image of the library have it?
    uint64_t gained, lost;    // kernels of both that have it in one only
    uint64_t emptied, filled; // kernels of both that are empty there in the new one only, in the old one only
    unsigned bit;             // in the targets of struct nk_scan_moved
};

// A kernel of both whose body for some targets became empty, or was and is no longer.
struct nk_scan_moved {
    const char *name;
    uint64_t targets; // bits
};

struct nk_scan_changes {
    struct nk_scan_change target[NK_SCAN_TARGETS];
    size_t targets;
    const char **gained, **lost; // names of kernels, sorted; they belong to the libraries
    size_t gained_count, lost_count, gained_room, lost_room;
    // Only what is certain: a body that is small and cannot be compared with a large one (of another target, in its
    // container) is neither empty nor real. Sorted by name.
    struct nk_scan_moved *emptied, *filled;
    size_t emptied_count, filled_count, emptied_room, filled_room;
    bool failed;
};

// What is different. A library may be NULL: then all is gained or lost.
void nk_scan_compare(const struct nk_scan_library *old, const struct nk_scan_library *new_one,
                     struct nk_scan_changes *changes);
// "sm_75 sm_80": its targets.
void nk_scan_moved_targets(struct nk_buf *out, const struct nk_scan_changes *changes,
                           const struct nk_scan_moved *moved);
void nk_scan_changes_free(struct nk_scan_changes *changes);

#endif
