// coverage.h - the parts of the text report about libraries and GPUs. Each begins with an empty line, and writes
// nothing when it has nothing to say.
#ifndef NK_REPORT_COVERAGE_H
#define NK_REPORT_COVERAGE_H

#include "report/page.h"
#include "report/sums.h"

// Libraries with containers that a runtime was refused at its start.
void nk_block_refused(struct nk_page *page, struct nk_run *run);
// Kernels that ran although the rules say no, and kernels with an empty body.
void nk_block_doubts(struct nk_page *page, struct nk_run *run);
// Other libraries that do not cover the GPU.
void nk_block_others(struct nk_page *page, struct nk_run *run, const struct nk_run_gpu *gpu);

// What another GPU would do with the kernels that were launched or wanted.
struct nk_elsewhere {
    size_t kernels, jit, hollow, none, unknown;
};
void nk_elsewhere(struct nk_run *run, const struct nk_run_gpu *gpu, struct nk_elsewhere *out);
// The kernels that would be missing there, by library and images.
void nk_block_elsewhere(struct nk_page *page, struct nk_run *run, const struct nk_run_gpu *gpu);

#endif
