// coverage.c - what a library can run on, from the headers of its containers.
//
// Only .nv_fatbin is looked at, by headers: a few pages of a library of 700 MB. Kernels are not read, so a verdict is
// about containers: what is missing from one of many, or is hollow, `nokernel scan` finds.
#define _GNU_SOURCE
#include "base/file.h"
#include "doctor/files.h"
#include "doctor/installed.h"
#include "image/elf.h"
#include "image/fatbin.h"
#include "image/find.h"
#include "image/target.h"
#include "verdict/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    struct nk_doctor *doctor;
    struct nk_doctor_library *library;
};

static void add_image(const struct reading *r, const struct nk_image *image)
{
    struct nk_doctor_library *l = r->library;
    struct nk_image *more = nk_doctor_grow(r->doctor, l->images, l->image_count, &l->image_room, sizeof *more);
    if (!more) return;
    l->images = more;
    more[l->image_count++] = *image;
    l->boxes[l->box_count - 1].count++;
}

static int add_box(const struct nk_found *found, void *user)
{
    const struct reading *r = user;
    struct nk_doctor_library *l = r->library;
    struct nk_fatbin walk;
    struct nk_entry_view entry;
    if (found->flags & NK_FOUND_RELOCATABLE || nk_fatbin_begin(&walk, found->bytes, NULL)) return 0;
    struct nk_doctor_box *boxes = nk_doctor_grow(r->doctor, l->boxes, l->box_count, &l->box_room, sizeof *boxes);
    if (!boxes) return 1;
    l->boxes = boxes;
    boxes[l->box_count++] = (struct nk_doctor_box){.first = l->image_count};
    while (nk_fatbin_next(&walk, &entry, NULL) == 1) {
        // The text of PTX is what the driver compiles, whatever its header says.
        if (entry.image.kind == NK_KIND_PTX) nk_image_check_target(&entry, NULL);
        add_image(r, &entry.image);
    }
    return 0;
}

// ---- verdicts

static const char *word_of(const struct nk_doctor_cover *c)
{
    if (c->none) return c->native || c->jit ? "partly" : "none";
    if (c->unknown) return "unknown";
    return c->jit ? "jit" : c->native ? "native" : "";
}

static void judge(const struct nk_doctor_library *l, const struct nk_target *gpu, struct nk_doctor_cover *c)
{
    bool bad = false;
    c->verdict.image = -1;
    for (size_t i = 0; i < l->box_count; i++) {
        const struct nk_image *images = l->images + l->boxes[i].first;
        struct nk_verdict v = nk_judge(images, l->boxes[i].count, NULL, gpu);
        if (!l->boxes[i].count || (v.runs == NK_RUNS_UNKNOWN && v.reason == NK_REASON_EMPTY)) continue;
        c->native += v.runs == NK_RUNS_NATIVE;
        c->jit += v.runs == NK_RUNS_JIT;
        c->none += v.runs == NK_RUNS_NONE;
        c->unknown += v.runs == NK_RUNS_UNKNOWN;
        bool now_bad = v.runs == NK_RUNS_NONE;
        if ((now_bad && !bad) || (!bad && c->native + c->jit + c->unknown == 1)) {
            c->verdict = v;
            c->box = i;
        }
        bad |= now_bad;
    }
    c->word = word_of(c);
}

// ---- files

static const char *shown(struct nk_doctor *doctor, const char *path, const struct nk_doctor_package *package)
{
    size_t size = package ? strlen(package->site) : 0;
    if (size && !strncmp(path, package->site, size) && path[size] == '/')
        return nk_doctor_keep_text(doctor, path + size + 1);
    return nk_doctor_shown(doctor, path);
}

static bool met(const struct nk_doctor *doctor, const char *path)
{
    for (size_t i = 0; i < doctor->library_count; i++)
        if (!strcmp(doctor->libraries[i]->path, path)) return true;
    return false;
}

static bool read_library(struct nk_doctor *doctor, const char *path, struct nk_doctor_library *l)
{
    struct nk_buf whole = {0};
    struct nk_file file;
    struct nk_elf elf;
    struct nk_elf_section section;
    char build_id[NK_BUILD_ID_TEXT];
    bool holds = false;
    if (!nk_file_open(&file, nk_doctor_path(&whole, doctor->asked.root, path), NULL)) {
        nk_file_scattered(&file);
        holds = !nk_elf_open(&elf, file.bytes, NULL) && nk_elf_find_name(&elf, ".nv_fatbin", &section);
        if (holds) {
            *l = (struct nk_doctor_library){.size = file.bytes.size, .machine = elf.machine, .hash = "", .shown = path};
            l->path = nk_doctor_keep_text(doctor, path);
            l->build_id = nk_elf_build_id(&elf, build_id) ? nk_doctor_keep_text(doctor, build_id) : "";
            nk_find_images(file.bytes, NK_FIND_SECTIONS_ONLY, add_box, &(struct reading){doctor, l}, NULL);
        }
        nk_file_close(&file);
    }
    nk_buf_free(&whole);
    return holds;
}

struct nk_doctor_library *nk_coverage_add(struct nk_doctor *doctor, const char *path, struct nk_doctor_package *package)
{
    struct nk_doctor_library found;
    if (met(doctor, path) || !read_library(doctor, path, &found)) return NULL;
    struct nk_doctor_library *l = nk_doctor_alloc(doctor, sizeof *l);
    struct nk_doctor_library **list =
        l ? nk_doctor_grow(doctor, doctor->libraries, doctor->library_count, &doctor->library_room, sizeof *list)
          : NULL;
    if (!list) {
        nk_coverage_drop(&found);
        return NULL;
    }
    doctor->libraries = list;
    list[doctor->library_count++] = l;
    *l = found;
    l->package = package;
    l->shown = shown(doctor, l->path, package);
    return l;
}

bool nk_coverage_look(struct nk_doctor *doctor, const char *path, struct nk_doctor_library *library)
{
    if (!read_library(doctor, path, library)) return false;
    for (size_t gpu = 0; gpu < doctor->gpu_count; gpu++)
        judge(library, &doctor->gpus[gpu].target, &library->cover[gpu]);
    return true;
}

void nk_coverage_drop(struct nk_doctor_library *library)
{
    free(library->images);
    free(library->boxes);
}

void nk_coverage_has(const struct nk_doctor_library *library, struct nk_buf *out)
{
    nk_arch_list_text(library->images, library->image_count, out);
}

// bitsandbytes brings a library for each CUDA version and opens the one of torch's (or of BNB_CUDA_VERSION).
static bool unused(const struct nk_doctor *doctor, const struct nk_doctor_library *l)
{
    const struct nk_doctor_package *torch = nk_doctor_package(doctor, "torch");
    const char *at = strstr(l->shown, "libbitsandbytes_cuda"), *named = nk_doctor_env("BNB_CUDA_VERSION");
    char wanted[16];
    if (!at || (!*named && (!torch || torch->cuda <= 0))) return false;
    snprintf(wanted, sizeof wanted, "%d", torch ? torch->cuda / 1000 * 10 + torch->cuda % 1000 / 10 : 0);
    if (*named) snprintf(wanted, sizeof wanted, "%.8s", named);
    return strncmp(at + 20, wanted, strlen(wanted)) || at[20 + strlen(wanted)] != '.';
}

static void leave_out(struct nk_doctor *doctor)
{
    size_t kept = 0;
    for (size_t i = 0; i < doctor->library_count; i++) {
        if (unused(doctor, doctor->libraries[i]))
            nk_coverage_drop(doctor->libraries[i]);
        else
            doctor->libraries[kept++] = doctor->libraries[i];
    }
    doctor->library_count = kept;
}

void nk_coverage_judge(struct nk_doctor *doctor)
{
    leave_out(doctor);
    for (size_t i = 0; i < doctor->library_count; i++)
        for (size_t gpu = 0; gpu < doctor->gpu_count; gpu++)
            judge(doctor->libraries[i], &doctor->gpus[gpu].target, &doctor->libraries[i]->cover[gpu]);
}
