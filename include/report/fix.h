// fix.h - what to do about the packages of a run that have no image for a GPU, as text and as JSON.
#ifndef NK_REPORT_FIX_H
#define NK_REPORT_FIX_H

#include "advice/advice.h"
#include "report/page.h"
#include "report/sums.h"

// Repairs for one package (or library, or module in memory) on one GPU.
struct nk_fix {
    const char *package, *version; // "" when unknown
    struct nk_buf name;            // "torch 2.1.2+cu121", "libk.so"; "" for code in memory
    const struct nk_run_gpu *gpu;
    struct nk_advice advice;
};
enum { NK_FIXES_MOST = 8 };
// Each package that failed, or launched what has no body, once a GPU, in the order of the failures; with `asked`
// (--gpu) what would be missing there. Without repairs a package is left out. Returns how many; give them back with
// nk_fixes_free.
size_t nk_fixes(struct nk_run *run, const struct nk_run_gpu *asked, bool full_paths, struct nk_fix out[NK_FIXES_MOST]);
void nk_fixes_free(struct nk_fix *fixes, size_t count);

// The repairs of an advice as paragraphs; `name` says what they are for (NULL: that is clear).
void nk_block_repairs(struct nk_page *page, const struct nk_advice *advice, const char *name);
// The paragraphs of the text report: a repair a row, its command below it. A command is broken only as a shell reads
// it.
void nk_block_fixes(struct nk_page *page, struct nk_run *run, const struct nk_run_gpu *asked);

#endif
