// model.c - memory, rows and findings of a doctor.
#define _GNU_SOURCE
#include "doctor/model.h"
#include "advice/parts.h"
#include "report/words.h"

#include <stdlib.h>
#include <string.h>

struct nk_doctor_block {
    struct nk_doctor_block *next;
    max_align_t bytes[];
};

void *nk_doctor_alloc(struct nk_doctor *doctor, size_t size)
{
    struct nk_doctor_block *block = calloc(1, sizeof *block + size);
    if (!block) {
        doctor->failed = true;
        return NULL;
    }
    block->next = doctor->memory;
    doctor->memory = block;
    return block->bytes;
}

const char *nk_doctor_keep(struct nk_doctor *doctor, const char *text, size_t size)
{
    char *copy = nk_doctor_alloc(doctor, size + 1);
    if (copy && size) memcpy(copy, text, size);
    return copy ? copy : "";
}

const char *nk_doctor_keep_text(struct nk_doctor *doctor, const char *text)
{
    return nk_doctor_keep(doctor, text, strlen(text));
}

const char *nk_doctor_keep_buf(struct nk_doctor *doctor, struct nk_buf *text)
{
    if (text->failed) doctor->failed = true;
    const char *kept = nk_doctor_keep(doctor, text->data ? text->data : "", text->size);
    nk_buf_free(text);
    return kept;
}

void *nk_doctor_grow(struct nk_doctor *doctor, void *array, size_t count, size_t *room, size_t size)
{
    if (count < *room) return array;
    size_t more = *room ? *room * 2 : 16;
    void *grown = realloc(array, more * size);
    if (!grown) {
        doctor->failed = true;
        return NULL;
    }
    *room = more;
    return grown;
}

// ---- rows and findings

struct nk_doctor_row *nk_doctor_row(struct nk_doctor *doctor, const char *area)
{
    static struct nk_doctor_row nowhere;
    for (size_t i = 0; i < doctor->row_count; i++)
        if (!strcmp(doctor->rows[i].area, area)) return &doctor->rows[i];
    struct nk_doctor_row *rows =
        nk_doctor_grow(doctor, doctor->rows, doctor->row_count, &doctor->row_room, sizeof *rows);
    if (!rows) return &nowhere;
    doctor->rows = rows;
    rows[doctor->row_count] = (struct nk_doctor_row){.area = area};
    return &rows[doctor->row_count++];
}

static const char *python_of(const struct nk_doctor *doctor)
{
    return doctor->python.shown && *doctor->python.shown ? doctor->python.shown : "python3";
}

// Who installs here: what the package came by; where that is not known, what a package that matters came by, or what
// the environment was made with.
static enum nk_installer installer(const struct nk_doctor *doctor, const struct nk_doctor_package *package)
{
    if (package && *package->installer) return nk_installer_of(package->installer);
    for (size_t i = 0; i < doctor->package_count; i++)
        if (doctor->packages[i]->known && !doctor->packages[i]->hidden)
            return nk_installer_of(doctor->packages[i]->installer);
    return doctor->python.uv ? NK_UV : NK_PIP;
}

const char *nk_doctor_install(struct nk_doctor *doctor, const struct nk_doctor_package *package,
                              enum nk_installing what)
{
    struct nk_buf out = {0};
    struct nk_environment where = {.by = installer(doctor, package), .python = python_of(doctor), .prefix = ""};
    if (where.by > NK_UV && what != NK_CHECK) return "";
    where.user_site = package && package->kind == NK_SITE_USER;
    nk_install_command(&out, &where, what);
    return nk_doctor_keep_buf(doctor, &out);
}

// What is put in for {6} to {9}.
static void ways(struct nk_doctor *doctor, const struct nk_doctor_package *package, const char *out[4])
{
    struct nk_buf again = {0};
    out[0] = nk_doctor_install(doctor, package, NK_INSTALL);
    nk_buf_text(&again, nk_doctor_install(doctor, package, NK_AGAIN));
    if (package) nk_install_exactly(&again, package->name, package->version, nk_doctor_origin(doctor, package, true));
    out[1] = nk_doctor_keep_buf(doctor, &again);
    out[2] = nk_doctor_install(doctor, package, NK_REMOVE);
    out[3] = nk_doctor_install(doctor, package, NK_CHECK);
}

// Does it install or remove?
static bool installs(const char *command)
{
    return strstr(command, "{6}") || strstr(command, "{7}") || strstr(command, "{8}");
}

struct nk_doctor_finding *nk_doctor_find_in(struct nk_doctor *doctor, const struct nk_doctor_package *package,
                                            enum nk_finding_name name, const char *first, const char *second,
                                            const char *third)
{
    static struct nk_doctor_finding nowhere; // when memory is short
    const struct nk_finding_text *text = nk_finding(name);
    const char *command = doctor->asked.command ? doctor->asked.command : "nokernel doctor";
    const char *values[9] = {first, second, third, python_of(doctor), command};
    ways(doctor, package, values + 5);
    struct nk_doctor_finding **list =
        nk_doctor_grow(doctor, doctor->findings, doctor->finding_count, &doctor->finding_room, sizeof *list);
    if (list) doctor->findings = list;
    struct nk_doctor_finding *f = list ? nk_doctor_alloc(doctor, sizeof *f) : NULL;
    if (!f) return &nowhere;
    list[doctor->finding_count++] = f;
    f->name = name;
    f->severity = text->severity;
    f->package = package;
    f->gpu = -1;
    f->advice.language = doctor->language;
    nk_text_fill(&f->sentence, text->sentence[doctor->language], values, 9);
    nk_text_fill(&f->remedy, text->remedy[doctor->language], values, 9);
    if (*values[5] || !installs(text->command)) nk_text_fill(&f->command, text->command, values, 9);
    nk_text_fill(&f->verify, text->verify, values, 9);
    return f;
}

struct nk_doctor_finding *nk_doctor_find(struct nk_doctor *doctor, enum nk_finding_name name, const char *first,
                                         const char *second, const char *third)
{
    return nk_doctor_find_in(doctor, NULL, name, first, second, third);
}

void nk_doctor_see(struct nk_doctor_finding *finding, const char *format, ...)
{
    va_list args;
    if (finding->evidence.size) nk_buf_text(&finding->evidence, "\n");
    va_start(args, format);
    nk_buf_vformat(&finding->evidence, format, args);
    va_end(args);
}

struct nk_doctor_finding *nk_doctor_found(const struct nk_doctor *doctor, enum nk_finding_name name,
                                          const struct nk_doctor_package *package, int gpu)
{
    for (size_t i = 0; i < doctor->finding_count; i++) {
        struct nk_doctor_finding *f = doctor->findings[i];
        if (f->name == name && f->package == package && f->gpu == gpu) return f;
    }
    return NULL;
}

static void free_finding(struct nk_doctor_finding *f)
{
    nk_buf_free(&f->sentence);
    nk_buf_free(&f->remedy);
    nk_buf_free(&f->command);
    nk_buf_free(&f->verify);
    nk_buf_free(&f->evidence);
    nk_advice_free(&f->advice);
}

void nk_doctor_drop(struct nk_doctor *doctor, struct nk_doctor_finding *finding)
{
    size_t kept = 0;
    for (size_t i = 0; i < doctor->finding_count; i++)
        if (doctor->findings[i] != finding) doctor->findings[kept++] = doctor->findings[i];
    doctor->finding_count = kept;
    free_finding(finding);
}

// ---- what others ask for

const char *nk_doctor_shown(struct nk_doctor *doctor, const char *path)
{
    struct nk_buf out = {0};
    nk_words_redacted(&out, path, doctor->asked.full_paths);
    return nk_doctor_keep_buf(doctor, &out);
}

const char *nk_doctor_shell(struct nk_doctor *doctor, const char *path)
{
    struct nk_buf out = {0};
    nk_words_shell(&out, path, doctor->asked.full_paths);
    return nk_doctor_keep_buf(doctor, &out);
}

const char *nk_doctor_origin(struct nk_doctor *doctor, const struct nk_doctor_package *package, bool shell)
{
    struct nk_buf out = {0};
    nk_words_origin(&out, package->origin, doctor->asked.full_paths, shell);
    return nk_doctor_keep_buf(doctor, &out);
}

bool nk_doctor_plain(const char *text)
{
    return !text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+!-")];
}

static bool same_kind(const struct nk_doctor_gpu *a, const struct nk_doctor_gpu *b)
{
    return a->target.sm == b->target.sm && a->target.driver == b->target.driver;
}

bool nk_doctor_first_of_kind(const struct nk_doctor *doctor, size_t gpu)
{
    for (size_t i = 0; i < gpu; i++)
        if (same_kind(&doctor->gpus[i], &doctor->gpus[gpu])) return false;
    return true;
}

const char *nk_doctor_gpu_title(struct nk_doctor *doctor, size_t gpu)
{
    struct nk_buf out = {0};
    bool others = false;
    for (size_t i = 0; i < doctor->gpu_count; i++) {
        if (!same_kind(&doctor->gpus[i], &doctor->gpus[gpu]))
            others = true;
        else
            nk_buf_format(&out, "%s%d", out.size ? ", " : "", doctor->gpus[i].ordinal);
    }
    const char *list = nk_doctor_keep_buf(doctor, &out);
    if (others && doctor->gpus[gpu].ordinal >= 0)
        nk_buf_format(&out, "GPU %s (%s)", list, doctor->gpus[gpu].text);
    else
        nk_buf_text(&out, doctor->gpus[gpu].text);
    return nk_doctor_keep_buf(doctor, &out);
}

struct nk_doctor_package *nk_doctor_package(const struct nk_doctor *doctor, const char *name)
{
    for (size_t i = 0; i < doctor->package_count; i++)
        if (!doctor->packages[i]->hidden && nk_same_package(doctor->packages[i]->name, name))
            return doctor->packages[i];
    return NULL;
}

struct nk_doctor_package *nk_doctor_framework(const struct nk_doctor *doctor)
{
    static const char *const frameworks[] = {
        "torch",        "pytorch",      "tensorflow",      "jax-cuda12-plugin", "jax-cuda13-plugin", "cupy-cuda12x",
        "cupy-cuda13x", "cupy-cuda11x", "onnxruntime-gpu", "paddlepaddle-gpu",  "ctranslate2"};
    for (size_t i = 0; i < sizeof frameworks / sizeof *frameworks; i++) {
        struct nk_doctor_package *package = nk_doctor_package(doctor, frameworks[i]);
        if (package) return package;
    }
    return NULL;
}

const char *nk_doctor_env(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "";
}

void nk_doctor_free(struct nk_doctor *doctor)
{
    for (size_t i = 0; i < doctor->finding_count; i++) free_finding(doctor->findings[i]);
    for (size_t i = 0; i < doctor->row_count; i++) nk_buf_free(&doctor->rows[i].found);
    for (size_t i = 0; i < doctor->library_count; i++) {
        free(doctor->libraries[i]->images);
        free(doctor->libraries[i]->boxes);
    }
    free(doctor->packages);
    free(doctor->libraries);
    free(doctor->runtimes);
    free(doctor->rows);
    free(doctor->findings);
    free(doctor->python.sites);
    for (struct nk_doctor_block *block = doctor->memory, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    *doctor = (struct nk_doctor){0};
}
