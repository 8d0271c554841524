// candidates.h - which kernel it may have been, where the driver was asked for fat binaries and not told a name.
#ifndef NK_REPORT_CANDIDATES_H
#define NK_REPORT_CANDIDATES_H

#include "report/page.h"
#include "report/sums.h"

// Rows about the kernels of these containers, which were refused together. Nothing when their kernels are not known.
void nk_row_candidates(struct nk_page *page, struct nk_run *run, const struct nk_run_container *const *boxes,
                       size_t count);

#endif
