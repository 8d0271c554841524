// check_compilers.c - packages that compile kernels while a program runs: does their compiler know the GPUs?
#define _GNU_SOURCE
#include "advice/knowledge.h"
#include "advice/parts.h"
#include "base/file.h"
#include "doctor/checks.h"
#include "doctor/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The CUDA version that a compiler says of itself: "Cuda compilation tools, release 12.8, V12.8.93". 0: not known.
static int tool_version(struct nk_doctor *doctor, const char *path)
{
    static const char mark[] = "Cuda compilation tools, release ";
    struct nk_buf whole = {0};
    struct nk_file file;
    int cuda = 0;
    if (!nk_file_open(&file, nk_doctor_path(&whole, doctor->asked.root, path), NULL)) {
        struct nk_bytes text;
        int64_t at = -1;
        // The text is there as a format too: "release %d.%d".
        while (!cuda && (at = nk_bytes_find(file.bytes, (uint64_t)(at + 1), mark, sizeof mark - 1)) >= 0) {
            char number[16] = "";
            if (nk_bytes_part(file.bytes, (uint64_t)at + sizeof mark - 1, sizeof number - 1, &text))
                memcpy(number, text.data, text.size);
            number[strspn(number, "0123456789.")] = 0;
            cuda = nk_version_cuda(number);
        }
        nk_file_close(&file);
    }
    nk_buf_free(&whole);
    return cuda;
}

static struct nk_doctor_finding *tell(struct nk_doctor *doctor, struct nk_doctor_package *p, int cuda, size_t gpu,
                                      const char *where)
{
    char title[300], version[24];
    struct nk_buf range = {0};
    snprintf(title, sizeof title, "%s %s", p->name, p->version);
    snprintf(version, sizeof version, "%d.%d", cuda / 1000, cuda % 1000 / 10);
    struct nk_doctor_finding *f =
        nk_doctor_find_in(doctor, p, NK_FINDING_COMPILER, title, version, doctor->gpus[gpu].text);
    f->gpu = (int)gpu;
    nk_doctor_see(f, "%s is of CUDA %s", where, version);
    if (nk_name_toolkit(&range, NK_ENGLISH, doctor->gpus[gpu].target.sm) && range.data)
        nk_doctor_see(f, "sm_%d needs the compiler of %s", doctor->gpus[gpu].target.sm, range.data);
    nk_buf_free(&range);
    return f;
}

// ---- Triton brings ptxas, and a second one for Blackwell since 3.5

static void triton(struct nk_doctor *doctor, struct nk_doctor_package *p)
{
    static const char *const places[] = {"triton/backends/nvidia/bin/ptxas",
                                         "triton/backends/nvidia/bin/ptxas-blackwell",
                                         "triton/common/../third_party/cuda/bin/ptxas"};
    const char *named = nk_doctor_env("TRITON_PTXAS_PATH"), *first = NULL;
    int versions[4] = {0}, oldest = 0;
    for (size_t i = 0; i < 4; i++) {
        struct nk_buf path = {0};
        nk_buf_format(&path, "%s%s%s", i < 3 ? p->site : named, i < 3 ? "/" : "", i < 3 ? places[i] : "");
        const char *kept = nk_doctor_keep_buf(doctor, &path);
        // One that is named stands for all of them.
        if ((i == 3) == !*named) continue;
        if ((versions[i] = tool_version(doctor, kept)) && !first) {
            first = kept;
            oldest = versions[i];
        }
    }
    for (size_t gpu = 0; first && gpu < doctor->gpu_count; gpu++) {
        bool known = !nk_doctor_first_of_kind(doctor, gpu);
        for (size_t i = 0; i < 4; i++)
            known |= versions[i] && nk_check_compiles(doctor->gpus[gpu].target.sm, versions[i]);
        if (known) continue;
        struct nk_doctor_finding *f = tell(doctor, p, oldest, gpu, nk_doctor_shown(doctor, first));
        nk_buf_text(&f->command, "export TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas");
    }
}

// ---- CuPy takes NVRTC from a package or from the system

static void cupy(struct nk_doctor *doctor, struct nk_doctor_package *p)
{
    const char *digits = strstr(p->name, "cuda1");
    int major = digits ? atoi(digits + 4) : 0, cuda = 0;
    char name[32];
    const char *where = "";
    snprintf(name, sizeof name, "nvidia-cuda-nvrtc");
    if (major < 13) snprintf(name, sizeof name, "nvidia-cuda-nvrtc-cu%d", major);
    const struct nk_doctor_package *nvrtc = nk_doctor_package(doctor, name);
    if (nvrtc) {
        int minor = 0;
        if (sscanf(nvrtc->version, "%d.%d", &major, &minor) == 2) cuda = major * 1000 + minor * 10;
        where = nvrtc->name;
    }
    for (size_t gpu = 0; cuda && gpu < doctor->gpu_count; gpu++) {
        if (nk_check_compiles(doctor->gpus[gpu].target.sm, cuda) || !nk_doctor_first_of_kind(doctor, gpu)) continue;
        char sm[NK_NAME_TEXT];
        int row = nk_known_row(&nk_known_sm_toolkit, NK_SM_SM, nk_name_sm(sm, doctor->gpus[gpu].target.sm) + 3);
        const char *first = row ? nk_known(&nk_known_sm_toolkit, row, NK_SM_FIRST) : "";
        struct nk_doctor_finding *f = tell(doctor, p, cuda, gpu, where);
        const char *upgrade = nk_doctor_install(doctor, nvrtc, NK_UPGRADE);
        if (*upgrade && *first && nk_version_cuda(first) / 1000 == cuda / 1000)
            nk_buf_format(&f->command, "%s\"%s>=%s\"", upgrade, name, first);
    }
}

void nk_check_compilers(struct nk_doctor *doctor)
{
    for (size_t i = 0; i < doctor->package_count; i++) {
        struct nk_doctor_package *p = doctor->packages[i];
        if (p->hidden || !p->known) continue;
        if (nk_same_package(p->name, "triton") || nk_same_package(p->name, "pytorch-triton")) triton(doctor, p);
        if (!strncmp(p->name, "cupy-cuda", 9)) cupy(doctor, p);
    }
}
