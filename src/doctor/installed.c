// installed.c - the distributions in the folders of an interpreter.
#define _GNU_SOURCE
#include "doctor/installed.h"
#include "advice/knowledge.h"
#include "advice/parts.h"
#include "base/file.h"
#include "doctor/files.h"
#include "doctor/records.h"
#include "packages/package.h"
#include "packages/sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- names

static const char *const known[] = {
    "torch",
    "pytorch",
    "torchvision",
    "torchaudio",
    "torchtext",
    "triton",
    "pytorch-triton",
    "xformers",
    "flash-attn",
    "flash-attn-3",
    "bitsandbytes",
    "onnxruntime",
    "onnxruntime-gpu",
    "tensorflow",
    "tensorflow-cpu",
    "jax",
    "jaxlib",
    "jax-cuda12-plugin",
    "jax-cuda12-pjrt",
    "jax-cuda13-plugin",
    "jax-cuda13-pjrt",
    "vllm",
    "sglang",
    "sgl-kernel",
    "sglang-kernel",
    "auto-gptq",
    "autoawq",
    "autoawq-kernels",
    "torchao",
    "torch-scatter",
    "torch-sparse",
    "torch-cluster",
    "torch-spline-conv",
    "pyg-lib",
    "fbgemm-gpu",
    "sageattention",
    "apex",
    "deepspeed",
    "ctranslate2",
    "faiss-gpu",
    "faiss-gpu-cu11",
    "faiss-gpu-cu12",
    "faiss-cpu",
    "xgboost",
    "lightgbm",
    "tinycudann",
    "detectron2",
    "mmcv",
    "mmcv-full",
    "pytorch3d",
    "causal-conv1d",
    "mamba-ssm",
    "transformer-engine",
    "flashinfer-python",
    "paddlepaddle-gpu",
    "k2",
    "dgl",
    "warp-lang",
    "taichi",
    "numba-cuda",
    "llama-cpp-python",
    "nunchaku",
    "spas-sage-attn",
    "gsplat",
    "fused-ssim",
    "cuda-toolkit",
    "cuda-bindings",
};

static bool begins(const char *name, const char *start) { return !strncmp(name, start, strlen(start)); }

bool nk_installed_nvidia(const char *name) { return begins(name, "nvidia-") || begins(name, "nvidia_"); }

bool nk_installed_known(const char *name)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (nk_same_package(name, known[i])) return true;
    return nk_installed_nvidia(name) || begins(name, "cupy-cuda") || begins(name, "cupy_cuda") ||
           begins(name, "spconv") || begins(name, "cumm");
}

// CUDA version of a build by its version and name: "2.4.1+cu121" 12010, "nvidia-cublas-cu12" 12000, "+cpu" -1, else 0.
static int cuda_of(const char *name, const char *version)
{
    const char *local = strchr(version, '+'), *suffix = strstr(name, "-cu1"), *cupy = strstr(name, "-cuda1");
    if (local && begins(local + 1, "cpu")) return -1;
    const char *cu = local ? strstr(local, "cu1") : NULL;
    if (cu) {
        char variant[8] = "";
        memcpy(variant, cu, strspn(cu + 2, "0123456789") < 5 ? 2 + strspn(cu + 2, "0123456789") : 0);
        int cuda = nk_version_cuda(variant);
        return cuda ? cuda : atoi(cu + 2) * 1000; // "+cu12": a major version alone
    }
    if (suffix) return atoi(suffix + 3) / (atoi(suffix + 3) > 99 ? 10 : 1) * 1000;
    if (cupy) return atoi(cupy + 5) * 1000;
    for (int row = 1; row < nk_known_packages.rows; row++)
        if (nk_same_package(nk_known(&nk_known_packages, row, NK_PACK_NAME), name) &&
            !nk_version_compare(nk_known(&nk_known_packages, row, NK_PACK_VERSION), version) &&
            nk_known(&nk_known_packages, row, NK_PACK_PART)[0] != '|')
            return nk_version_cuda(nk_known(&nk_known_packages, row, NK_PACK_CUDA));
    return 0;
}

// ---- one distribution

static const char *path_of(struct nk_doctor *doctor, const struct nk_doctor_package *p, const char *rest)
{
    struct nk_buf path = {0};
    nk_buf_format(&path, "%s/%s%s%s", p->site, p->info, *rest ? "/" : "", rest);
    return nk_doctor_keep_buf(doctor, &path);
}

static const char *text_of(struct nk_doctor *doctor, const struct nk_doctor_package *p, const char *file)
{
    struct nk_buf text = {0};
    nk_doctor_read(doctor->asked.root, path_of(doctor, p, file), &text);
    return nk_doctor_keep_buf(doctor, &text);
}

// "cuda: Optional[str] = '12.1'" of torch/version.py, where nothing else tells (conda's packages). None: a build for
// the CPU.
static int cuda_of_module(struct nk_doctor *doctor, const struct nk_doctor_package *p)
{
    struct nk_buf path = {0}, text = {0};
    int cuda = 0;
    nk_buf_format(&path, "%s/%s/version.py", p->site, p->name);
    nk_doctor_read(doctor->asked.root, nk_doctor_keep_buf(doctor, &path), &text);
    for (const char *at = text.data; at && *at; at += strcspn(at, "\n"), at += *at == '\n') {
        size_t size = strcspn(at, "\n");
        const char *value = begins(at, "cuda") && strchr(" :=", at[4]) ? memchr(at, '=', size) : NULL;
        if (!value) continue;
        value += 1 + strspn(value + 1, " '\"");
        char version[8] = "";
        size_t digits = strspn(value, "0123456789.");
        if (digits < sizeof version) memcpy(version, value, digits);
        cuda = begins(value, "None") ? -1 : nk_version_cuda(version);
    }
    nk_buf_free(&text);
    return cuda;
}

// They go into commands: a character that is in no name becomes '?'.
static const char *cleaned(struct nk_doctor *doctor, const char *text)
{
    char copy[128];
    snprintf(copy, sizeof copy, "%s", text);
    for (char *c = copy; *c; c++)
        if (!nk_doctor_plain((char[2]){*c, 0})) *c = '?';
    return nk_doctor_keep_text(doctor, copy);
}

static const char *origin_of(struct nk_doctor *doctor, const struct nk_doctor_package *p)
{
    struct nk_package found = {0};
    const char *json = text_of(doctor, p, "direct_url.json");
    nk_packages_origin(nk_bytes(json, strlen(json)), &found);
    return nk_doctor_keep_text(doctor, found.origin);
}

// Which CUDA torch was built with stands in its version.py.
void nk_installed_learn(struct nk_doctor *doctor, struct nk_doctor_package *p)
{
    struct nk_package found = {0};
    p->known = true;
    bool egg = nk_packages_ends(p->info, ".egg-info");
    p->metadata = text_of(doctor, p, egg ? "PKG-INFO" : "METADATA");
    if (!nk_packages_metadata(nk_bytes(p->metadata, strlen(p->metadata)), &found)) {
        p->name = cleaned(doctor, found.name);
        if (*found.version) p->version = cleaned(doctor, found.version);
    }
    if (!egg && begins(p->name, "torch") && !strchr(p->version, '+') &&
        !nk_package_find_in(doctor->asked.root, path_of(doctor, p, "METADATA"), &found, NULL) &&
        nk_same_package(found.name, p->name))
        p->version = cleaned(doctor, found.version);
    p->cuda = cuda_of(p->name, p->version);
    if (!p->cuda && begins(p->name, "torch")) p->cuda = cuda_of_module(doctor, p);
    const char *installer = text_of(doctor, p, "INSTALLER");
    p->installer = nk_doctor_keep(doctor, installer, strcspn(installer, "\r\n"));
    if (strcmp(p->installer, "conda")) p->origin = origin_of(doctor, p); // else it is where conda's package was built
    p->installed = nk_doctor_changed(doctor->asked.root, path_of(doctor, p, ""));
}

static void add(struct nk_doctor *doctor, const struct nk_doctor_site *site, const char *info)
{
    bool egg = nk_packages_ends(info, ".egg-info");
    size_t size = strlen(info) - (egg ? 9 : 10), cut = size;
    if (egg)
        cut = strcspn(info, "-");
    else
        while (cut && info[cut] != '-') cut--;
    struct nk_doctor_package *p = nk_doctor_alloc(doctor, sizeof *p);
    struct nk_doctor_package **list =
        nk_doctor_grow(doctor, doctor->packages, doctor->package_count, &doctor->package_room, sizeof *list);
    if (list) doctor->packages = list;
    if (!p || !list) return;
    *p = (struct nk_doctor_package){
        .site = site->path, .kind = site->kind, .metadata = "", .installer = "", .origin = "", .record = ""};
    p->info = nk_doctor_keep_text(doctor, info);
    p->name = nk_doctor_keep(doctor, info, cut && cut < size ? cut : size);
    const char *version = cut && cut < size ? info + cut + 1 : "";
    p->version = nk_doctor_keep(doctor, version, egg ? strcspn(version, "-") : size > cut ? size - cut - 1 : 0);
    if (egg && strlen(p->version) > 9 && nk_packages_ends(p->version, ".egg-info"))
        p->version = nk_doctor_keep(doctor, p->version, strlen(p->version) - 9);
    p->name = cleaned(doctor, p->name);
    p->version = cleaned(doctor, p->version);
    if (nk_installed_known(p->name)) nk_installed_learn(doctor, p);
    list[doctor->package_count++] = p;
}

// pip renames what it is about to replace: "torch" to "~orch".
static void interrupted(struct nk_doctor *doctor, const struct nk_doctor_site *site, const char *name)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t size = strlen(known[i]) - 1;
        char after = strlen(name) > size ? name[1 + size] : 0;
        if (strncmp(name + 1, known[i] + 1, size) || (after && after != '-')) continue;
        struct nk_buf path = {0};
        nk_buf_format(&path, "%s/%s", site->path, name);
        const char *shown = nk_doctor_shell(doctor, nk_doctor_keep_buf(doctor, &path));
        nk_doctor_find(doctor, NK_FINDING_INTERRUPTED, shown, NULL, NULL);
        return;
    }
}

static int by_name(const void *a, const void *b)
{
    const struct nk_doctor_package *x = *(struct nk_doctor_package *const *)a,
                                   *y = *(struct nk_doctor_package *const *)b;
    int order = strcasecmp(x->name, y->name);
    return order ? order : strcmp(x->info, y->info);
}

static void list_site(struct nk_doctor *doctor, const struct nk_doctor_site *site)
{
    size_t before = doctor->package_count;
    struct nk_packages_walk walk = {0};
    for (const char *name; (name = nk_packages_next(&walk, doctor->asked.root, site->path, strlen(site->path)));) {
        if (name[0] == '~')
            interrupted(doctor, site, name);
        else if (nk_packages_ends(name, ".dist-info") || nk_packages_ends(name, ".egg-info"))
            add(doctor, site, name);
    }
    if (doctor->package_count > before)
        qsort(doctor->packages + before, doctor->package_count - before, sizeof *doctor->packages, by_name);
}

// ---- the same name twice

static void one_folder(struct nk_doctor *doctor, struct nk_doctor_package *first, struct nk_doctor_package *second)
{
    struct nk_buf both = {0}, newer = {0};
    nk_buf_format(&both, "%s, %s", first->version, second->version);
    bool older = nk_version_compare(first->version, second->version) < 0;
    const struct nk_doctor_package *newest = older ? second : first;
    nk_install_exactly(&newer, first->name, newest->version, nk_doctor_origin(doctor, newest, true));
    struct nk_doctor_finding *f =
        nk_doctor_find_in(doctor, first, NK_FINDING_TWO_VERSIONS, first->name, both.data, newer.data);
    nk_doctor_see(f, "%s and %s in %s", first->info, second->info, nk_doctor_shown(doctor, first->site));
    nk_buf_free(&both);
    nk_buf_free(&newer);
}

static void hide(struct nk_doctor *doctor)
{
    for (size_t i = 0; i < doctor->package_count; i++) {
        struct nk_doctor_package *p = doctor->packages[i];
        for (size_t j = 0; j < i && !p->hidden; j++) {
            struct nk_doctor_package *first = doctor->packages[j];
            if (first->hidden || !nk_same_package(first->name, p->name)) continue;
            p->hidden = true;
            if (p->known && first->site == p->site) one_folder(doctor, first, p);
        }
    }
}

void nk_installed_find(struct nk_doctor *doctor)
{
    for (size_t i = 0; i < doctor->python.site_count; i++) list_site(doctor, &doctor->python.sites[i]);
    hide(doctor);
    nk_records_read(doctor);
}

// ---- findings

static struct nk_doctor_package *shadower(const struct nk_doctor *doctor, const struct nk_doctor_package *hidden)
{
    return nk_doctor_package(doctor, hidden->name);
}

static const char *named(struct nk_doctor *doctor, const struct nk_doctor_package *p)
{
    struct nk_buf text = {0};
    nk_buf_format(&text, "%s %s", p->name, p->version);
    return nk_doctor_keep_buf(doctor, &text);
}

static const char *placed(struct nk_doctor *doctor, const struct nk_doctor_package *p)
{
    struct nk_buf text = {0};
    nk_buf_format(&text, "%s (%s)", p->version, nk_doctor_shown(doctor, p->site));
    return nk_doctor_keep_buf(doctor, &text);
}

void nk_installed_check(struct nk_doctor *doctor)
{
    for (size_t i = 0; i < doctor->package_count; i++) {
        struct nk_doctor_package *p = doctor->packages[i], *first;
        if (!p->known) continue;
        // Packages of the user's folder are at home where the environment has no folder of its own.
        bool venv = *doctor->python.base;
        if (!p->hidden && p->kind == NK_SITE_PYTHONPATH)
            nk_doctor_find_in(doctor, p, NK_FINDING_PYTHONPATH, named(doctor, p), nk_doctor_shown(doctor, p->site),
                              NULL);
        if (!p->hidden && p->kind == NK_SITE_USER && venv)
            nk_doctor_find_in(doctor, p, NK_FINDING_USER_SITE, named(doctor, p), nk_doctor_shown(doctor, p->site),
                              NULL);
        if (!p->hidden || !(first = shadower(doctor, p)) || first->site == p->site) continue;
        if (first->kind == NK_SITE_USER && !venv)
            nk_doctor_find_in(doctor, first, NK_FINDING_USER_SITE, named(doctor, first),
                              nk_doctor_shown(doctor, first->site), NULL);
        else if (first->kind != NK_SITE_PYTHONPATH && first->kind != NK_SITE_USER)
            nk_doctor_find_in(doctor, first, NK_FINDING_TWICE, p->name, placed(doctor, first), placed(doctor, p));
    }
}
