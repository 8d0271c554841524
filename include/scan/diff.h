// diff.h - what one scan has that another has not: architectures and kernels, by package and library.
#ifndef NK_SCAN_DIFF_H
#define NK_SCAN_DIFF_H

#include "scan/text.h"

// Libraries are matched by package and path; version numbers and the hashes that repairing a wheel puts into file names
// do not count. Where both sides are one library, those are compared whatever their names. All of them fail only as
// nk_buf does.
void nk_scan_diff_text(struct nk_buf *out, const struct nk_scan *old, const struct nk_scan *new_one,
                       const struct nk_scan_show *show);
// Tables to paste into release notes: what each library gained and lost; with GPUs, what they make of it; with
// show->names, the kernels' names below.
void nk_scan_diff_markdown(struct nk_buf *out, const struct nk_scan *old, const struct nk_scan *new_one,
                           const struct nk_scan_show *show);
// One row a change, and one a library and GPU, with a header.
void nk_scan_diff_csv(struct nk_buf *out, const struct nk_scan *old, const struct nk_scan *new_one,
                      const struct nk_scan_show *show);
// Schema "nokernel-scan-diff/1" (include/report/schema/nokernel-scan-diff-1.json).
void nk_scan_diff_json(struct nk_buf *out, const struct nk_scan *old, const struct nk_scan *new_one,
                       const struct nk_scan_show *show);

#endif
