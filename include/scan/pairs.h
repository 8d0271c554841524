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

// What became of the body of a kernel of both, for a target: empty in the new one only, or in the old one only.
enum nk_scan_turn { NK_SCAN_EMPTIED, NK_SCAN_FILLED, NK_SCAN_TURNS };

// A target that some of the kernels gained or lost.
struct nk_scan_change {
    struct nk_scan_arch arch;       // kind, target; no ISA
    bool in_old, in_new;            // does any image of the library have it?
    uint64_t gained, lost;          // kernels of both that have it in one only
    uint64_t turned[NK_SCAN_TURNS]; // kernels of both
    unsigned bit;                   // in the targets of struct nk_scan_turned
};

// A kernel, and the targets for which its body took that turn.
struct nk_scan_turned {
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
    struct nk_scan_turned *turned[NK_SCAN_TURNS];
    size_t turned_count[NK_SCAN_TURNS], turned_room[NK_SCAN_TURNS];
    bool failed;
};

// What is different. A library may be NULL: then all is gained or lost.
void nk_scan_compare(const struct nk_scan_library *old, const struct nk_scan_library *new_one,
                     struct nk_scan_changes *changes);
// "now empty on ", "no longer empty on ".
const char *nk_scan_turn_words(enum nk_scan_turn turn);
// "now empty on sm_75 sm_80: name(float*)": the i-th that took that turn.
void nk_scan_turned_text(struct nk_buf *out, const struct nk_scan_changes *changes, enum nk_scan_turn turn, size_t i);
void nk_scan_changes_free(struct nk_scan_changes *changes);

#endif
