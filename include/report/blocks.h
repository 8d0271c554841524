// blocks.h - the parts of the text report about failures and refusals. Each begins with an empty line, and writes
// nothing when it has nothing to say.
#ifndef NK_REPORT_BLOCKS_H
#define NK_REPORT_BLOCKS_H

#include "report/page.h"
#include "report/sums.h"

// Failures: kernel, calls, place, images, need, stack.
void nk_block_failures(struct nk_page *page, struct nk_run *run);
// Refused queries whose error the program read later; with `all` also the others, in full.
void nk_block_asked_late(struct nk_page *page, struct nk_run *run, bool all);
// One line a library and result: what was asked and refused without harm.
void nk_block_asked(struct nk_page *page, struct nk_run *run);
// Kernels that the program looked up in vain: for one that ended badly.
void nk_block_sought(struct nk_page *page, struct nk_run *run);

#endif
