// check_settings.c - environment variables that change what runs.
#define _GNU_SOURCE
#include "advice/knowledge.h"
#include "advice/parts.h"
#include "doctor/checks.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_on(const char *value) { return *value && strcmp(value, "0"); }

// ---- TORCH_CUDA_ARCH_LIST

// What torch's cpp_extension makes of a name (named_arches).
static const char *of_name(const char *word, size_t size)
{
    static const struct {
        const char *name, *archs;
    } names[] = {{"Maxwell", "50;52"}, {"Pascal", "60;61"}, {"Volta", "70"},  {"Turing", "75"},
                 {"Ampere", "80;86"},  {"Ada", "89"},       {"Hopper", "90"}, {"Blackwell", "100;103;120;121"},
                 {"Kepler", "35;37"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i].name) == size && !strncasecmp(names[i].name, word, size)) return names[i].archs;
    return NULL;
}

// "8.0;9.0a+PTX" as lists of our tables: "80;90a" and "90a". False when a word is not understood.
static bool read_arch_list(const char *list, struct nk_buf *sass, struct nk_buf *ptx)
{
    for (const char *at = list + strspn(list, "; ,"); *at; at += strspn(at, "; ,")) {
        size_t size = strcspn(at, "; ,"), plain = size;
        bool with_ptx = size > 4 && !strncasecmp(at + size - 4, "+PTX", 4);
        char number[16];
        if (with_ptx) plain -= 4;
        const char *named = of_name(at, plain);
        if (!named) {
            size_t n = 0;
            for (size_t i = 0; i < plain && n < sizeof number - 1; i++)
                if (at[i] != '.') number[n++] = at[i];
            number[n] = 0;
            if (!isdigit((unsigned char)number[0])) return false;
            named = number;
        }
        nk_buf_format(sass, "%s%s", sass->size ? ";" : "", named);
        if (with_ptx) nk_buf_format(ptx, "%s%s", ptx->size ? ";" : "", named);
        at += size;
    }
    return sass->size;
}

static void arch_list(struct nk_doctor *doctor)
{
    const char *list = nk_doctor_env("TORCH_CUDA_ARCH_LIST");
    struct nk_buf sass = {0}, ptx = {0}, missing = {0}, wanted = {0};
    bool understood = *list && read_arch_list(list, &sass, &ptx);
    for (size_t i = 0; understood && i < doctor->gpu_count; i++) {
        char cc[NK_NAME_TEXT];
        nk_buf_format(&wanted, "%s%s", i ? "\\;" : "", nk_name_cc(cc, doctor->gpus[i].target.sm));
        if (nk_known_runs(sass.data, ptx.data ? ptx.data : "", 0, &doctor->gpus[i].target).runs == NK_RUNS_NONE)
            nk_buf_format(&missing, "%s%s", missing.size ? ", " : "", doctor->gpus[i].text);
    }
    if (missing.size) nk_doctor_find(doctor, NK_FINDING_ARCH_LIST, list, missing.data, wanted.data);
    nk_buf_free(&sass);
    nk_buf_free(&ptx);
    nk_buf_free(&missing);
    nk_buf_free(&wanted);
}

// ---- the others

// A library that runs only because it has machine code (or PTX) would not with this variable.
static bool breaks(const struct nk_doctor *doctor, enum nk_reason reason)
{
    for (size_t i = 0; i < doctor->library_count; i++)
        for (size_t gpu = 0; gpu < doctor->gpu_count; gpu++)
            if (doctor->libraries[i]->cover[gpu].none && doctor->libraries[i]->cover[gpu].verdict.reason == reason)
                return true;
    return false;
}

static void found(struct nk_doctor *doctor, enum nk_finding_name name, const char *variable, enum nk_reason reason)
{
    struct nk_doctor_finding *f = nk_doctor_find(doctor, name, nk_doctor_env(variable), NULL, NULL);
    nk_doctor_see(f, "%s=%s", variable, nk_doctor_env(variable));
    // Nothing is spoilt by it here.
    if (reason != NK_REASON_COUNT && doctor->library_count && doctor->gpu_count && !breaks(doctor, reason))
        f->severity = NK_SEVERITY_NOTE;
    if (reason != NK_REASON_COUNT && breaks(doctor, reason)) f->severity = NK_SEVERITY_FAILURE;
}

const char *nk_check_setting(size_t i)
{
    static const char *const names[] = {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",    "CUDA_FORCE_PTX_JIT",
                                        "CUDA_DISABLE_PTX_JIT", "CUDA_MODULE_LOADING",  "CUDA_LAUNCH_BLOCKING",
                                        "CUDA_CACHE_DISABLE",   "TORCH_CUDA_ARCH_LIST", "PYTORCH_NVML_BASED_CUDA_CHECK",
                                        "LD_PRELOAD",           "LD_LIBRARY_PATH"};
    return i < sizeof names / sizeof *names ? names[i] : NULL;
}

static void row(struct nk_doctor *doctor)
{
    struct nk_buf *out = &nk_doctor_row(doctor, "settings")->found;
    for (size_t i = 0; nk_check_setting(i); i++)
        if (getenv(nk_check_setting(i)))
            nk_buf_format(out, "%s%s=%s", out->size ? ", " : "", nk_check_setting(i),
                          nk_doctor_shown(doctor, getenv(nk_check_setting(i))));
    if (!out->size) nk_buf_text(out, "none that changes what runs");
}

void nk_check_settings(struct nk_doctor *doctor)
{
    if (!strcmp(nk_doctor_env("CUDA_FORCE_PTX_JIT"), "1"))
        found(doctor, NK_FINDING_FORCE_PTX, "CUDA_FORCE_PTX_JIT", NK_REASON_FORCE_PTX_NO_PTX);
    if (!strcmp(nk_doctor_env("CUDA_DISABLE_PTX_JIT"), "1"))
        found(doctor, NK_FINDING_DISABLE_PTX, "CUDA_DISABLE_PTX_JIT", NK_REASON_JIT_DISABLED);
    if (!strcasecmp(nk_doctor_env("CUDA_MODULE_LOADING"), "EAGER"))
        found(doctor, NK_FINDING_EAGER, "CUDA_MODULE_LOADING", NK_REASON_COUNT);
    if (is_on(nk_doctor_env("CUDA_LAUNCH_BLOCKING")))
        found(doctor, NK_FINDING_BLOCKING, "CUDA_LAUNCH_BLOCKING", NK_REASON_COUNT);
    if (is_on(nk_doctor_env("CUDA_CACHE_DISABLE")))
        found(doctor, NK_FINDING_NO_CACHE, "CUDA_CACHE_DISABLE", NK_REASON_COUNT);
    arch_list(doctor);
    row(doctor);
}
