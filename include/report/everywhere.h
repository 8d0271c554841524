// everywhere.h - the same workload on every architecture that is known: would each of its kernels run there?
#ifndef NK_REPORT_EVERYWHERE_H
#define NK_REPORT_EVERYWHERE_H

#include "report/model.h"

enum { NK_EVERYWHERE_GPUS = 64 };

struct nk_everywhere {
    struct nk_everywhere_gpu {
        int sm;
        struct nk_run_gpu as;                         // the same as a GPU of a run
        size_t native, jit, hollow, missing, unknown; // kernels
        size_t memory;       // of the unknown: code in memory, made or chosen at run time for the GPU at hand
        struct nk_buf names; // mangled, of those that are missing, one a line, each once
        size_t named;
    } gpu[NK_EVERYWHERE_GPUS];
    size_t count, kernels; // kernels: launched or wanted; of several recordings each counts its own
    int driver;            // CUDA version of the driver that was asked about; 0: the recorded ones
    bool failed;           // memory was short
};

// `driver` as in nk_text_options.
void nk_everywhere_init(struct nk_everywhere *e, int driver);
// nk_sums must have been called for the run.
void nk_everywhere_add(struct nk_everywhere *e, struct nk_run *run);
void nk_everywhere_free(struct nk_everywhere *e);

// "native", "jit"; "missing" (a kernel at least), "hollow" (one does nothing), "unknown"; "likely": all code in files
// runs, and the rest was in memory.
const char *nk_everywhere_word(const struct nk_everywhere_gpu *gpu);

// As text and Markdown. `all`: names every kernel that is missing, else the first few.
void nk_everywhere_text(struct nk_buf *out, const struct nk_everywhere *e, size_t columns, bool all);
void nk_everywhere_markdown(struct nk_buf *out, const struct nk_everywhere *e, bool all);

#endif
