// check_runtime.c - the CUDA libraries that the loader would take for the installed packages, and for whom.
#define _GNU_SOURCE
#include "base/file.h"
#include "doctor/checks.h"
#include "doctor/files.h"
#include "doctor/installed.h"
#include "doctor/loader.h"
#include "packages/sources.h"
#include "report/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_cuda_library(struct nk_bytes name)
{
    static const char *const names[] = {"libcudart",     "libcublas",   "libcudnn",  "libcufft",  "libcurand",
                                        "libcusolver",   "libcusparse", "libnccl",   "libnvrtc",  "libnvJitLink",
                                        "libnvToolsExt", "libcupti",    "libcufile", "libnvshmem"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (nk_bytes_starts(name, names[i], strlen(names[i]))) return true;
    return false;
}

// ---- where it lies

// The package whose folder or list holds the file: only those of the environment.
static struct nk_doctor_package *owner(struct nk_doctor *doctor, const char *path)
{
    struct nk_package found;
    bool inside = false;
    for (size_t i = 0; i < doctor->python.site_count; i++) {
        const char *site = doctor->python.sites[i].path;
        inside |= !strncmp(path, site, strlen(site)) && path[strlen(site)] == '/';
    }
    if (!inside || nk_package_find_in(doctor->asked.root, path, &found, NULL)) return NULL;
    return nk_doctor_package(doctor, found.name);
}

// torch and others load libraries of NVIDIA's packages themselves when the loader does not find them: from nvidia/*/lib
// of a folder of packages.
static bool in_nvidia_folders(struct nk_doctor *doctor, const char *name, char *out, size_t size)
{
    for (size_t i = 0; i < doctor->python.site_count; i++) {
        struct nk_buf folder = {0};
        struct nk_packages_walk walk = {0};
        bool found = false;
        nk_buf_format(&folder, "%s/nvidia", doctor->python.sites[i].path);
        for (const char *part;
             folder.data && (part = nk_packages_next(&walk, doctor->asked.root, folder.data, folder.size));) {
            int n = snprintf(out, size, "%s/%s/lib/%s", folder.data, part, name);
            if (n > 0 && (size_t)n < size && nk_doctor_exists(doctor->asked.root, out)) {
                nk_packages_close(&walk);
                found = true;
                break;
            }
        }
        nk_buf_free(&folder);
        if (found) return true;
    }
    return false;
}

// ---- one needed library

static bool met(const struct nk_doctor *doctor, const char *name, const char *path)
{
    for (size_t i = 0; i < doctor->runtime_count; i++)
        if (!strcmp(doctor->runtimes[i].name, name) && !strcmp(doctor->runtimes[i].path, path)) return true;
    return false;
}

// A library that is in the process already is taken by its name, wherever a later one would look.
static bool loaded_by(const struct nk_doctor *doctor, const char *name, const struct nk_doctor_package *package)
{
    for (size_t i = 0; i < doctor->runtime_count; i++)
        if (!strcmp(doctor->runtimes[i].name, name) && *doctor->runtimes[i].path &&
            (doctor->runtimes[i].package == package || package != nk_doctor_framework(doctor)))
            return true;
    return false;
}

static void add(struct nk_doctor *doctor, const struct nk_doctor_library *by, const char *name, const char *path,
                const char *how)
{
    struct nk_doctor_runtime *list =
        nk_doctor_grow(doctor, doctor->runtimes, doctor->runtime_count, &doctor->runtime_room, sizeof *list);
    if (!list) return;
    doctor->runtimes = list;
    list[doctor->runtime_count++] = (struct nk_doctor_runtime){.name = nk_doctor_keep_text(doctor, name),
                                                               .path = nk_doctor_keep_text(doctor, path),
                                                               .by = by->shown,
                                                               .how = how,
                                                               .package = *path ? owner(doctor, path) : NULL};
}

static const char *title(struct nk_doctor *doctor, const struct nk_doctor_library *l)
{
    struct nk_buf text = {0};
    if (!l->package) return l->shown;
    nk_buf_format(&text, "%s %s", l->package->name, l->package->version);
    return nk_doctor_keep_buf(doctor, &text);
}

// The environment has the library in a package, and the loader takes another file.
static void elsewhere(struct nk_doctor *doctor, const struct nk_doctor_library *by, const char *name,
                      const struct nk_loaded *found)
{
    char own[NK_DOCTOR_PATH], real[NK_DOCTOR_PATH], taken[NK_DOCTOR_PATH];
    if (!strcmp(found->how, "RPATH") || !strcmp(found->how, "RUNPATH")) return;
    if (!in_nvidia_folders(doctor, name, own, sizeof own)) return;
    if (!nk_doctor_real(doctor->asked.root, own, real, sizeof real) ||
        !nk_doctor_real(doctor->asked.root, found->path, taken, sizeof taken) || !strcmp(real, taken))
        return;
    struct nk_doctor_finding *f = nk_doctor_found(doctor, NK_FINDING_LIBRARY_ELSEWHERE, by->package, -1);
    if (!f)
        f = nk_doctor_find_in(doctor, by->package, NK_FINDING_LIBRARY_ELSEWHERE, title(doctor, by), name,
                              nk_doctor_shown(doctor, found->path));
    nk_doctor_see(f, "%s, by %s; the environment has %s", nk_doctor_shown(doctor, found->path), found->how,
                  nk_doctor_shown(doctor, own));
    // The cache has no variable to take it out of: the package's own way of finding it is what is missing.
    if (!strcmp(found->how, "LD_LIBRARY_PATH")) {
        nk_buf_clear(&f->command);
        nk_buf_text(&f->command, nk_loader_without(doctor, found->path));
    } else {
        f->severity = NK_SEVERITY_NOTE;
        nk_buf_clear(&f->remedy);
        nk_buf_clear(&f->command);
    }
}

// The command that installs "nvidia-cudnn-cu12" for "libcudnn.so.9" and a package of CUDA 12; "" where the name is not
// certain. What is part of the toolkit has no suffix any more since CUDA 13.
static const char *package_with(struct nk_doctor *doctor, const struct nk_doctor_package *of, const char *library,
                                int cuda)
{
    static const struct {
        const char *library, *package;
        bool apart; // no part of the toolkit
    } known[] = {
        {"libcudart", "cuda-runtime", false},  {"libcublas", "cublas", false},       {"libcudnn", "cudnn", true},
        {"libcufft", "cufft", false},          {"libcurand", "curand", false},       {"libcusolver", "cusolver", false},
        {"libcusparseLt", "cusparselt", true}, {"libcusparse", "cusparse", false},   {"libnccl", "nccl", true},
        {"libnvrtc", "cuda-nvrtc", false},     {"libnvJitLink", "nvjitlink", false}, {"libcupti", "cuda-cupti", false},
        {"libnvshmem_host", "nvshmem", true}};
    struct nk_buf out = {0};
    const char *install = nk_doctor_install(doctor, of, NK_INSTALL);
    if (!*install || cuda < 11000 || cuda >= 14000) return "";
    for (size_t i = 0; i < sizeof known / sizeof *known && !out.size; i++) {
        if (strncmp(library, known[i].library, strlen(known[i].library))) continue;
        nk_buf_format(&out, "%snvidia-%s", install, known[i].package);
        if (cuda < 13000 || known[i].apart) nk_buf_format(&out, "-cu%d", cuda / 1000);
    }
    return nk_doctor_keep_buf(doctor, &out);
}

static void nowhere(struct nk_doctor *doctor, const struct nk_doctor_library *by, const char *name)
{
    struct nk_doctor_finding *f = nk_doctor_found(doctor, NK_FINDING_LIBRARY_MISSING, by->package, -1);
    struct nk_doctor_finding *missing = nk_doctor_found(doctor, NK_FINDING_MISSING, by->package, -1);
    int cuda = by->package ? by->package->cuda : 0;
    if (f) {
        nk_doctor_see(f, "%s needs %s", by->shown, name);
        return;
    }
    f = nk_doctor_find_in(doctor, by->package, NK_FINDING_LIBRARY_MISSING, title(doctor, by), name,
                          package_with(doctor, by->package, name, cuda));
    nk_doctor_see(f, "%s needs %s", by->shown, name);
    // What the package itself says that it lacks is the better advice.
    if (missing && by->package) {
        nk_doctor_see(f, "%s", missing->sentence.data ? missing->sentence.data : "");
        nk_buf_clear(&f->command);
        nk_buf_text(&f->command, missing->command.data ? missing->command.data : "");
        nk_doctor_drop(doctor, missing);
    }
    // Other libraries of a package are opened only when they are used.
    if (by->package != nk_doctor_framework(doctor)) f->severity = NK_SEVERITY_WARNING;
}

static void needed(struct nk_doctor *doctor, const struct nk_doctor_library *by, const struct nk_asker *asker,
                   struct nk_bytes text)
{
    char name[256], path[NK_DOCTOR_PATH];
    struct nk_loaded found;
    if (!is_cuda_library(text) || text.size >= sizeof name) return;
    memcpy(name, text.data, text.size);
    name[text.size] = 0;
    if (nk_loader_find(doctor, asker, name, &found)) {
        if (met(doctor, name, found.path)) return;
        add(doctor, by, name, found.path, found.how);
        elsewhere(doctor, by, name, &found);
    } else if (in_nvidia_folders(doctor, name, path, sizeof path)) {
        if (!met(doctor, name, path)) add(doctor, by, name, path, "preloaded");
    } else if (!loaded_by(doctor, name, by->package) && !met(doctor, name, "")) {
        add(doctor, by, name, "", "");
        nowhere(doctor, by, name);
    }
}

static void look(struct nk_doctor *doctor, const struct nk_doctor_library *l)
{
    struct nk_buf whole = {0};
    struct nk_file file;
    struct nk_dynamic dynamic;
    if (!nk_file_open(&file, nk_doctor_path(&whole, doctor->asked.root, l->path), NULL)) {
        nk_file_scattered(&file);
        const struct nk_asker asker = {l->path, &dynamic, NULL};
        for (size_t i = 0; nk_dynamic_read(file.bytes, &dynamic) && i < dynamic.count; i++)
            needed(doctor, l, &asker, dynamic.needed[i]);
        nk_file_close(&file);
    }
    nk_buf_free(&whole);
}

// ---- two runtimes

static void two(struct nk_doctor *doctor)
{
    struct nk_buf list = {0};
    size_t count = 0;
    for (size_t i = 0; i < doctor->runtime_count; i++) {
        const struct nk_doctor_runtime *r = &doctor->runtimes[i];
        if (strncmp(r->name, "libcudart", 9) || !*r->path) continue;
        nk_buf_format(&list, "%s%s (for %s)", count++ ? ", " : "", r->name, r->by);
    }
    if (count > 1) {
        struct nk_doctor_finding *f = nk_doctor_find(doctor, NK_FINDING_TWO_RUNTIMES, list.data, NULL, NULL);
        for (size_t i = 0; i < doctor->runtime_count; i++)
            if (!strncmp(doctor->runtimes[i].name, "libcudart", 9))
                nk_doctor_see(f, "%s: %s, by %s", doctor->runtimes[i].by,
                              nk_doctor_shown(doctor, doctor->runtimes[i].path), doctor->runtimes[i].how);
    }
    nk_buf_free(&list);
}

static void row(struct nk_doctor *doctor)
{
    struct nk_doctor_row *row = nk_doctor_row(doctor, "runtime");
    size_t shown = 0, others = 0;
    for (size_t i = 0; i < doctor->runtime_count; i++) {
        const struct nk_doctor_runtime *r = &doctor->runtimes[i];
        if (strncmp(r->name, "libcudart", 9) || !*r->path) {
            others++;
            continue;
        }
        nk_buf_format(&row->found, "%s%s", shown++ ? ", " : "", r->name);
        if (r->package)
            nk_buf_format(&row->found, " of %s %s", r->package->name, r->package->version);
        else
            nk_buf_format(&row->found, " in %s", nk_doctor_shown(doctor, r->path));
    }
    if (others)
        nk_buf_format(&row->found, "%s%zu other CUDA librar%s", shown ? ", " : "", others, others == 1 ? "y" : "ies");
    row->unchecked = !doctor->library_count;
    if (!doctor->runtime_count)
        nk_buf_text(&row->found, row->unchecked ? "not looked at" : "linked into the libraries");
}

void nk_check_runtime(struct nk_doctor *doctor)
{
    const struct nk_doctor_package *framework = nk_doctor_framework(doctor);
    // What the framework loads is there when the others come.
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < doctor->library_count; i++) {
            const struct nk_doctor_library *l = doctor->libraries[i];
            bool first = l->package && l->package == framework;
            if (first == (pass == 0) && !(l->package && nk_installed_nvidia(l->package->name))) look(doctor, l);
        }
    two(doctor);
    row(doctor);
}
