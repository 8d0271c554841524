// advice.c - from the reason for which code does not run to the repairs that apply.
#include "advice/parts.h"
#include "verdict/arch.h"

#include <string.h>

enum { UNSUPPORTED_PTX = 222, NO_JIT_COMPILER = 221, INVALID_IMAGE = 200 };

void nk_advice_case_init(struct nk_advice_case *about)
{
    static const char *const nobody[] = {NULL};
    *about = (struct nk_advice_case){.package = "",
                                     .version = "",
                                     .source = "",
                                     .installer = "",
                                     .origin = "",
                                     .library = "",
                                     .loader_package = "",
                                     .loader_version = "",
                                     .torch = "",
                                     .python = "",
                                     .python_version = "",
                                     .machine = "x86_64",
                                     .others = nobody};
    about->verdict.image = -1;
}

// ---- the driver and the environment

static void newer_driver_for_ptx(const struct nk_advice_case *about, struct nk_advice *out)
{
    char isa[NK_NAME_TEXT], needs[NK_NAME_TEXT], has[NK_NAME_TEXT], branch[NK_NAME_TEXT];
    int version = 0;
    const struct nk_image *image = about->verdict.image >= 0 && (size_t)about->verdict.image < about->image_count
                                       ? &about->images[about->verdict.image]
                                       : NULL;
    if (image && image->kind == NK_KIND_PTX) version = image->isa_major * 10 + image->isa_minor;
    int cuda = version ? nk_driver_for_ptx(version, NULL) : 0;
    // When the driver should know this version already, a newer one is not what is missing.
    if (cuda && about->target.driver >= cuda) return;
    nk_name_cuda(has, about->target.driver);
    if (cuda && *nk_name_driver(branch, cuda)) {
        nk_repair_add(out, NK_TEXT_RISK_SYSTEM, "PTX ISA manual, release table", NK_TEXT_DRIVER_PTX,
                      nk_name_cc(isa, version), nk_name_cuda(needs, cuda), branch, about->target.driver ? has : "?");
    } else {
        nk_repair_add(out, NK_TEXT_RISK_SYSTEM, "PTX ISA manual, release table", NK_TEXT_DRIVER_PTX_ANY,
                      about->target.driver ? has : "?", NULL, NULL, NULL);
    }
    if (about->in_memory && about->target.driver) {
        struct nk_repair *repair = nk_repair_add(out, NK_TEXT_SAFE_PACKAGE, "numba/numba#8961: a driver's own message",
                                                 NK_TEXT_RUNTIME_NEW, has, NULL, NULL, NULL);
        (void)repair;
    }
}

static void newer_driver_for_codec(const struct nk_advice_case *about, struct nk_advice *out)
{
    char cuda[NK_NAME_TEXT], branch[NK_NAME_TEXT];
    int needs = nk_driver_reads(NK_READS_ZSTD);
    if (about->target.driver >= needs) return;
    nk_repair_add(out, NK_TEXT_RISK_SYSTEM, "nvcc manual, --compress-mode; ollama/ollama#16895", NK_TEXT_DRIVER_CODEC,
                  nk_name_cuda(cuda, needs), nk_name_driver(branch, needs), NULL, NULL);
    nk_repair_add(out, NK_TEXT_SAFE_PACKAGE, "nvcc manual, --compress-mode", NK_TEXT_CODEC_BUILD, NULL, NULL, NULL,
                  NULL);
}

static void unset(struct nk_advice *out, enum nk_text text, const char *command)
{
    struct nk_repair *repair =
        nk_repair_add(out, NK_TEXT_SAFE_ENVIRONMENT, "CUDA C++ Programming Guide, CUDA environment variables", text,
                      NULL, NULL, NULL, NULL);
    if (repair) nk_buf_text(&repair->command, command);
}

static void jit_library(struct nk_advice *out)
{
    struct nk_repair *repair = nk_repair_add(out, NK_TEXT_RISK_SYSTEM,
                                             "ollama/ollama#6591; anduril/jetpack-nixos#184; NVIDIA/cutile-python#44",
                                             NK_TEXT_JIT_LIBRARY, NULL, NULL, NULL, NULL);
    if (repair)
        nk_buf_text(&repair->command, "docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility IMAGE");
}

// ---- code that was made while the program ran

// A release of the package that loaded it whose own code runs there: TensorFlow unpacks kernels that it brings.
static bool loader_release(const struct nk_advice_case *about, struct nk_advice *out)
{
    struct nk_advice_case loader = *about;
    loader.package = about->loader_package;
    loader.version = about->loader_version;
    return *loader.package && nk_advise_package(&loader, out);
}

static void runtime_compiler(const struct nk_advice_case *about, struct nk_advice *out)
{
    char sm[NK_NAME_TEXT], isa[NK_NAME_TEXT];
    struct nk_buf toolkit = {0};
    struct nk_repair *repair = NULL;
    int row = nk_known_row(&nk_known_sm_toolkit, NK_SM_SM, nk_name_sm(isa, about->target.sm) + 3);
    const char *first = row ? nk_known(&nk_known_sm_toolkit, row, NK_SM_FIRST) : "";
    bool older = about->image_count == 1 && about->images->arch < about->target.sm;
    nk_name_sm(sm, about->target.sm);
    bool ptx = about->image_count == 1 && about->images->kind == NK_KIND_PTX;
    if (ptx && loader_release(about, out)) return;
    if (!older || !nk_name_toolkit(&toolkit, out->language, about->target.sm)) {
        nk_repair_add(out, NK_TEXT_SAFE_NOTHING, "", NK_TEXT_RUNTIME_WRONG, sm, NULL, NULL, NULL);
    } else if (!strncmp(about->loader_package, "cupy", 4) && nk_version_cuda(first) < 13000) {
        repair = nk_repair_add(out, NK_TEXT_SAFE_PACKAGE, "cupy/cupy#9106, #9121: NVRTC older than the GPU",
                               NK_TEXT_RUNTIME_OLD, sm, toolkit.data, NULL, NULL);
        nk_repair_pip(repair ? &repair->command : NULL, about, NK_UPGRADE);
        bool cuda13 = strstr(about->loader_package, "13") != NULL;
        if (repair && cuda13) nk_buf_text(&repair->command, "nvidia-cuda-nvrtc");
        if (repair && !cuda13) nk_buf_format(&repair->command, "\"nvidia-cuda-nvrtc-cu12>=%s\"", first);
    } else {
        nk_repair_add(out, NK_TEXT_SAFE_NOTHING, nk_known(&nk_known_sm_toolkit, row, NK_SM_SOURCE), NK_TEXT_RUNTIME_OLD,
                      sm, toolkit.data, NULL, NULL);
    }
    if (nk_same_package(about->loader_package, "triton")) {
        repair = nk_repair_add(out, NK_TEXT_SAFE_ENVIRONMENT, "triton-lang/triton#8539", NK_TEXT_TRITON, NULL, NULL,
                               NULL, NULL);
        if (repair) nk_buf_text(&repair->command, "export TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas");
    }
    nk_buf_free(&toolkit);
}

// ---- code that lies in a file

// Where what there is is for newer GPUs only, a GPU may be easier to change than a program.
static void older_gpu(const struct nk_advice_case *about, struct nk_advice *out)
{
    size_t newer = 0;
    for (size_t i = 0; i < about->image_count; i++) newer += about->images[i].arch > about->target.sm;
    if (newer && newer == about->image_count && *about->package)
        nk_repair_add(out, NK_TEXT_SAFE_NOTHING, "", NK_TEXT_OTHER_GPU, NULL, NULL, NULL, NULL);
}

static void hollow(const struct nk_advice_case *about, struct nk_advice *out)
{
    char sm[NK_NAME_TEXT];
    struct nk_repair *repair = nk_repair_add(out, NK_TEXT_SAFE_NOTHING, "hao-ai-lab/FastVideo#1507", NK_TEXT_HOLLOW,
                                             nk_name_sm(sm, about->target.sm), NULL, NULL, NULL);
    nk_repair_upstream(out, repair, about);
}

static void other_back_end(const struct nk_advice_case *about, struct nk_advice *out)
{
    char sm[NK_NAME_TEXT];
    struct nk_repair *repair = nk_repair_add(out, NK_TEXT_SAFE_NOTHING, "", NK_TEXT_BACK_END,
                                             nk_name_sm(sm, about->target.sm), NULL, NULL, NULL);
    nk_repair_upstream(out, repair, about);
}

static void another_build(const struct nk_advice_case *about, struct nk_advice *out)
{
    char sm[NK_NAME_TEXT];
    if (about->in_memory) {
        runtime_compiler(about, out);
        return;
    }
    if (nk_same_package(about->package, "torch")) {
        nk_advise_torch(about, out);
        older_gpu(about, out);
        return;
    }
    nk_advise_package(about, out);
    if (about->verdict.reason == NK_REASON_ARCH_SPECIFIC && !nk_same_package(about->package, "flash-attn-3") &&
        *about->package)
        nk_repair_add(out, NK_TEXT_SAFE_NOTHING, "", NK_TEXT_ONE_ARCH, about->package, nk_name_sm(sm, about->target.sm),
                      NULL, NULL);
    nk_advise_build(about, out);
    older_gpu(about, out);
}

static void by_reason(const struct nk_advice_case *about, struct nk_advice *out)
{
    switch (about->verdict.reason) {
    case NK_REASON_HOLLOW:
        hollow(about, out);
        break;
    case NK_REASON_JIT_DISABLED:
        unset(out, NK_TEXT_UNSET_DISABLE, "unset CUDA_DISABLE_PTX_JIT");
        break;
    case NK_REASON_FORCE_PTX_NO_PTX:
        unset(out, NK_TEXT_UNSET_FORCE, "unset CUDA_FORCE_PTX_JIT");
        break;
    case NK_REASON_CODEC_NEWER_THAN_DRIVER:
        newer_driver_for_codec(about, out);
        break;
    case NK_REASON_KERNEL_NOT_IN_IMAGE:
        other_back_end(about, out);
        break;
    case NK_REASON_PTX_TOO_NEW_ISA:
        newer_driver_for_ptx(about, out);
        if (!about->in_memory) another_build(about, out);
        break;
    case NK_REASON_CUBIN_ABI_NEWER:
        if (about->result == INVALID_IMAGE && about->target.driver && about->target.driver < 13000)
            nk_repair_add(out, NK_TEXT_RISK_SYSTEM, "inferred: CUDA 12 writes this ABI for sm_100 and newer only",
                          NK_TEXT_DRIVER_ABI, NULL, NULL, NULL, NULL);
        break;
    default:
        // Where it runs by the rules, or nothing can be said, no repair follows from them.
        if (about->verdict.runs == NK_RUNS_NONE) another_build(about, out);
    }
}

void nk_advise(const struct nk_advice_case *asked, enum nk_language language, struct nk_advice *out)
{
    struct nk_advice_case about = *asked;
    *out = (struct nk_advice){.language = language};
    about.package = nk_advice_name(asked->package, asked->source);
    if (about.result == NO_JIT_COMPILER) {
        jit_library(out);
        return;
    }
    if (about.result == UNSUPPORTED_PTX && about.verdict.runs != NK_RUNS_NONE) newer_driver_for_ptx(&about, out);
    by_reason(&about, out);
    nk_advise_installer(&about, asked->package, out);
}

void nk_advice_free(struct nk_advice *advice)
{
    for (size_t i = 0; i < advice->count; i++) {
        nk_buf_free(&advice->repair[i].text);
        nk_buf_free(&advice->repair[i].command);
        nk_buf_free(&advice->repair[i].evidence);
    }
    advice->count = 0;
}
