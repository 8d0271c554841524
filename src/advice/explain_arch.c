// explain_arch.c - an architecture: which GPUs it is, what runs where, which toolkits and wheels have it.
#include "advice/explain.h"
#include "advice/parts.h"
#include "verdict/arch.h"

#include <stdlib.h>
#include <string.h>

// ---- what runs where

static struct nk_verdict runs(struct nk_arch code, int sm)
{
    struct nk_image image = {.kind = code.virtual ? NK_KIND_PTX : NK_KIND_CUBIN,
                             .arch = (uint16_t)code.sm,
                             .suffix = (uint8_t)code.suffix,
                             .isa_major = 1,
                             .kernels = UINT32_MAX};
    struct nk_target target = {.sm = sm};
    return nk_judge_image(&image, &target);
}

static void next(struct nk_buf *out, const char *item)
{
    if (out->size) nk_buf_text(out, "\n");
    nk_buf_text(out, item);
}

static void runs_on(struct nk_explained *out, const struct nk_arch *arch)
{
    char name[NK_NAME_TEXT];
    struct nk_buf *list = nk_explain_row(out, "runs_on", "runs on", true);
    for (int sm = 0; (sm = nk_arch_next(sm));) {
        enum nk_runs how = runs(*arch, sm).runs;
        if (how == NK_RUNS_NATIVE || how == NK_RUNS_JIT) next(list, nk_name_sm(name, sm));
    }
}

// Does a toolkit make code with this suffix for the architecture?
static bool exists(int sm, char suffix)
{
    char name[NK_NAME_TEXT];
    int row = nk_known_row(&nk_known_sm_toolkit, NK_SM_SM, nk_name_sm(name, sm) + 3);
    return row && (!suffix || *nk_known(&nk_known_sm_toolkit, row, suffix == 'a' ? NK_SM_A : NK_SM_F));
}

static void gpu_runs(struct nk_explained *out, const struct nk_arch *arch)
{
    char name[NK_ARCH_TEXT];
    if (arch->suffix || arch->virtual) return;
    struct nk_buf *list = nk_explain_row(out, "gpu_runs", "accepts", true);
    for (int sm = 0; (sm = nk_arch_next(sm));)
        for (const char *suffix = "\0af", *end = suffix + 3; suffix < end; suffix++) {
            struct nk_arch code = {.sm = sm, .suffix = *suffix};
            if (exists(sm, *suffix) && runs(code, arch->sm).runs == NK_RUNS_NATIVE)
                next(list, nk_arch_text(name, code));
        }
    struct nk_buf ptx = {0};
    nk_buf_format(&ptx, "PTX for compute_%d or lower", arch->sm);
    if (ptx.data) next(list, ptx.data);
    nk_buf_free(&ptx);
}

static void gpus(struct nk_explained *out, const struct nk_arch *arch)
{
    char name[NK_NAME_TEXT];
    const char *number = nk_name_sm(name, arch->sm) + 3;
    int row = nk_known_row(&nk_known_gpus, NK_GPU_SM, number);
    if (row) nk_buf_text(nk_explain_row(out, "family", "family", false), nk_known(&nk_known_gpus, row, NK_GPU_FAMILY));
    struct nk_buf *list = nk_explain_row(out, "gpus", "GPUs", true);
    // The ones that most people have come first.
    for (int geforce = 1; geforce >= 0; geforce--)
        for (row = 1; row < nk_known_gpus.rows; row++)
            if (!strcmp(nk_known(&nk_known_gpus, row, NK_GPU_SM), number) &&
                (strcmp(nk_known(&nk_known_gpus, row, NK_GPU_KIND), "geforce") == 0) == geforce)
                next(list, nk_known(&nk_known_gpus, row, NK_GPU_NAME));
}

// ---- toolkits

// The CUDA version that first has PTX of that ISA ("8.7").
static int cuda_for_isa(const char *isa)
{
    int row = nk_known_row(&nk_known_cuda_versions, NK_CUDA_ISA, isa);
    return row ? nk_version_cuda(nk_known(&nk_known_cuda_versions, row, NK_CUDA_CUDA)) : 0;
}

static int since_of(int row, char suffix)
{
    return suffix ? cuda_for_isa(nk_known(&nk_known_sm_toolkit, row, suffix == 'a' ? NK_SM_A : NK_SM_F)) : 0;
}

bool nk_explain_toolkits(struct nk_buf *out, enum nk_language language, const struct nk_arch *arch)
{
    char name[NK_NAME_TEXT], cuda[NK_NAME_TEXT];
    int row = nk_known_row(&nk_known_sm_toolkit, NK_SM_SM, nk_name_sm(name, arch->sm) + 3);
    int since = since_of(row, arch->suffix);
    if (!row || (arch->suffix && !since)) return false;
    if (!since || *nk_known(&nk_known_sm_toolkit, row, NK_SM_LAST)) return nk_name_toolkit(out, language, arch->sm);
    nk_text_add(out, language, NK_TEXT_TOOLKIT_FROM, nk_name_cuda(cuda, since), NULL, NULL, NULL);
    return true;
}

static void toolkits(struct nk_explained *out, const struct nk_arch *arch)
{
    char name[NK_NAME_TEXT], suffix[2] = {arch->suffix, 0};
    int row = nk_known_row(&nk_known_sm_toolkit, NK_SM_SM, nk_name_sm(name, arch->sm) + 3);
    if (!row) return;
    struct nk_buf *made = nk_explain_row(out, "made_by", "made by", false);
    if (nk_explain_toolkits(made, NK_ENGLISH, arch))
        nk_buf_format(nk_explain_row(out, "nvcc", "nvcc", false), "-gencode arch=compute_%d%s,code=%s_%d%s", arch->sm,
                      suffix, arch->virtual ? "compute" : "sm", arch->sm, suffix);
    else
        nk_buf_text(made, nk_text_raw(nk_text_language(), NK_TEXT_NO_TOOLKIT));
    nk_buf_text(nk_explain_row(out, "note", "note", false), nk_known(&nk_known_sm_toolkit, row, NK_SM_NOTE));
}

// ---- torch

// "2.7.0 to 2.11.0" of an index: runs of versions that all have it.
static void ranges(struct nk_buf *out, const struct nk_wheel *wheels, size_t count, const char *variant, int sm)
{
    const struct nk_wheel *first = NULL, *last = NULL;
    for (size_t i = 0; i <= count; i++) {
        const struct nk_wheel *w = i < count ? &wheels[i] : NULL;
        if (w && strcmp(w->variant, variant)) continue;
        if (w && nk_wheel_serves(w, sm, false)) {
            if (!first) first = w;
            last = w;
            continue;
        }
        if (first) nk_buf_format(out, "%s%s", out->size ? ", " : "", first->torch);
        if (first && last != first) nk_buf_format(out, " to %s", last->torch);
        first = NULL;
    }
}

static void machine_wheels(struct nk_buf *list, const char *machine, int sm)
{
    static const char *const variants[] = {"cu102", "cu111", "cu113", "cu116", "cu117", "cu118", "cu121",
                                           "cu124", "cu126", "cu128", "cu129", "cu130", "cu132", "cu134"};
    struct nk_wheel wheels[NK_WHEELS_MOST];
    size_t count = nk_wheels(wheels, machine);
    for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
        struct nk_buf versions = {0}, item = {0};
        ranges(&versions, wheels, count, variants[v], sm);
        if (versions.size) nk_buf_format(&item, "%s (%s): %s", variants[v], machine, versions.data);
        if (item.data) next(list, item.data);
        nk_buf_free(&versions);
        nk_buf_free(&item);
    }
}

static void torch(struct nk_explained *out, const struct nk_arch *arch)
{
    struct nk_wheel wheels[NK_WHEELS_MOST];
    if (arch->suffix || arch->virtual) return;
    struct nk_buf *list = nk_explain_row(out, "torch", "torch", true);
    machine_wheels(list, "x86_64", arch->sm);
    machine_wheels(list, "aarch64", arch->sm);
    if (!list->size) nk_buf_text(list, nk_text_raw(nk_text_language(), NK_TEXT_NO_WHEEL));
    size_t count = nk_wheels(wheels, "x86_64");
    struct nk_buf *pypi = nk_explain_row(out, "torch_pypi", "PyPI", false);
    const struct nk_wheel *first = NULL, *last = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!*nk_known(&nk_known_torch_wheels, wheels[i].row, NK_WHEEL_PYPI)) continue;
        if (!nk_wheel_serves(&wheels[i], arch->sm, false)) continue;
        if (!first) first = &wheels[i];
        last = &wheels[i];
    }
    if (first) nk_buf_format(pypi, "its own builds from %s to %s (x86_64)", first->torch, last->torch);
}

void nk_explain_arch(struct nk_explained *out, const struct nk_arch *arch)
{
    char name[NK_ARCH_TEXT], cc[NK_NAME_TEXT];
    static const char *const what[] = {"machine code", "PTX"};
    nk_name_cc(cc, arch->sm);
    out->kind = "architecture";
    nk_buf_format(&out->title, "%s: ", nk_arch_text(name, *arch));
    if (arch->suffix == 'a')
        nk_buf_format(&out->title, "%s for exactly compute capability %s", what[arch->virtual], cc);
    else if (arch->suffix == 'f')
        nk_buf_format(&out->title, "%s for the family of compute capability %s", what[arch->virtual], cc);
    else if (arch->virtual)
        nk_buf_format(&out->title, "PTX for compute capability %s and newer", cc);
    else
        nk_buf_format(&out->title, "compute capability %s", cc);
    gpus(out, arch);
    runs_on(out, arch);
    gpu_runs(out, arch);
    toolkits(out, arch);
    torch(out, arch);
}
