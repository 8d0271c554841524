// show.h - a merge as text, JSON, Markdown and CSV. All append to `out` and fail only as nk_buf does (out->failed).
#ifndef NK_MERGE_SHOW_H
#define NK_MERGE_SHOW_H

#include "base/buf.h"
#include "merge/view.h"

struct nk_merge_show {
    int columns;      // of the text
    bool colour, all; // all: every kernel by name, those that run natively too
};

void nk_merge_write_text(struct nk_buf *out, const struct nk_merge_view *view, const struct nk_merge_show *show);
// Schema nokernel-merge/1 (include/report/schema/nokernel-merge-1.json): complete, so that it can be merged again.
void nk_merge_write_json(struct nk_buf *out, const struct nk_merge_view *view);
// An issue for the makers of the packages, ready to paste: what does not run, with counts.
void nk_merge_write_markdown(struct nk_buf *out, const struct nk_merge_view *view, const struct nk_merge_show *show);
// One row a kernel, architecture and way of running.
void nk_merge_write_csv(struct nk_buf *out, const struct nk_merge_view *view);

// What the formats share (words.c): "sm_120", "an unknown GPU"; "torch 2.1.2", or where the code lies.
void nk_merge_sm(struct nk_buf *out, uint32_t sm);
void nk_merge_title(struct nk_buf *out, const struct nk_merge_view *view, const struct nk_merge_row *row);
// Demangled and shortened: the kernel, or "one of 12: ..." with the first that it may have been.
void nk_merge_kernel(struct nk_buf *out, const struct nk_merge_view *view, const struct nk_merge_row *row,
                     size_t columns);
// "torch/lib/libtorch_cuda.so", "memory, loaded by libcudart.so.12".
void nk_merge_place(struct nk_buf *out, const struct nk_merge_view *view, const struct nk_merge_row *row);
// "sm_80 sm_90, no PTX" of a row's "sm_80, sm_90".
void nk_merge_has(struct nk_buf *out, const char *has);
// How the driver and the rules disagree.
const char *nk_merge_doubt(const struct nk_merge_row *row);
// The rows of a group that were seen so, the most reported first, as pointers that the caller frees. NULL: none, or no
// memory (then out->failed is set).
const struct nk_merge_row **nk_merge_ranked(struct nk_buf *out, const struct nk_merge_view *view,
                                            const struct nk_merge_group *group, enum nk_seen seen, size_t *count);

#endif
