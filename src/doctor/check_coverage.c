// check_coverage.c - for each package and GPU whether its images cover it, library by library.
#define _GNU_SOURCE
#include "advice/parts.h"
#include "doctor/checks.h"
#include "doctor/installed.h"
#include "doctor/loader.h"
#include "verdict/text.h"

#include <stdio.h>
#include <string.h>

enum { MOST_SHOWN = 6 };

// Libraries of one package, or one library of none.
static bool same_package(const struct nk_doctor_library *a, const struct nk_doctor_library *b)
{
    return a == b || (a->package && a->package == b->package);
}

static bool first_of_package(const struct nk_doctor *doctor, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (same_package(doctor->libraries[j], doctor->libraries[i])) return false;
    return true;
}

static const char *title(struct nk_doctor *doctor, const struct nk_doctor_library *l)
{
    struct nk_buf out = {0};
    if (!l->package) return l->shown;
    nk_buf_format(&out, "%s%s%s", l->package->name, *l->package->version ? " " : "", l->package->version);
    return nk_doctor_keep_buf(doctor, &out);
}

// ---- evidence

static void see(struct nk_doctor_finding *f, const struct nk_doctor_library *l, size_t gpu)
{
    struct nk_buf has = {0};
    const struct nk_doctor_cover *c = &l->cover[gpu];
    size_t all = c->native + c->jit + c->none + c->unknown;
    nk_arch_list_text(l->images, l->image_count, &has);
    if (!strcmp(c->word, "partly"))
        nk_doctor_see(f, "%s: %zu of %zu containers do not run: %s", l->shown, c->none, all,
                      nk_reason_sentence(c->verdict.reason));
    else if (!strcmp(c->word, "none"))
        nk_doctor_see(f, "%s: has %s: %s", l->shown, has.data ? has.data : "", nk_reason_sentence(c->verdict.reason));
    else
        nk_doctor_see(f, "%s: %s; has %s", l->shown, c->word, has.data ? has.data : "");
    nk_buf_free(&has);
}

// NVIDIA's own libraries, and some others, keep one copy of a kernel a GPU and choose: what does not run there is not
// meant to.
static bool chooses(const struct nk_doctor_library *l) { return l->package && nk_installed_nvidia(l->package->name); }

struct tally {
    size_t libraries, none, partly, jit, unknown, native;
    const struct nk_doctor_library *worst; // the first that has nothing, else the first with a gap
};

static struct tally tally_of(const struct nk_doctor *doctor, const struct nk_doctor_library *of, size_t gpu)
{
    struct tally t = {0};
    for (size_t i = 0; i < doctor->library_count; i++) {
        const struct nk_doctor_library *l = doctor->libraries[i];
        const char *word = l->cover[gpu].word;
        if (!same_package(l, of) || !word || !*word) continue;
        bool none = !strcmp(word, "none"), partly = !strcmp(word, "partly") && !chooses(l);
        if ((none && !t.none) || (partly && !t.none && !t.partly)) t.worst = l;
        t.libraries++;
        t.none += none;
        t.partly += partly;
        t.jit += !strcmp(word, "jit");
        t.unknown += !strcmp(word, "unknown");
        t.native += !strcmp(word, "native");
    }
    return t;
}

// torch: the library that every program goes through; others: all of them.
static bool main_library_lacks(const struct nk_doctor *doctor, const struct nk_doctor_library *of, size_t gpu)
{
    struct tally t = tally_of(doctor, of, gpu);
    for (size_t i = 0; i < doctor->library_count; i++) {
        const struct nk_doctor_library *l = doctor->libraries[i];
        if (same_package(l, of) && strstr(l->shown, "libtorch_cuda.so") && !strcmp(l->cover[gpu].word, "none"))
            return true;
    }
    return t.libraries && t.none == t.libraries;
}

static enum nk_finding_name name_of(const struct nk_doctor *doctor, const struct nk_doctor_library *of, size_t gpu,
                                    const struct tally *t)
{
    if (main_library_lacks(doctor, of, gpu)) return NK_FINDING_COVER_NONE;
    if (t->none || t->partly) return NK_FINDING_COVER_PARTLY;
    if (t->unknown) return NK_FINDING_COVER_UNKNOWN;
    return t->jit ? NK_FINDING_COVER_JIT : NK_FINDING_COUNT;
}

static bool tells(enum nk_finding_name name, const struct nk_doctor_library *l, size_t gpu)
{
    const char *word = l->cover[gpu].word;
    if (name == NK_FINDING_COVER_JIT) return !strcmp(word, "jit");
    if (name == NK_FINDING_COVER_UNKNOWN) return !strcmp(word, "unknown");
    return !strcmp(word, "none") || (!strcmp(word, "partly") && !chooses(l));
}

static void check(struct nk_doctor *doctor, const struct nk_doctor_library *of, size_t gpu)
{
    struct tally t = tally_of(doctor, of, gpu);
    enum nk_finding_name name = t.libraries ? name_of(doctor, of, gpu, &t) : NK_FINDING_COUNT;
    size_t shown = 0;
    if (name == NK_FINDING_COUNT || (name == NK_FINDING_COVER_JIT && chooses(of))) return;
    struct nk_doctor_finding *f = nk_doctor_find_in(doctor, of->package, name, title(doctor, of),
                                                    nk_doctor_gpu_title(doctor, gpu), doctor->gpus[gpu].text);
    f->gpu = (int)gpu;
    for (size_t i = 0; i < doctor->library_count; i++)
        if (same_package(doctor->libraries[i], of) && tells(name, doctor->libraries[i], gpu) && shown++ < MOST_SHOWN)
            see(f, doctor->libraries[i], gpu);
    if (shown > MOST_SHOWN) nk_doctor_see(f, "and %zu more libraries", shown - MOST_SHOWN);
    if (t.worst) nk_check_advise(doctor, f, t.worst);
    // A framework of which nothing runs fails at its first kernel, whatever the program; with another GPU that it has
    // code for it depends on which one is used.
    bool another = false;
    for (size_t i = 0; i < doctor->gpu_count; i++) another |= !main_library_lacks(doctor, of, i) && i != gpu;
    if (name == NK_FINDING_COVER_NONE && of->package && of->package == nk_doctor_framework(doctor) && !another)
        f->severity = NK_SEVERITY_FAILURE;
}

// ---- the row

static void row(struct nk_doctor *doctor)
{
    struct nk_doctor_row *row = nk_doctor_row(doctor, "coverage");
    row->unchecked = !doctor->gpu_count || !doctor->library_count;
    if (!doctor->library_count)
        nk_buf_text(&row->found, "no library with GPU code");
    else if (!doctor->gpu_count)
        nk_buf_format(&row->found, "%zu libraries with GPU code, and no GPU to compare with", doctor->library_count);
    for (size_t gpu = 0; doctor->library_count && gpu < doctor->gpu_count; gpu++) {
        size_t whole = 0, partly = 0;
        if (!nk_doctor_first_of_kind(doctor, gpu)) continue;
        for (size_t i = 0; i < doctor->library_count; i++) {
            const struct nk_doctor_library *l = doctor->libraries[i];
            bool some = !strcmp(l->cover[gpu].word, "partly") && !chooses(l);
            partly += some;
            whole += !some && strcmp(l->cover[gpu].word, "none") && strcmp(l->cover[gpu].word, "unknown");
        }
        nk_buf_format(&row->found, "%s%s: %zu of %zu librar%s covered", gpu ? "; " : "",
                      nk_doctor_gpu_title(doctor, gpu), whole, doctor->library_count,
                      doctor->library_count == 1 ? "y" : "ies");
        if (partly) nk_buf_format(&row->found, ", %zu in part", partly);
    }
}

// Where PTX must be compiled the driver opens its compiler by name.
static void compiler_of_driver(struct nk_doctor *doctor)
{
    struct nk_loaded found;
    if (doctor->driver.state != NK_DRIVER_WORKS ||
        nk_loader_find(doctor, NULL, "libnvidia-ptxjitcompiler.so.1", &found))
        return;
    for (size_t i = 0; i < doctor->library_count; i++)
        for (size_t gpu = 0; gpu < doctor->gpu_count; gpu++) {
            const struct nk_doctor_library *l = doctor->libraries[i];
            if (!l->cover[gpu].jit || chooses(l)) continue;
            struct nk_doctor_finding *f =
                nk_doctor_find_in(doctor, l->package, NK_FINDING_NO_JIT, title(doctor, l), NULL, NULL);
            nk_doctor_see(f, "%s: %zu container%s on %s; the loader finds no libnvidia-ptxjitcompiler.so.1", l->shown,
                          l->cover[gpu].jit, l->cover[gpu].jit == 1 ? "" : "s", doctor->gpus[gpu].text);
            return;
        }
}

void nk_check_coverage(struct nk_doctor *doctor)
{
    compiler_of_driver(doctor);
    for (size_t i = 0; i < doctor->library_count; i++)
        for (size_t gpu = 0; first_of_package(doctor, i) && gpu < doctor->gpu_count; gpu++)
            if (nk_doctor_first_of_kind(doctor, gpu)) check(doctor, doctor->libraries[i], gpu);
    row(doctor);
}
