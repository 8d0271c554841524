// check_companions.c - do the packages around a framework belong to it: versions, CUDA builds, requirements, twins.
#define _GNU_SOURCE
#include "advice/knowledge.h"
#include "advice/parts.h"
#include "doctor/checks.h"
#include "doctor/installed.h"
#include "doctor/requires.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *named(struct nk_doctor *doctor, const struct nk_doctor_package *p)
{
    struct nk_buf text = {0};
    nk_buf_format(&text, "%s %s", p->name, p->version);
    return nk_doctor_keep_buf(doctor, &text);
}

// "2.4.1" of "2.4.1+cu121".
static const char *release(struct nk_doctor *doctor, const char *version)
{
    return nk_doctor_keep(doctor, version, strcspn(version, "+"));
}

// ---- torch and what is built for it

// The torchvision or torchaudio that belongs to this torch, by the table; "".
static const char *partner(struct nk_doctor *doctor, const struct nk_doctor_package *torch, const char *name)
{
    int column = nk_same_package(name, "torchvision")  ? NK_PAIR_VISION
                 : nk_same_package(name, "torchaudio") ? NK_PAIR_AUDIO
                                                       : 0;
    int row = column ? nk_known_row(&nk_known_torch_pairs, NK_PAIR_TORCH, release(doctor, torch->version)) : 0;
    return row ? nk_known(&nk_known_torch_pairs, row, column) : "";
}

// From the same index, in the version that belongs to it.
static void fitting(struct nk_doctor *doctor, struct nk_doctor_finding *f, const struct nk_doctor_package *torch,
                    const char *name)
{
    const char *version = partner(doctor, torch, name), *index = nk_install_index(torch->name, torch->version);
    const char *again = nk_doctor_install(doctor, f->package, NK_AGAIN);
    struct nk_buf exact = {0};
    nk_buf_clear(&f->command);
    nk_buf_format(&exact, "%s%s%s", version, *index ? "+" : "", index);
    if (*version && *again && exact.data) {
        nk_buf_text(&f->command, again);
        nk_install_exactly(&f->command, name, exact.data, "");
    }
    nk_buf_free(&exact);
}

static void pair(struct nk_doctor *doctor, struct nk_doctor_package *p, const struct nk_doctor_package *torch,
                 const char *wanted, const char *evidence)
{
    struct nk_doctor_finding *f =
        nk_doctor_find_in(doctor, p, NK_FINDING_PAIR, named(doctor, p), wanted, torch->version);
    nk_doctor_see(f, "%s", evidence);
    fitting(doctor, f, torch, p->name);
}

// Which torch a release of torchvision or torchaudio belongs to, by the table; "".
static const char *torch_of(struct nk_doctor *doctor, const struct nk_doctor_package *p)
{
    int column = nk_same_package(p->name, "torchvision")  ? NK_PAIR_VISION
                 : nk_same_package(p->name, "torchaudio") ? NK_PAIR_AUDIO
                                                          : 0;
    int row = column ? nk_known_row(&nk_known_torch_pairs, column, release(doctor, p->version)) : 0;
    return row ? nk_known(&nk_known_torch_pairs, row, NK_PAIR_TORCH) : "";
}

// flash-attn and others say in their version which torch they were built for: "2.6.3+cu123torch2.3cxx11abiFALSE".
static const char *torch_in_version(struct nk_doctor *doctor, const char *version)
{
    const char *plus = strchr(version, '+'), *at = plus ? strstr(plus, "torch") : NULL;
    if (!at) at = plus ? strstr(plus, "pt") : NULL;
    at = at ? at + (at[1] == 't' ? 2 : 5) : NULL;
    return at && isdigit((unsigned char)*at) ? nk_doctor_keep(doctor, at, strspn(at, "0123456789.")) : "";
}

static bool bound_by_version(struct nk_doctor *doctor, struct nk_doctor_package *p,
                             const struct nk_doctor_package *torch)
{
    char evidence[300];
    const char *wanted = torch_in_version(doctor, p->version);
    const char *table = torch_of(doctor, p), *right = partner(doctor, torch, p->name);
    bool digits = *wanted && strchr(wanted, '.');
    if (digits && !nk_version_within(release(doctor, torch->version), wanted)) {
        snprintf(evidence, sizeof evidence, "its version says torch %s", wanted);
        pair(doctor, p, torch, wanted, evidence);
        return true;
    }
    if (!*right || !nk_version_compare(right, p->version) || (*table && !nk_version_compare(table, torch->version)))
        return false;
    snprintf(evidence, sizeof evidence, "torch %s belongs with %s %s", release(doctor, torch->version), p->name, right);
    pair(doctor, p, torch, *table ? table : "another version", evidence);
    return true;
}

static void other_cuda(struct nk_doctor *doctor, struct nk_doctor_package *p, const struct nk_doctor_package *torch)
{
    bool domain = nk_same_package(p->name, "torchvision") || nk_same_package(p->name, "torchaudio");
    bool cpu = domain && (p->cuda < 0) != (torch->cuda < 0) && strchr(p->version, '+') && strchr(torch->version, '+');
    bool other =
        p->cuda > 0 && torch->cuda > 0 && (domain ? p->cuda != torch->cuda : p->cuda / 1000 != torch->cuda / 1000);
    if (!strncmp(p->name, "torch", 5) && !cpu && !other) return;
    if (!cpu && !(other && (domain || strchr(p->version, '+')))) return;
    struct nk_doctor_finding *f =
        nk_doctor_find_in(doctor, p, NK_FINDING_OTHER_BUILD, named(doctor, p), named(doctor, torch), NULL);
    nk_doctor_see(f, "%s and %s", named(doctor, p), named(doctor, torch));
    fitting(doctor, f, torch, p->name);
    // Within a major version the libraries of either serve both.
    if (other && p->cuda / 1000 == torch->cuda / 1000) f->severity = NK_SEVERITY_NOTE;
}

// ---- requirements

struct missing {
    struct nk_buf first, all;
    size_t count;
};

static void add_missing(struct missing *m, const struct nk_requirement *r)
{
    if (!m->count++) nk_buf_format(&m->first, "%s%s", r->name, r->spec);
    nk_buf_format(&m->all, "%s\"%s%s%s\"", m->all.size ? " " : "", r->name, r->extras, r->spec);
}

static void tell_missing(struct nk_doctor *doctor, struct nk_doctor_package *p, struct missing *m)
{
    char more[24];
    snprintf(more, sizeof more, "%zu", m->count - 1);
    if (m->count > 1) nk_text_add(&m->first, doctor->language, NK_TEXT_AND_MORE, more, NULL, NULL, NULL);
    if (m->count) nk_doctor_find_in(doctor, p, NK_FINDING_MISSING, named(doctor, p), m->first.data, m->all.data);
    nk_buf_free(&m->first);
    nk_buf_free(&m->all);
}

static void unmet(struct nk_doctor *doctor, struct nk_doctor_package *p, const struct nk_requirement *r,
                  const struct nk_doctor_package *have)
{
    char wanted[260], evidence[400];
    snprintf(wanted, sizeof wanted, "%s%s", r->name, r->spec);
    snprintf(evidence, sizeof evidence, "METADATA of %s: Requires-Dist: %s", p->name, wanted);
    if (nk_same_package(r->name, "torch") && !strncmp(r->spec, "==", 2)) {
        pair(doctor, p, have, r->spec + 2, evidence);
        return;
    }
    struct nk_doctor_finding *f =
        nk_doctor_find_in(doctor, p, NK_FINDING_REQUIREMENT, named(doctor, p), wanted, have->version);
    nk_doctor_see(f, "%s", evidence);
}

// True when it said which torch it wants.
static bool requirements(struct nk_doctor *doctor, struct nk_doctor_package *p)
{
#ifdef __aarch64__
    const struct nk_marker_env env = {doctor->python.version, doctor->python.full, "aarch64"};
#else
    const struct nk_marker_env env = {doctor->python.version, doctor->python.full, "x86_64"};
#endif
    struct missing missing = {.count = 0};
    struct nk_requirement r;
    bool torch = false;
    for (const char *rest = p->metadata; nk_requires_next(&rest, &env, &r);) {
        if (!nk_installed_known(r.name)) continue;
        const struct nk_doctor_package *have = nk_doctor_package(doctor, r.name);
        torch |= nk_same_package(r.name, "torch") && !strncmp(r.spec, "==", 2);
        if (!have)
            add_missing(&missing, &r);
        else if (!nk_requires_met(r.spec, have->version))
            unmet(doctor, p, &r, have);
    }
    tell_missing(doctor, p, &missing);
    return torch;
}

// ---- two of a kind

static void majors(struct nk_doctor *doctor)
{
    struct nk_buf list = {0};
    int low = 0, high = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < doctor->package_count; i++) {
            const struct nk_doctor_package *p = doctor->packages[i];
            const char *suffix = strstr(p->name, "-cu1");
            int major = suffix && !suffix[3 + strspn(suffix + 3, "0123456789")] ? atoi(suffix + 3) : 0;
            if (!nk_installed_nvidia(p->name) || p->hidden || major < 10 || major > 99) continue;
            if (!pass && (!low || major < low)) low = major;
            if (!pass && major > high) high = major;
            if (pass && (major == low || major == high) && list.size < 400)
                nk_buf_format(&list, "%s%s", list.size ? ", " : "", p->name);
        }
    if (low != high && list.data) {
        char a[16], b[16];
        snprintf(a, sizeof a, "%d", low);
        snprintf(b, sizeof b, "%d", high);
        nk_doctor_find(doctor, NK_FINDING_TWO_MAJORS, a, b, list.data);
    }
    nk_buf_free(&list);
}

static void twins(struct nk_doctor *doctor)
{
    // Of each row the packages own one folder; a later one is meant where there is a GPU.
    static const char *const rows[][5] = {{"onnxruntime", "onnxruntime-gpu"},
                                          {"faiss-cpu", "faiss-gpu", "faiss-gpu-cu11", "faiss-gpu-cu12"},
                                          {"tensorflow-cpu", "tensorflow"},
                                          {"cupy-cuda11x", "cupy-cuda12x", "cupy-cuda13x"},
                                          {"pytorch-triton", "triton"}};
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        const struct nk_doctor_package *last = NULL;
        for (size_t i = 0; i < 5 && rows[row][i]; i++) {
            const struct nk_doctor_package *p = nk_doctor_package(doctor, rows[row][i]);
            if (p && last && last->site == p->site) {
                struct nk_doctor_finding *f =
                    nk_doctor_find_in(doctor, p, NK_FINDING_TWINS, last->name, p->name, p->name);
                nk_doctor_see(f, "%s and %s in %s", last->info, p->info, nk_doctor_shown(doctor, p->site));
            }
            if (p) last = p;
        }
    }
}

// ---- the row

static void row(struct nk_doctor *doctor)
{
    struct nk_doctor_row *row = nk_doctor_row(doctor, "companions");
    const struct nk_doctor_package *framework = nk_doctor_framework(doctor);
    size_t libraries = 0;
    row->unchecked = *doctor->python.why;
    for (size_t i = 0; i < doctor->package_count; i++) {
        const struct nk_doctor_package *p = doctor->packages[i];
        if (!p->known || p->hidden || p == framework) continue;
        if (nk_installed_nvidia(p->name))
            libraries++;
        else
            nk_buf_format(&row->found, "%s%s %s", row->found.size ? ", " : "", p->name, p->version);
    }
    if (libraries)
        nk_buf_format(&row->found, "%s%zu package%s of NVIDIA's libraries", row->found.size ? ", " : "", libraries,
                      libraries == 1 ? "" : "s");
    if (!row->found.size) nk_buf_text(&row->found, row->unchecked ? "not looked at" : "none");
}

void nk_check_companions(struct nk_doctor *doctor)
{
    struct nk_doctor_package *torch = nk_doctor_package(doctor, "torch");
    for (size_t i = 0; i < doctor->package_count; i++) {
        struct nk_doctor_package *p = doctor->packages[i];
        if (!p->known || p->hidden) continue;
        bool said = requirements(doctor, p);
        if (!torch || p == torch || nk_installed_nvidia(p->name)) continue;
        if (!said && bound_by_version(doctor, p, torch)) continue;
        other_cuda(doctor, p, torch);
    }
    majors(doctor);
    twins(doctor);
    row(doctor);
}
