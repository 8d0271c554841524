// text.c - a list of images, and what a GPU would need instead of it, in the words of a report.
#include "verdict/text.h"
#include "verdict/arch.h"

#include <limits.h>

// ---- what is there

static bool is_code(const struct nk_image *image)
{
    return image->kind == NK_KIND_CUBIN || image->kind == NK_KIND_PTX || image->kind == NK_KIND_PTX_LINK ||
           image->kind == NK_KIND_LTO;
}

// Order of a list: by architecture, then suffix, then (PTX) the version of the PTX.
static long order(const struct nk_image *image)
{
    long isa =
        image->kind == NK_KIND_PTX || image->kind == NK_KIND_PTX_LINK ? image->isa_major * 100L + image->isa_minor : 0;
    return (image->arch * 256L + image->suffix) * 100000L + isa;
}

// The image of `kind` that comes next after `last`, or NULL at the end. Lists are short: a container has some 16
// images, a library some 30 different ones.
static const struct nk_image *next(const struct nk_image *images, size_t count, enum nk_image_kind kind, long last)
{
    const struct nk_image *found = NULL;
    for (size_t i = 0; i < count; i++)
        if (images[i].kind == kind && order(&images[i]) > last && (!found || order(&images[i]) < order(found)))
            found = &images[i];
    return found;
}

static void name(struct nk_buf *buf, const struct nk_image *image, bool virtual)
{
    char text[NK_ARCH_TEXT];
    if (!image->arch)
        nk_buf_text(buf, "unknown architecture");
    else
        nk_buf_text(buf, nk_arch_text(text, (struct nk_arch){image->arch, (char)image->suffix, virtual}));
}

static void isa(struct nk_buf *buf, const struct nk_image *image)
{
    if (image->isa_major) nk_buf_format(buf, " (ISA %u.%u)", image->isa_major, image->isa_minor);
}

// All of one kind, after `lead`; `separator` is what has to come between it and what stands before. Says whether any.
static bool list(struct nk_buf *buf, const struct nk_image *images, size_t count, enum nk_image_kind kind,
                 const char *lead, const char *separator)
{
    bool versions = kind == NK_KIND_PTX || kind == NK_KIND_PTX_LINK;
    const struct nk_image *image = next(images, count, kind, LONG_MIN), *after;
    if (!image) return false;
    nk_buf_text(buf, separator);
    nk_buf_text(buf, lead);
    for (; image; image = after) {
        name(buf, image, versions);
        after = next(images, count, kind, order(image));
        // One version for all of them is said once, at the end.
        bool same = after && after->isa_major == image->isa_major && after->isa_minor == image->isa_minor;
        if (versions && !same) isa(buf, image);
        if (after) nk_buf_text(buf, versions && !same ? ", " : " ");
    }
    return true;
}

void nk_arch_list_text(const struct nk_image *images, size_t count, struct nk_buf *buf)
{
    size_t unknown = 0;
    for (size_t i = 0; i < count; i++) unknown += !is_code(&images[i]);
    bool sass = list(buf, images, count, NK_KIND_CUBIN, "", "");
    bool any = list(buf, images, count, NK_KIND_PTX, "PTX ", sass ? ", " : "") || sass;
    if (sass && !next(images, count, NK_KIND_PTX, LONG_MIN)) nk_buf_text(buf, ", no PTX");
    any = list(buf, images, count, NK_KIND_PTX_LINK, "relocatable PTX ", any ? ", " : "") || any;
    any = list(buf, images, count, NK_KIND_LTO, "LTO ", any ? ", " : "") || any;
    if (unknown)
        nk_buf_format(buf, "%s%zu image%s of unknown kind", any ? ", " : "", unknown, unknown == 1 ? "" : "s");
    else if (!any)
        nk_buf_text(buf, "no device code");
}

// ---- what is needed

// Plain cubins that run on `sm`, lowest first: "sm_80, sm_86 or sm_89".
static void natives(struct nk_buf *buf, int sm)
{
    struct nk_image image = {.kind = NK_KIND_CUBIN, .kernels = 1};
    struct nk_target target = {.sm = sm};
    int fit[32], n = 0;
    for (int arch = nk_arch_next(0); arch && n < 31; arch = nk_arch_next(arch)) {
        image.arch = (uint16_t)arch;
        if (arch != sm && nk_judge_image(&image, &target).runs == NK_RUNS_NATIVE) fit[n++] = arch;
    }
    fit[n++] = sm;
    for (int i = 0; i < n; i++) nk_buf_format(buf, "%ssm_%d", !i ? "" : i == n - 1 ? " or " : ", ", fit[i]);
}

// Any image that would do, with the driver's limit on PTX where that is what is in the way.
static void images_that_fit(struct nk_buf *buf, const struct nk_target *target, bool ptx_only, bool limited)
{
    if (!ptx_only) {
        natives(buf, target->sm);
        if (target->disable_ptx_jit) return;
        nk_buf_text(buf, " (or ");
    }
    nk_buf_format(buf, "PTX for compute_%d or lower", target->sm);
    int limit = limited ? nk_driver_ptx_limit(target->driver, NULL) : 0;
    if (limit) nk_buf_format(buf, ", PTX ISA %d.%d or lower for this driver", limit / 10, limit % 10);
    if (!ptx_only) nk_buf_text(buf, ")");
}

static void driver(struct nk_buf *buf, int cuda)
{
    int branch = 0;
    nk_driver_for_ptx(nk_driver_ptx_limit(cuda, NULL), &branch);
    nk_buf_format(buf, "a driver for CUDA %d.%d or newer", cuda / 1000, cuda % 1000 / 10);
    if (branch) nk_buf_format(buf, " (%d)", branch);
    nk_buf_text(buf, ", or ");
}

static void driver_for_ptx(struct nk_buf *buf, const struct nk_image *image)
{
    int cuda = nk_driver_for_ptx(image->isa_major * 10 + image->isa_minor, NULL);
    if (cuda)
        driver(buf, cuda);
    else
        nk_buf_text(buf, "a newer driver, or ");
}

void nk_verdict_needs(const struct nk_image *images, size_t count, const struct nk_target *target, struct nk_buf *buf)
{
    struct nk_verdict v = nk_judge(images, count, NULL, target);
    if (v.runs == NK_RUNS_NATIVE || v.runs == NK_RUNS_JIT || v.reason == NK_REASON_EMPTY || target->sm <= 0) return;
    bool limited = v.reason == NK_REASON_PTX_TOO_NEW_ISA || v.reason == NK_REASON_UNKNOWN_PTX_LIMIT;
    if (limited)
        driver_for_ptx(buf, &images[v.image]);
    else if (v.reason == NK_REASON_CODEC_NEWER_THAN_DRIVER)
        driver(buf, nk_driver_reads(NK_READS_ZSTD));
    else if (v.reason == NK_REASON_CUBIN_ABI_NEWER)
        driver(buf, nk_driver_reads(NK_READS_ABI8));
    else if (v.reason == NK_REASON_JIT_DISABLED)
        nk_buf_text(buf, "CUDA_DISABLE_PTX_JIT unset, or ");
    else if (target->force_ptx_jit)
        nk_buf_text(buf, v.reason == NK_REASON_FORCE_PTX_NO_PTX ? "CUDA_FORCE_PTX_JIT unset, or " : "");
    images_that_fit(buf, target, target->force_ptx_jit, limited);
    if (v.reason == NK_REASON_CODEC_NEWER_THAN_DRIVER) nk_buf_text(buf, " not compressed with zstd");
}
