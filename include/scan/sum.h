// sum.h - what a library has, counted; and what that means for a GPU.
#ifndef NK_SCAN_SUM_H
#define NK_SCAN_SUM_H

#include "scan/model.h"
#include "verdict/judge.h"

enum nk_scan_where {
    NK_SCAN_HERE,        // in .nv_fatbin, or in a file that is nothing but device code
    NK_SCAN_OUTSIDE,     // elsewhere in the file: tools that look only into .nv_fatbin do not see it
    NK_SCAN_RELOCATABLE, // in __nv_relfatbin: input of the device linker, never loaded as it is
};

// Images of one kind and target.
struct nk_scan_arch {
    enum nk_scan_where where;
    uint16_t kind, arch;                  // enum nk_image_kind
    uint8_t suffix, isa_major, isa_minor; // ISA: of PTX only
    uint64_t images;
    uint64_t lied;   // PTX whose header names another target than its text
    uint64_t hollow; // kernels that are empty in these images and real in others
};

struct nk_scan_sum {
    struct nk_scan_arch *archs; // sorted by place, kind (cubins, PTX, others), target
    size_t arch_count, arch_room;
    uint64_t containers, outside, relocatable; // containers in all; of these outside, and of these relocatable
    uint64_t empty;                            // containers without an image
    uint64_t without_kernels; // containers with images and without a kernel (device-link stubs); 0 if not read
    uint64_t damaged, unread; // containers
    uint64_t bare;            // cubins and PTX texts that lie in no container
    uint64_t codecs[4];       // images, by enum nk_codec
    uint64_t concatenated, debug, relocatable_cubins; // images; the last is 0 if kernels were not read
    uint64_t kernels;                                 // pairs of container and kernel
    uint64_t names;                                   // different names among them
    bool failed;                                      // memory was short: counts are too small
};

void nk_scan_sum(const struct nk_scan_library *library, struct nk_scan_sum *sum);
// Adds the counts of another library.
void nk_scan_sum_add(struct nk_scan_sum *into, const struct nk_scan_sum *from);
void nk_scan_sum_free(struct nk_scan_sum *sum);
// "sm_90a", "compute_90@8.0" (or "compute_90" without `isa`), "LTO sm_80", "kind 0x10 sm_80".
void nk_scan_arch_text(struct nk_buf *out, const struct nk_scan_arch *arch, bool isa);

// ---- for a GPU

// Pairs of container and kernel.
struct nk_scan_counts {
    uint64_t native, jit, hollow, none, unknown;
    uint64_t names_none; // different names of which no copy at all runs; libraries that pick their kernels by GPU keep
                         // one copy a GPU, each in a container of its own
    enum nk_reason reason; // of most kernels that decided the word
};

enum nk_scan_word {
    NK_SCAN_EMPTY,  // no kernel in it
    NK_SCAN_NATIVE, // all kernels (that are not hollow) have an image
    NK_SCAN_JIT,    // all run, some by compiling PTX
    NK_SCAN_PARTLY, // some do not run
    NK_SCAN_HOLLOW, // all that would be launched are empty
    NK_SCAN_NONE,   // no kernel runs
    NK_SCAN_UNKNOWN,
};

struct nk_scan_gpu {
    struct nk_target target;
    char text[48]; // as it was asked for: "sm_120@12.4"
};

struct nk_verdict nk_scan_judge_shape(const struct nk_scan_library *library, size_t shape, const struct nk_target *gpu);
enum nk_scan_word nk_scan_judge(const struct nk_scan_library *library, const struct nk_target *gpu,
                                struct nk_scan_counts *counts);
// "native", "jit", "partly", "hollow", "none", "unknown", "empty".
const char *nk_scan_word(enum nk_scan_word word);

#endif
