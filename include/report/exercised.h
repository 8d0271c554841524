// exercised.h - which kinds of kernels a program tried, and which its libraries hold that it did not.
//
// So that "it starts" is not taken for "it works". Add recordings, then the names of all kernels in their libraries
// (which the caller reads from the files), then sum up.
#ifndef NK_REPORT_EXERCISED_H
#define NK_REPORT_EXERCISED_H

#include "base/table.h"
#include "report/kinds.h"
#include "report/model.h"

struct nk_exercised_count {
    // Kernels, each once. All but `held` add up to the kernels that were looked up or launched.
    uint64_t native, jit, failed, empty, unknown; // launched: how they ran; failed also where only some launches did
    uint64_t idle;                                // looked up, and never launched
    uint64_t held;                                // kernels in the files of the libraries
    uint64_t launches;
};

struct nk_exercised_library {
    char *path, *package, *version, *build_id;
    bool read;               // the names of its kernels were added
    uint64_t held[NK_KINDS]; // after nk_exercised_sum
};

struct nk_exercised {
    struct nk_exercised_library *libraries; // those with GPU code; the first stands for code of no library
    size_t library_count, library_room;
    struct nk_table kernels; // hash of library and name: what is known of it
    // After nk_exercised_sum:
    struct nk_exercised_count of[NK_KINDS], total;
    uint64_t classified; // of the kernels that were launched, those of a known kind
    bool failed;         // memory was short
};

// Start from `struct nk_exercised e = {0};`. nk_sums must have been called for the run.
void nk_exercised_add(struct nk_exercised *e, struct nk_run *run);
// A kernel that is in the file of that library.
void nk_exercised_hold(struct nk_exercised *e, size_t library, const char *name);
void nk_exercised_sum(struct nk_exercised *e);
void nk_exercised_free(struct nk_exercised *e);

// Did a kernel of that kind run?
bool nk_exercised_ran(const struct nk_exercised_count *count);

// As text (`columns` wide), Markdown, and the member "exercised" of the JSON report.
void nk_exercised_text(struct nk_buf *out, const struct nk_exercised *e, size_t columns);
void nk_exercised_markdown(struct nk_buf *out, const struct nk_exercised *e);

#endif
