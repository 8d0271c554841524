// rules.h - the rules for one image: does its architecture fit, and will the driver then load it?
//
// The driver picks an image by kind and architecture alone and fails when it cannot load what it picked, so the two
// questions are apart. Pure functions.
#ifndef NK_VERDICT_RULES_H
#define NK_VERDICT_RULES_H

#include "verdict/judge.h"

struct nk_rule {
    enum nk_runs runs; // NATIVE, JIT, NONE or UNKNOWN; never HOLLOW
    enum nk_reason reason;
};

// Kind, architecture and suffix against the GPU. NATIVE or JIT: it fits.
struct nk_rule nk_rule_fits(const struct nk_image *image, const struct nk_target *target);
// For an image that fits (`fits` is what nk_rule_fits said): `fits` again when the driver can load it, else NONE or
// UNKNOWN with the reason. Never looks at CUDA_FORCE_PTX_JIT, which is about the choice between images.
struct nk_rule nk_rule_loads(const struct nk_image *image, const struct nk_target *target, struct nk_rule fits);
// The result that the driver is expected to return when `reason` keeps `image` (NULL: no image) from running; 0 for
// reasons that are none of NK_RUNS_NONE.
int nk_rule_result(enum nk_reason reason, const struct nk_image *image, const struct nk_target *target);

#endif
