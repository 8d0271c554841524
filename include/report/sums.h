// sums.h - what follows from a run: verdicts, classes of failures, coverage, counts. Every format prints these.
#ifndef NK_REPORT_SUMS_H
#define NK_REPORT_SUMS_H

#include "report/model.h"

struct nk_sums {
    size_t launched;       // kernels that were launched or whose launch was refused
    size_t missing;        // kernels whose launch failed for want of an image
    size_t missing_boxes;  // containers that were wanted and refused, without the kernel being known
    size_t other;          // kernels (or calls about no known kernel) that failed for another reason
    size_t asked;          // refused queries about a kernel that has no image
    size_t asked_late;     // of these, the ones whose error the program read later
    size_t asked_barren;   // of these, the ones in libraries of which nothing runs on that GPU
    size_t asked_coped;    // of these, the ones that the library that asked evidently coped with
    size_t sought;         // kernels that the program looked up in vain
    size_t refused;        // containers refused at the start-up of a runtime
    size_t jit, hollow;    // launched kernels that run by PTX JIT, or with an empty body
    size_t contradictions; // the driver did not do what the rules say
    bool ended_badly;      // status other than 0, or killed, or still running
    bool healthy;          // nothing to tell
};

// Classes and judges all failures, then counts.
void nk_sums(struct nk_run *run, struct nk_sums *out);

// A kernel on a GPU. UNKNOWN when its container or the GPU is not known.
struct nk_verdict nk_sums_kernel(const struct nk_run *run, const struct nk_run_kernel *kernel,
                                 const struct nk_run_gpu *gpu);
// True when the kernel was launched and the driver did it, though the rules say that it cannot run there.
bool nk_sums_runs_against_rules(const struct nk_run *run, const struct nk_run_kernel *kernel);

// What a runtime was refused of a library when the program started.
struct nk_refusals {
    size_t refused, loaded; // fat binaries
    bool whole;             // all were, or would have been: a start that gives up leaves the rest untried
};
struct nk_refusals nk_sums_refusals(const struct nk_run *run, const struct nk_run_library *library);

// The containers of a library on a GPU. Relocatable ones and those without a kernel do not count.
struct nk_cover {
    size_t native, jit, none, unknown;
    const char *word; // "native", "jit", "partly", "none", "unknown"; NULL when there is no code to cover anything with
};
struct nk_cover nk_sums_cover(const struct nk_run *run, const struct nk_run_library *library,
                              const struct nk_run_gpu *gpu);
// Is this container one of those that stand for its library? (The scanned ones, where the file was scanned.)
bool nk_sums_stands(const struct nk_run_container *container);

// Architectures, sorted and without repetition. `most` is a bound on memory: further ones are left out.
enum { NK_ARCHS_MOST = 128 };
struct nk_archs {
    struct nk_arch_item {
        uint16_t kind, arch; // kind: NK_KIND_PTX, NK_KIND_CUBIN, else another
        uint8_t suffix, isa_major, isa_minor;
        bool hollow;
        uint32_t images;
    } item[NK_ARCHS_MOST];
    size_t count;
};
// Adds the images of a container; with a kernel only those that (may) hold it.
void nk_archs_add(struct nk_archs *archs, const struct nk_run_container *container, const unsigned char *holds);
void nk_archs_library(struct nk_archs *archs, const struct nk_run *run, const struct nk_run_library *library);

#endif
