// python.c - the interpreter and the folders that it imports from, as site.py and getpath.py of CPython find them.
#define _GNU_SOURCE
#include "doctor/python.h"
#include "doctor/files.h"
#include "packages/sources.h"
#include "report/words.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_PTH = 256 };

static void why(struct nk_doctor *doctor, const char *what, const char *because)
{
    struct nk_buf text = {0};
    nk_buf_format(&text, "%s%s%s", what, *what ? ": " : "", because);
    doctor->python.why = nk_doctor_keep_buf(doctor, &text);
}

static const char *joined(struct nk_doctor *doctor, const char *folder, const char *rest)
{
    struct nk_buf text = {0};
    nk_buf_format(&text, "%s%s%s", folder, *rest ? "/" : "", rest);
    return nk_doctor_keep_buf(doctor, &text);
}

// The folder part of a path, kept.
static const char *parent(struct nk_doctor *doctor, const char *path)
{
    const char *slash = strrchr(path, '/');
    return nk_doctor_keep(doctor, path, slash && slash > path ? (size_t)(slash - path) : slash ? 1 : 0);
}

// ---- which one

// A shim of pyenv is a script; the interpreter behind it is named by PYENV_VERSION or pyenv's file `version`.
static const char *behind_shim(struct nk_doctor *doctor, const char *exe)
{
    struct nk_buf text = {0}, path = {0};
    const char *at = strstr(exe, "/shims/"), *found = NULL;
    const char *version = nk_doctor_env("PYENV_VERSION");
    size_t size = at ? (size_t)(at - exe) : 0;
    if (!at) return NULL;
    if (!*version) {
        nk_buf_format(&path, "%.*s/version", (int)size, exe);
        if (path.data && nk_doctor_read(doctor->asked.root, path.data, &text) && text.data) version = text.data;
    }
    size_t length = strcspn(version, ":\r\n ");
    nk_buf_clear(&path);
    nk_buf_format(&path, "%.*s/versions/%.*s/bin/%s", (int)size, exe, (int)length, version, at + 7);
    if (length && path.data && nk_doctor_exists(doctor->asked.root, path.data))
        found = nk_doctor_keep_text(doctor, path.data);
    nk_buf_free(&text);
    nk_buf_free(&path);
    return found;
}

static bool is_script(struct nk_doctor *doctor, const char *exe)
{
    struct nk_buf whole = {0};
    char first[2] = "";
    FILE *file = fopen(nk_doctor_path(&whole, doctor->asked.root, exe), "re");
    bool script = file && fread(first, 1, 2, file) == 2 && !memcmp(first, "#!", 2);
    if (file) fclose(file);
    nk_buf_free(&whole);
    return script;
}

// "~" and relative names become absolute; a folder stands for the interpreter in it.
static const char *from_word(struct nk_doctor *doctor, const char *word)
{
    char found[NK_DOCTOR_PATH];
    struct nk_buf path = {0};
    const char *names[] = {"bin/python", "bin/python3"}, *result = NULL;
    if (!strchr(word, '/') && nk_doctor_which(doctor->asked.root, nk_doctor_env("PATH"), word, found, sizeof found))
        return nk_doctor_keep_text(doctor, found);
    if (word[0] == '/' || *doctor->asked.root) {
        nk_buf_format(&path, "%s%s", word[0] == '/' ? "" : "/", word);
    } else {
        char *here = getcwd(NULL, 0);
        nk_buf_format(&path, "%s/%s", here ? here : "", word);
        free(here);
    }
    const char *whole = nk_doctor_keep_buf(doctor, &path);
    for (size_t i = 0; !result && nk_doctor_is_folder(doctor->asked.root, whole) && i < 2; i++) {
        const char *inside = joined(doctor, whole, names[i]);
        if (nk_doctor_exists(doctor->asked.root, inside)) result = inside;
    }
    if (!result && nk_doctor_exists(doctor->asked.root, whole) && !nk_doctor_is_folder(doctor->asked.root, whole))
        result = whole;
    return result;
}

// The one that a shell would run.
static const char *from_path(struct nk_doctor *doctor)
{
    static const char *const names[] = {"python", "python3"};
    static const char *const usual = "/usr/local/bin:/usr/bin:/bin:/opt/conda/bin";
    char found[NK_DOCTOR_PATH];
    const char *list = *doctor->asked.root ? usual : nk_doctor_env("PATH");
    for (size_t i = 0; i < 2; i++)
        if (nk_doctor_which(doctor->asked.root, list, names[i], found, sizeof found))
            return nk_doctor_keep_text(doctor, found);
    return NULL;
}

static const char *choose(struct nk_doctor *doctor)
{
    const char *word = doctor->asked.python, *exe = word ? from_word(doctor, word) : from_path(doctor);
    if (!exe) {
        why(doctor, word ? word : "",
            word ? "there is no such interpreter or environment" : "there is no python in PATH");
        return NULL;
    }
    const char *real = is_script(doctor, exe) ? behind_shim(doctor, exe) : exe;
    if (!real) why(doctor, exe, "it is a script, not an interpreter");
    return real;
}

// ---- its prefix and version

// The first "python3.11" of prefix/lib that holds a standard library, newest first.
static const char *version_in(struct nk_doctor *doctor, const char *prefix)
{
    const char *lib = joined(doctor, prefix, "lib"), *best = "";
    struct nk_packages_walk walk = {0};
    for (const char *name; (name = nk_packages_next(&walk, doctor->asked.root, lib, strlen(lib)));) {
        if (strncmp(name, "python3.", 8) || !isdigit((unsigned char)name[8])) continue;
        struct nk_buf path = {0};
        nk_buf_format(&path, "%s/%s/os.py", lib, name);
        bool whole = path.data && nk_doctor_exists(doctor->asked.root, path.data);
        nk_buf_free(&path);
        if (whole && (!*best || atoi(name + 8) > atoi(best + 2))) best = nk_doctor_keep_text(doctor, name + 6);
    }
    return best;
}

// "3.11" of "python3.11".
static const char *version_of_name(struct nk_doctor *doctor, const char *path)
{
    const char *name = nk_words_base(path);
    if (strncmp(name, "python3.", 8)) return "";
    return nk_doctor_keep(doctor, name + 6, strspn(name + 6, "0123456789."));
}

static const char *value_of(struct nk_doctor *doctor, const char *text, const char *key)
{
    size_t size = strlen(key);
    for (const char *at = text; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
        const char *value = at + size;
        if (strncasecmp(at, key, size)) continue;
        value += strspn(value, " \t");
        if (*value++ != '=') continue;
        value += strspn(value, " \t");
        return nk_doctor_keep(doctor, value, strcspn(value, "\r\n"));
    }
    return "";
}

// pyvenv.cfg lies beside the interpreter or one folder above it.
static const char *venv_of(struct nk_doctor *doctor, const char *exe, struct nk_buf *text)
{
    const char *folder = parent(doctor, exe);
    for (int i = 0; i < 2; i++, folder = parent(doctor, folder)) {
        nk_buf_clear(text);
        if (nk_doctor_read(doctor->asked.root, joined(doctor, folder, "pyvenv.cfg"), text)) return folder;
    }
    return NULL;
}

static void place(struct nk_doctor *doctor, const char *exe)
{
    struct nk_doctor_python *p = &doctor->python;
    char real[NK_DOCTOR_PATH];
    struct nk_buf config = {0};
    const char *venv = venv_of(doctor, exe, &config);
    const char *behind =
        nk_doctor_real(doctor->asked.root, exe, real, sizeof real) ? nk_doctor_keep_text(doctor, real) : exe;
    if (venv) {
        const char *home = value_of(doctor, config.data, "home");
        p->prefix = venv;
        p->base = parent(doctor, home);
        p->kind = "venv";
        p->uv = *value_of(doctor, config.data, "uv");
        p->full = value_of(doctor, config.data, "version");
        if (!*p->full) p->full = value_of(doctor, config.data, "version_info");
        const char *dot = strchr(p->full, '.'), *second = dot ? strchr(dot + 1, '.') : NULL;
        p->version = dot ? nk_doctor_keep(doctor, p->full, second ? (size_t)(second - p->full) : strlen(p->full)) : "";
        if (!strcasecmp(value_of(doctor, config.data, "include-system-site-packages"), "true"))
            p->kind = "venv with the system's packages";
    } else {
        p->prefix = parent(doctor, parent(doctor, behind));
        p->version = version_of_name(doctor, behind);
        if (nk_doctor_is_folder(doctor->asked.root, joined(doctor, p->prefix, "conda-meta")))
            p->kind = "conda";
        else if (!strcmp(p->prefix, "/usr") || !strcmp(p->prefix, "/usr/local") || !strcmp(p->prefix, "/"))
            p->kind = "system";
        if (!*p->version) p->version = version_in(doctor, p->prefix);
        if (!strcmp(p->prefix, "/")) p->prefix = "/usr";
    }
    if (!*p->version) p->version = version_of_name(doctor, behind);
    nk_buf_free(&config);
}

// ---- the folders

static void add_site(struct nk_doctor *doctor, const char *path, enum nk_site_kind kind)
{
    struct nk_doctor_python *p = &doctor->python;
    char real[NK_DOCTOR_PATH], other[NK_DOCTOR_PATH];
    if (!nk_doctor_is_folder(doctor->asked.root, path) || !nk_doctor_real(doctor->asked.root, path, real, sizeof real))
        return;
    // lib64 is often a link to lib.
    for (size_t i = 0; i < p->site_count; i++)
        if (nk_doctor_real(doctor->asked.root, p->sites[i].path, other, sizeof other) && !strcmp(real, other)) return;
    struct nk_doctor_site *more = nk_doctor_grow(doctor, p->sites, p->site_count, &p->site_room, sizeof *more);
    if (!more) return;
    p->sites = more;
    more[p->site_count++] = (struct nk_doctor_site){nk_doctor_keep_text(doctor, path), kind};
}

// A line of a .pth file that is a folder is searched too; other lines are code, which is not run.
static void add_pth(struct nk_doctor *doctor, const char *site, const char *name)
{
    struct nk_buf text = {0};
    nk_doctor_read(doctor->asked.root, joined(doctor, site, name), &text);
    int lines = 0;
    for (const char *at = text.data; at && *at && lines++ < MOST_PTH;) {
        size_t size = strcspn(at, "\r\n");
        if (size && *at != '#') {
            const char *line = nk_doctor_keep(doctor, at, size);
            add_site(doctor, *line == '/' ? line : joined(doctor, site, line), NK_SITE_PTH);
        }
        at += size;
        at += strspn(at, "\r\n");
    }
    nk_buf_free(&text);
}

static int by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static void add_pths(struct nk_doctor *doctor, const char *site)
{
    const char *names[MOST_PTH];
    size_t count = 0;
    struct nk_packages_walk walk = {0};
    for (const char *name; (name = nk_packages_next(&walk, doctor->asked.root, site, strlen(site)));)
        if (count < MOST_PTH && nk_packages_ends(name, ".pth")) names[count++] = nk_doctor_keep_text(doctor, name);
    qsort(names, count, sizeof *names, by_name);
    for (size_t i = 0; i < count; i++) add_pth(doctor, site, names[i]);
}

static void add_with_pths(struct nk_doctor *doctor, const char *path, enum nk_site_kind kind)
{
    size_t before = doctor->python.site_count;
    add_site(doctor, path, kind);
    if (doctor->python.site_count > before) add_pths(doctor, path);
}

static void add_prefix(struct nk_doctor *doctor, const char *prefix, enum nk_site_kind kind)
{
    static const char *const libs[] = {"lib", "lib64"};
    const char *version = doctor->python.version;
    char path[NK_DOCTOR_PATH];
    // Debian's Python imports from dist-packages: those of /usr/local first.
    if (!strcmp(prefix, "/usr")) {
        snprintf(path, sizeof path, "/usr/local/lib/python%s/dist-packages", version);
        add_with_pths(doctor, path, kind);
        add_with_pths(doctor, "/usr/lib/python3/dist-packages", kind);
    }
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s/python%s/site-packages", prefix, libs[i], version);
        add_with_pths(doctor, path, kind);
    }
}

static void add_pythonpath(struct nk_doctor *doctor)
{
    for (const char *at = nk_doctor_env("PYTHONPATH"); *at;) {
        size_t size = strcspn(at, ":");
        if (size && *at == '/') add_site(doctor, nk_doctor_keep(doctor, at, size), NK_SITE_PYTHONPATH);
        at += size;
        at += *at == ':';
    }
}

static void add_user(struct nk_doctor *doctor)
{
    char path[NK_DOCTOR_PATH];
    const char *home = nk_doctor_env("PYTHONUSERBASE");
    if (*nk_doctor_env("PYTHONNOUSERSITE")) return;
    if (*home)
        snprintf(path, sizeof path, "%s/lib/python%s/site-packages", home, doctor->python.version);
    else
        snprintf(path, sizeof path, "%s/.local/lib/python%s/site-packages", nk_doctor_env("HOME"),
                 doctor->python.version);
    add_with_pths(doctor, path, NK_SITE_USER);
}

// The order of site.py: PYTHONPATH, a virtual environment's own folder, the user's, the Python's own.
static void add_sites(struct nk_doctor *doctor)
{
    struct nk_doctor_python *p = &doctor->python;
    bool venv = *p->base, both = venv && strcmp(p->kind, "venv");
    add_pythonpath(doctor);
    if (venv) add_prefix(doctor, p->prefix, NK_SITE_OWN);
    if (!venv || both) add_user(doctor);
    if (!venv) add_prefix(doctor, p->prefix, NK_SITE_OWN);
    if (both) add_prefix(doctor, p->base, NK_SITE_BASE);
}

void nk_python_find(struct nk_doctor *doctor)
{
    struct nk_buf shown = {0};
    doctor->python = (struct nk_doctor_python){
        .exe = "", .shown = "", .prefix = "", .base = "", .kind = "", .version = "", .full = "", .why = ""};
    const char *exe = choose(doctor);
    if (!exe) return;
    doctor->python.exe = exe;
    nk_words_shell(&shown, exe, doctor->asked.full_paths);
    doctor->python.shown = nk_doctor_keep_buf(doctor, &shown);
    place(doctor, exe);
    if (!*doctor->python.version) {
        why(doctor, nk_doctor_shown(doctor, exe), "no lib/python3.* belongs to it");
        return;
    }
    add_sites(doctor);
    if (!doctor->python.site_count) why(doctor, nk_doctor_shown(doctor, exe), "it has no folder of packages");
}

// ---- findings

static void other_environment(struct nk_doctor *doctor)
{
    const char *venv = nk_doctor_env("VIRTUAL_ENV"), *conda = nk_doctor_env("CONDA_PREFIX");
    const char *active = *venv ? venv : conda, *prefix = doctor->python.prefix;
    char a[NK_DOCTOR_PATH], b[NK_DOCTOR_PATH];
    if (doctor->asked.python || !*active || *doctor->asked.root || !*prefix) return;
    if (!nk_doctor_real("", active, a, sizeof a)) snprintf(a, sizeof a, "%s", active);
    if (!nk_doctor_real("", prefix, b, sizeof b)) snprintf(b, sizeof b, "%s", prefix);
    if (!strcmp(a, b)) return;
    struct nk_doctor_finding *f =
        nk_doctor_find(doctor, NK_FINDING_OTHER_VENV, nk_doctor_shown(doctor, active), doctor->python.shown, NULL);
    nk_doctor_see(f, "%s=%s; python in PATH is %s", *venv ? "VIRTUAL_ENV" : "CONDA_PREFIX",
                  nk_doctor_shown(doctor, active), doctor->python.shown);
}

void nk_python_check(struct nk_doctor *doctor)
{
    struct nk_doctor_python *p = &doctor->python;
    struct nk_buf *out = &nk_doctor_row(doctor, "python")->found;
    if (*p->why) {
        nk_doctor_find(doctor, NK_FINDING_NO_PYTHON, p->why, NULL, NULL);
        nk_buf_text(out, "none");
        nk_doctor_row(doctor, "python")->unchecked = true;
        return;
    }
    nk_buf_format(out, "%s %s", *p->full ? p->full : p->version, p->shown);
    if (*p->kind) nk_buf_format(out, " (%s)", p->kind);
    if (*p->base && !nk_doctor_exists(doctor->asked.root, p->base))
        nk_doctor_find(doctor, NK_FINDING_BROKEN_VENV, nk_doctor_shell(doctor, p->prefix),
                       nk_doctor_shown(doctor, p->base), NULL);
    other_environment(doctor);
}
