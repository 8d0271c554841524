// view.h - a merge in an order that does not depend on how it was made, summed up: what every format prints.
#ifndef NK_MERGE_VIEW_H
#define NK_MERGE_VIEW_H

#include "base/err.h"
#include "merge/merge.h"

// What to leave out. All of it is a matter of showing: the merge stays what it is.
struct nk_merge_filter {
    const char *package; // "torch", "torch==2.1.2+cu121"; NULL: all
    int sm[64];          // 120; none: all
    size_t sms;
};

// A fact, and in how many reports it stands.
struct nk_merge_row {
    const struct nk_merge_key *key;
    uint64_t reports, launches; // of a GPU: GPUs
};

// All rows of one package and version on one architecture.
struct nk_merge_group {
    size_t first, count; // rows
    uint64_t reports;    // that saw any of it
    struct nk_merge_count {
        uint64_t kernels, reports, launches;
    } of[NK_SEEN_COUNT];
    uint64_t contradictions; // rows
};

struct nk_merge_view {
    const struct nk_merge *merge;
    struct nk_merge_row *rows; // by package, version, architecture, what was seen, library, kernel; GPUs at the end
    size_t row_count;          // without GPUs
    struct nk_merge_row *gpus;
    size_t gpu_count;
    uint32_t *row_of; // by number of a key: 1 + its row, or for GPUs 1 + row_count + its GPU; 0: left out
    struct nk_merge_group *groups;
    size_t group_count;
    const struct nk_merge_known **reports; // by id
    size_t report_count;
    struct nk_merge_count total[NK_SEEN_COUNT];
    uint64_t contradictions;
};

// Reads the words of --package and --gpu (either may be NULL). 0, or -1 with a sentence. Borrows `package`.
int nk_merge_filter_parse(struct nk_merge_filter *filter, const char *package, const char *gpus, struct nk_err *err);
// 0, or -1 when memory is short. It points into the merge. Free it in both cases.
int nk_merge_view(struct nk_merge_view *view, const struct nk_merge *merge, const struct nk_merge_filter *filter);
void nk_merge_view_free(struct nk_merge_view *view);
// A text of a row.
const char *nk_merge_row_text(const struct nk_merge_view *view, const struct nk_merge_row *row,
                              enum nk_fact_text which);

#endif
