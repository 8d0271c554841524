// text.h - a list of images, and what a GPU would need instead of it, in the words of a report.
//
// Both add to `buf`, which the caller owns, and add no line end. They fail only as nk_buf does (buf->failed).
#ifndef NK_VERDICT_TEXT_H
#define NK_VERDICT_TEXT_H

#include "base/buf.h"
#include "verdict/judge.h"

// "sm_50 sm_60 sm_70, no PTX", "sm_80 sm_90a, PTX compute_90 (ISA 8.0)", "PTX compute_52 (ISA 7.0)", "no device code".
// Each architecture once, rising. What cannot be loaded as it is comes last: "relocatable PTX compute_80 (ISA 9.0)",
// "LTO sm_80", "1 image of unknown kind".
void nk_arch_list_text(const struct nk_image *images, size_t count, struct nk_buf *buf);

// What would make it run: "sm_120 (or PTX for compute_120 or lower)", "sm_80, sm_86 or sm_89 (or PTX for compute_89 or
// lower, PTX ISA 8.2 or lower for this driver)". When an image fits and something else keeps it from running, that
// comes first: "a driver for CUDA 12.4 or newer (550), or ...". "" when nothing is needed.
void nk_verdict_needs(const struct nk_image *images, size_t count, const struct nk_target *target, struct nk_buf *buf);

#endif
