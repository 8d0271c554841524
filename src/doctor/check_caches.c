// check_caches.c - what was compiled before on this machine: by torch for extensions, by Triton, CuPy and the driver.
#define _GNU_SOURCE
#include "doctor/checks.h"
#include "doctor/files.h"
#include "doctor/installed.h"
#include "packages/sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 512 };

// Environment variable, else a folder below the home directory; "" when neither is set.
static const char *folder_of(struct nk_doctor *doctor, const char *variable, const char *cache_home, const char *below)
{
    struct nk_buf path = {0};
    const char *named = nk_doctor_env(variable), *home = nk_doctor_env("HOME"),
               *cache = nk_doctor_env("XDG_CACHE_HOME");
    if (*named)
        nk_buf_text(&path, named);
    else if (cache_home && *cache)
        nk_buf_format(&path, "%s/%s", cache, cache_home);
    else if (*home)
        nk_buf_format(&path, "%s/%s", home, below);
    return nk_doctor_keep_buf(doctor, &path);
}

// ---- extensions that torch compiled: .../torch_extensions/py311_cu121/NAME/NAME.so

struct extensions {
    struct nk_doctor *doctor;
    size_t count;
};

static void judge(struct nk_doctor *doctor, const char *folder, struct nk_doctor_library *l)
{
    for (size_t gpu = 0; gpu < doctor->gpu_count; gpu++) {
        if (strcmp(l->cover[gpu].word, "none") || !nk_doctor_first_of_kind(doctor, gpu)) continue;
        struct nk_doctor_finding *f = nk_doctor_find(doctor, NK_FINDING_CACHE_OTHER_GPU,
                                                     nk_doctor_shell(doctor, folder), "1", doctor->gpus[gpu].text);
        f->gpu = (int)gpu;
        struct nk_buf has = {0};
        nk_coverage_has(l, &has);
        nk_doctor_see(f, "%s: has %s", nk_doctor_shown(doctor, l->path), has.data ? has.data : "");
        nk_buf_free(&has);
    }
}

static void extension(struct extensions *e, const char *folder, const char *path)
{
    const struct nk_doctor_package *torch = nk_doctor_package(e->doctor, "torch");
    int64_t made = nk_doctor_changed(e->doctor->asked.root, path);
    struct nk_doctor_library l;
    e->count++;
    if (nk_coverage_look(e->doctor, path, &l)) {
        judge(e->doctor, folder, &l);
        nk_coverage_drop(&l);
    }
    if (torch && made && torch->installed > made) {
        char title[300];
        snprintf(title, sizeof title, "%s %s", torch->name, torch->version);
        nk_doctor_find(e->doctor, NK_FINDING_CACHE_OLD, nk_doctor_shell(e->doctor, folder), title, NULL);
    }
}

// Of another Python or CUDA: that build is not used by this torch.
static bool is_ours(const struct nk_doctor *doctor, const char *name)
{
    const struct nk_doctor_package *torch = nk_doctor_package(doctor, "torch");
    char wanted[32];
    snprintf(wanted, sizeof wanted, "py3%s_cu",
             strchr(doctor->python.version, '.') ? strchr(doctor->python.version, '.') + 1 : "");
    if (strncmp(name, "py3", 3)) return true; // without the folder of a version, as with TORCH_EXTENSIONS_DIR
    if (strncmp(name, wanted, strlen(wanted))) return false;
    return !torch || torch->cuda <= 0 ||
           atoi(name + strlen(wanted)) == torch->cuda / 1000 * 10 + torch->cuda % 1000 / 10;
}

static void walk(struct extensions *e, const char *folder, int depth)
{
    struct nk_packages_walk all = {0};
    for (const char *name; (name = nk_packages_next(&all, e->doctor->asked.root, folder, strlen(folder)));) {
        struct nk_buf path = {0};
        if (name[0] == '.' || e->count > MOST || (!depth && !is_ours(e->doctor, name))) continue;
        nk_buf_format(&path, "%s/%s", folder, name);
        if (path.data && nk_packages_ends(name, ".so"))
            extension(e, folder, path.data);
        else if (path.data && depth < 2 && nk_doctor_is_folder(e->doctor->asked.root, path.data))
            walk(e, path.data, depth + 1);
        nk_buf_free(&path);
    }
}

// ---- the others: their keys hold the architecture and the compiler, so what is old is not used

static size_t entries(struct nk_doctor *doctor, const char *folder)
{
    size_t count = 0;
    struct nk_packages_walk all = {0};
    for (const char *name; *folder && (name = nk_packages_next(&all, doctor->asked.root, folder, strlen(folder)));)
        count += name[0] != '.';
    return count;
}

static void count(struct nk_doctor *doctor, struct nk_buf *out, const char *folder, const char *what)
{
    size_t found = entries(doctor, folder);
    if (found) nk_buf_format(out, "%s%s: %zu %s", out->size ? ", " : "", nk_doctor_shown(doctor, folder), found, what);
}

void nk_check_caches(struct nk_doctor *doctor)
{
    struct nk_buf *out = &nk_doctor_row(doctor, "caches")->found;
    struct extensions e = {.doctor = doctor};
    const char *folder = folder_of(doctor, "TORCH_EXTENSIONS_DIR", "torch_extensions", ".cache/torch_extensions");
    if (*folder) walk(&e, folder, 0);
    if (e.count)
        nk_buf_format(out, "%s: %zu librar%s", nk_doctor_shown(doctor, folder), e.count, e.count == 1 ? "y" : "ies");
    count(doctor, out, folder_of(doctor, "TRITON_CACHE_DIR", NULL, ".triton/cache"), "entries of Triton");
    count(doctor, out, folder_of(doctor, "CUPY_CACHE_DIR", NULL, ".cupy/kernel_cache"), "files of CuPy");
    count(doctor, out, folder_of(doctor, "CUDA_CACHE_PATH", NULL, ".nv/ComputeCache"), "entries of the driver");
    if (!out->size) nk_buf_text(out, "none");
}
