// check_toolkit.c - the toolkit that extensions would be compiled with.
#define _GNU_SOURCE
#include "advice/knowledge.h"
#include "advice/parts.h"
#include "doctor/checks.h"
#include "doctor/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The CUDA version of the toolkit in a folder: cuda.h says it to every compiler.
static int version_of(struct nk_doctor *doctor, const char *home)
{
    static const char *const headers[] = {"include/cuda.h", "targets/x86_64-linux/include/cuda.h",
                                          "include/cuda_runtime_api.h"};
    static const char *const marks[] = {"#define CUDA_VERSION", "#define CUDA_VERSION", "#define CUDART_VERSION"};
    int version = 0;
    for (size_t i = 0; !version && i < 3; i++) {
        struct nk_buf path = {0}, text = {0};
        nk_buf_format(&path, "%s/%s", home, headers[i]);
        if (path.data && nk_doctor_read(doctor->asked.root, path.data, &text) && text.data) {
            const char *at = strstr(text.data, marks[i]);
            if (at) version = atoi(at + strlen(marks[i]));
        }
        nk_buf_free(&path);
        nk_buf_free(&text);
    }
    const char *name = strstr(home, "cuda-");
    return version ? version : name ? nk_version_cuda(name + 5) : 0;
}

// As torch's cpp_extension looks for it: CUDA_HOME or CUDA_PATH, nvcc in PATH, /usr/local/cuda.
static const char *find(struct nk_doctor *doctor, const char **variable)
{
    static const char *const names[] = {"CUDA_HOME", "CUDA_PATH"};
    char path[NK_DOCTOR_PATH], real[NK_DOCTOR_PATH];
    *variable = "";
    for (size_t i = 0; i < 2; i++) {
        const char *home = nk_doctor_env(names[i]);
        if (!*home) continue;
        *variable = names[i];
        return home;
    }
    if (nk_doctor_which(doctor->asked.root,
                        *doctor->asked.root ? "/usr/local/cuda/bin:/usr/local/bin:/usr/bin" : nk_doctor_env("PATH"),
                        "nvcc", path, sizeof path)) {
        if (!nk_doctor_real(doctor->asked.root, path, real, sizeof real)) snprintf(real, sizeof real, "%s", path);
        char *bin = strstr(real, "/bin/nvcc");
        if (bin) *bin = 0;
        return nk_doctor_keep_text(doctor, bin ? real : "/usr");
    }
    return nk_doctor_exists(doctor->asked.root, "/usr/local/cuda/bin/nvcc") ? "/usr/local/cuda" : "";
}

bool nk_check_compiles(int sm, int cuda)
{
    char name[NK_NAME_TEXT];
    int row = nk_known_row(&nk_known_sm_toolkit, NK_SM_SM, nk_name_sm(name, sm) + 3);
    const char *first = row ? nk_known(&nk_known_sm_toolkit, row, NK_SM_FIRST) : "";
    const char *last = row ? nk_known(&nk_known_sm_toolkit, row, NK_SM_LAST) : "";
    return (!*first || nk_version_cuda(first) <= cuda) && (!*last || cuda <= nk_version_cuda(last));
}

static void gpus(struct nk_doctor *doctor, int cuda, const char *home)
{
    char version[24];
    snprintf(version, sizeof version, "%d.%d", cuda / 1000, cuda % 1000 / 10);
    for (size_t i = 0; i < doctor->gpu_count; i++) {
        struct nk_buf range = {0};
        if (nk_check_compiles(doctor->gpus[i].target.sm, cuda) || !nk_doctor_first_of_kind(doctor, i)) continue;
        struct nk_doctor_finding *f =
            nk_doctor_find(doctor, NK_FINDING_NVCC, version, nk_doctor_shown(doctor, home), doctor->gpus[i].text);
        f->gpu = (int)i;
        if (nk_name_toolkit(&range, NK_ENGLISH, doctor->gpus[i].target.sm) && range.data)
            nk_doctor_see(f, "sm_%d needs the toolkit of %s", doctor->gpus[i].target.sm, range.data);
        nk_buf_free(&range);
    }
}

static void framework(struct nk_doctor *doctor, int cuda)
{
    char version[24], built[24], title[300];
    const struct nk_doctor_package *torch = nk_doctor_package(doctor, "torch");
    if (!torch || torch->cuda <= 0 || torch->cuda / 1000 == cuda / 1000) return;
    snprintf(version, sizeof version, "%d.%d", cuda / 1000, cuda % 1000 / 10);
    snprintf(built, sizeof built, "%d.%d", torch->cuda / 1000, torch->cuda % 1000 / 10);
    snprintf(title, sizeof title, "%s %s", torch->name, torch->version);
    nk_doctor_find(doctor, NK_FINDING_NVCC_MAJOR, version, title, built);
}

void nk_check_toolkit(struct nk_doctor *doctor)
{
    const char *variable, *home = find(doctor, &variable);
    struct nk_buf nvcc = {0};
    struct nk_doctor_row *row = nk_doctor_row(doctor, "toolkit");
    int cuda = *home ? version_of(doctor, home) : 0;
    nk_buf_format(&nvcc, "%s/bin/nvcc", home);
    bool there = *home && nvcc.data && nk_doctor_exists(doctor->asked.root, nvcc.data);
    if (*variable && !there)
        nk_doctor_find(doctor, NK_FINDING_CUDA_HOME, variable, nk_doctor_shown(doctor, home), NULL);
    if (!there)
        nk_buf_text(&row->found, "none (only needed to compile extensions)");
    else if (cuda)
        nk_buf_format(&row->found, "CUDA %d.%d in %s", cuda / 1000, cuda % 1000 / 10, nk_doctor_shown(doctor, home));
    else
        nk_buf_format(&row->found, "a version that is not known in %s", nk_doctor_shown(doctor, home));
    row->unchecked = there && !cuda;
    if (there && cuda) {
        gpus(doctor, cuda, home);
        framework(doctor, cuda);
    }
    nk_buf_free(&nvcc);
}
