// records.c - the libraries of the installed distributions: listed in RECORD, lost, left over, or built in place.
#define _GNU_SOURCE
#include "doctor/records.h"
#include "base/file.h"
#include "base/table.h"
#include "doctor/files.h"
#include "doctor/installed.h"
#include "packages/sources.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 6, MOST_ENTRIES = 20000, MOST_SHOWN = 5 };

// Libraries that some RECORD lists, and the folders of those of known packages.
struct listing {
    struct nk_doctor *doctor;
    struct nk_table listed; // by hash of the path
    struct nk_table asked;  // folders that were looked through
    struct nk_doctor_package *package;
    struct nk_buf lost; // names, a line each
    size_t lost_count, listed_here;
    int entries;
};

static uint64_t key_of(const char *text, size_t size) { return nk_hash_bytes(text, size); }

static bool is_library(const char *name, size_t size)
{
    const char *at = memmem(name, size, ".so", 3);
    return at && (at + 3 == name + size || at[3] == '.') && memmem(name, size, "__pycache__", 11) == NULL;
}

// ---- RECORD

// `rest`: the fields behind the path, ",sha256=...,123".
static void listed(struct listing *l, const char *entry, size_t size, const char *rest, size_t rest_size)
{
    struct nk_doctor_package *p = l->package;
    struct nk_buf path = {0};
    if (*entry == '/')
        nk_buf_format(&path, "%.*s", (int)size, entry);
    else
        nk_buf_format(&path, "%s/%.*s", p->site, (int)size, entry);
    if (path.data && nk_table_put(&l->listed, key_of(path.data, path.size), p)) l->doctor->failed = true;
    l->listed_here++;
    struct nk_doctor_library *library = path.data && !p->hidden ? nk_coverage_add(l->doctor, path.data, p) : NULL;
    if (library && rest_size && *rest == ',')
        library->hash = nk_doctor_keep(l->doctor, rest + 1, strcspn(rest + 1, ",\r\n"));
    if (path.data && !p->hidden && !library && p->known && !nk_doctor_exists(l->doctor->asked.root, path.data)) {
        if (l->lost_count++ < MOST_SHOWN) nk_buf_format(&l->lost, "%.*s\n", (int)size, entry);
    }
    nk_buf_free(&path);
}

// Lines with ".so" in them; the first field is the path.
static void read_record(struct listing *l, struct nk_bytes text)
{
    int64_t hit = 0;
    while ((hit = nk_bytes_find(text, (uint64_t)hit, ".so", 3)) >= 0) {
        const char *all = (const char *)text.data, *at = all + hit, *start = at,
                   *end = memchr(at, '\n', text.size - (size_t)hit);
        while (start > all && start[-1] != '\n') start--;
        if (!end) end = all + text.size;
        const char *stop = *start == '"' ? memchr(start + 1, '"', (size_t)(end - start - 1))
                                         : memchr(start, ',', (size_t)(end - start));
        start += *start == '"';
        if (stop && stop > start && is_library(start, (size_t)(stop - start))) {
            const char *fields = stop + (*stop == '"');
            listed(l, start, (size_t)(stop - start), fields, (size_t)(end - fields));
        }
        hit = end - all;
        if ((size_t)hit >= text.size) break;
    }
}

static void tell_lost(struct listing *l)
{
    char count[24];
    if (l->lost_count) {
        snprintf(count, sizeof count, "%zu", l->lost_count);
        struct nk_doctor_finding *f =
            nk_doctor_find_in(l->doctor, l->package, NK_FINDING_LOST_FILES, l->package->name, count, NULL);
        for (char *rest = l->lost.data, *line; rest && (line = strsep(&rest, "\n"));)
            if (*line) nk_doctor_see(f, "RECORD lists %s", line);
    }
    nk_buf_free(&l->lost);
    l->lost_count = 0;
}

// ---- libraries that no RECORD lists

static void walk(struct listing *l, const char *folder, int depth)
{
    struct nk_packages_walk all = {0};
    for (const char *name; (name = nk_packages_next(&all, l->doctor->asked.root, folder, strlen(folder)));) {
        struct nk_buf path = {0};
        if (name[0] == '.' || !strcmp(name, "__pycache__") || l->entries++ > MOST_ENTRIES) continue;
        nk_buf_format(&path, "%s/%s", folder, name);
        if (path.data && is_library(name, strlen(name)))
            nk_coverage_add(l->doctor, path.data, l->package);
        else if (path.data && depth < DEEPEST && !strchr(name, '.') &&
                 nk_doctor_is_folder(l->doctor->asked.root, path.data))
            walk(l, path.data, depth + 1);
        nk_buf_free(&path);
    }
}

// "file:///src/ext" of direct_url.json of an editable install.
static const char *editable(struct nk_doctor *doctor, const struct nk_doctor_package *p)
{
    struct nk_buf path = {0}, text = {0};
    const char *folder = "";
    nk_buf_format(&path, "%s/%s/direct_url.json", p->site, p->info);
    if (path.data && nk_doctor_read(doctor->asked.root, path.data, &text) && text.data &&
        strstr(text.data, "\"editable\": true")) {
        const char *url = strstr(text.data, "file://");
        if (url) folder = nk_doctor_keep(doctor, url + 7, strcspn(url + 7, "\""));
    }
    nk_buf_free(&path);
    nk_buf_free(&text);
    return folder;
}

// A package whose metadata lists no library: built in place, or installed by something that keeps no list.
static void without_list(struct listing *l, bool has_record)
{
    struct nk_doctor_package *p = l->package;
    const char *source = editable(l->doctor, p);
    struct nk_buf folder = {0};
    if (*source) {
        walk(l, source, 0);
    } else if (!has_record) {
        nk_buf_format(&folder, "%s/", p->site);
        for (const char *c = p->name; *c; c++) nk_buf_add(&folder, *c == '-' ? "_" : c, 1);
        if (folder.data && nk_doctor_is_folder(l->doctor->asked.root, folder.data)) walk(l, folder.data, 0);
    }
    nk_buf_free(&folder);
}

static void read_package(struct listing *l, struct nk_doctor_package *p)
{
    struct nk_buf path = {0};
    struct nk_file file;
    nk_buf_format(&path, "%s%s/%s/RECORD", l->doctor->asked.root, p->site, p->info);
    char fingerprint[24];
    size_t before = l->doctor->library_count;
    l->package = p;
    l->listed_here = 0;
    bool has_record = path.data && !nk_file_open(&file, path.data, NULL);
    if (has_record) {
        read_record(l, file.bytes);
        snprintf(fingerprint, sizeof fingerprint, "%016llx",
                 (unsigned long long)nk_hash_bytes(file.bytes.data, file.bytes.size));
        p->record = nk_doctor_keep_text(l->doctor, fingerprint);
        nk_file_close(&file);
    }
    if (p->known) tell_lost(l);
    if (!l->listed_here && !p->hidden && (p->known || !has_record)) without_list(l, has_record);
    // What has device code matters, whatever its name.
    if (!p->known && l->doctor->library_count > before) nk_installed_learn(l->doctor, p);
    nk_buf_free(&path);
}

// ---- leftovers

static void tell_leftovers(struct listing *l, const char *folder, const struct nk_buf *names, size_t count)
{
    char number[24];
    snprintf(number, sizeof number, "%zu", count);
    struct nk_doctor_package *p = l->package;
    struct nk_doctor_finding *f =
        nk_doctor_find_in(l->doctor, p, NK_FINDING_LEFTOVER, p->name, number, nk_doctor_shell(l->doctor, folder));
    size_t shown = 0;
    for (char *rest = names->data, *line; rest && (line = strsep(&rest, "\n"));)
        if (*line && shown++ < MOST_SHOWN) nk_doctor_see(f, "%s/%s", nk_doctor_shown(l->doctor, folder), line);
}

static int text_order(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void look_through(struct listing *l, const char *folder)
{
    char *found[64];
    size_t count = 0;
    struct nk_packages_walk all = {0};
    struct nk_buf path = {0}, names = {0};
    for (const char *name; (name = nk_packages_next(&all, l->doctor->asked.root, folder, strlen(folder)));) {
        if (!is_library(name, strlen(name))) continue;
        nk_buf_clear(&path);
        nk_buf_format(&path, "%s/%s", folder, name);
        if (!path.data || nk_table_get(&l->listed, key_of(path.data, path.size))) continue;
        if (count < 64 && (found[count] = strdup(name))) count++;
        nk_coverage_add(l->doctor, path.data, l->package);
    }
    qsort(found, count, sizeof *found, text_order);
    for (size_t i = 0; i < count; i++) nk_buf_format(&names, "%s\n", found[i]);
    if (count) tell_leftovers(l, folder, &names, count);
    while (count) free(found[--count]);
    nk_buf_free(&path);
    nk_buf_free(&names);
}

// The folders of the libraries with device code of known packages.
static void leftovers(struct listing *l)
{
    size_t count = l->doctor->library_count;
    for (size_t i = 0; i < count; i++) {
        const struct nk_doctor_library *library = l->doctor->libraries[i];
        size_t size = (size_t)(strrchr(library->path, '/') - library->path);
        const char *folder = nk_doctor_keep(l->doctor, library->path, size);
        uint64_t key = key_of(folder, size);
        bool own = library->package && library->package->known &&
                   nk_table_get(&l->listed, key_of(library->path, strlen(library->path)));
        if (!own || !strcmp(folder, library->package->site) || nk_table_get(&l->asked, key)) continue;
        if (nk_table_put(&l->asked, key, library->package)) l->doctor->failed = true;
        l->package = library->package;
        look_through(l, folder);
    }
}

void nk_records_read(struct nk_doctor *doctor)
{
    struct listing l = {.doctor = doctor};
    for (size_t i = 0; i < doctor->package_count; i++) read_package(&l, doctor->packages[i]);
    leftovers(&l);
    nk_table_free(&l.listed);
    nk_table_free(&l.asked);
}
