// judge.h - may these images run there? A pure function; one engine for run time, scan, doctor and merge.
//
// The rules and their sources stand in src/verdict/rules.c; the reasons, with a sentence each, in reasons.def.
#ifndef NK_VERDICT_JUDGE_H
#define NK_VERDICT_JUDGE_H

#include "image/image.h"

#include <stdbool.h>
#include <stddef.h>

enum nk_runs {
    NK_RUNS_NATIVE,  // a cubin fits
    NK_RUNS_JIT,     // the driver compiles PTX for this GPU
    NK_RUNS_HOLLOW,  // the image that would be used holds the kernel with an empty body
    NK_RUNS_NONE,    // does not run: see the reason
    NK_RUNS_UNKNOWN, // cannot be said: an unknown kind, a damaged image
};

enum nk_reason {
#define NK_REASON(name, key, sentence, chinese) NK_REASON_##name,
#include "verdict/reasons.def"
#undef NK_REASON
    NK_REASON_COUNT
};

// The GPU and the driver that would run the images.
struct nk_target {
    int sm;               // 120 = compute capability 12.0
    int driver;           // as cuDriverGetVersion: 13000; 0 = unknown, then nothing is refused because of the driver
    bool force_ptx_jit;   // CUDA_FORCE_PTX_JIT=1
    bool disable_ptx_jit; // CUDA_DISABLE_PTX_JIT=1
};

struct nk_verdict {
    enum nk_runs runs;
    enum nk_reason reason;
    int image;     // index of the image that would be used, or of the one that came nearest; -1 none
    int expected;  // NK_RUNS_NONE: result code the driver is expected to return (209, 200, 222, ...), else 0
    bool disagree; // candidate images disagree (one holds the kernel, another does not) and the driver's choice between
                   // them is undocumented
};

// One image, alone.
struct nk_verdict nk_judge_image(const struct nk_image *image, const struct nk_target *target);
// A container, or one kernel of it: `holds` (enum nk_hold, one byte an image; NULL = every image with kernels holds it)
// says which images hold the kernel. What has no kernel at all is NK_RUNS_UNKNOWN with the reason EMPTY: nothing can be
// missing from it, so count it apart.
struct nk_verdict nk_judge(const struct nk_image *images, size_t count, const unsigned char *holds,
                           const struct nk_target *target);

// Static texts: the JSON word of a verdict ("native", "jit", "hollow", "none", "unknown"); key and sentence of a
// reason, the sentence also in Simplified Chinese.
const char *nk_runs_word(enum nk_runs runs);
const char *nk_reason_key(enum nk_reason reason);
const char *nk_reason_sentence(enum nk_reason reason);
const char *nk_reason_chinese(enum nk_reason reason);

#endif
