// saved.c - an environment that worked, as a file; and the comparison with what is there now.
#define _GNU_SOURCE
#include "doctor/saved.h"
#include "advice/knowledge.h"
#include "advice/parts.h"
#include "base/json_text.h"
#include "doctor/state.h"
#include "report/words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SCHEMA "nokernel-doctor-saved/1"
#define INDEX  "https://download.pytorch.org/whl/"

// ---- saving

int nk_doctor_save(const struct nk_doctor *doctor, const char *path, struct nk_err *err)
{
    char part[NK_DOCTOR_PATH], when[32];
    time_t now = time(NULL);
    struct tm utc;
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    json_t *root = nk_doctor_state(doctor);
    if (!root || json_object_set_new(root, "schema", json_string(SCHEMA)) ||
        json_object_set_new(root, "saved", json_string(when))) {
        json_decref(root);
        return nk_fail(err, NK_ERR_MEMORY, "not enough memory");
    }
    int n = snprintf(part, sizeof part, "%s.part", path);
    bool written = n > 0 && (size_t)n < sizeof part && !json_dump_file(root, part, JSON_INDENT(1) | JSON_SORT_KEYS);
    int result = written && !rename(part, path)
                     ? 0
                     : nk_fail(err, NK_ERR_SYSTEM, "%s: cannot be written: %s", path, strerror(errno));
    if (result) unlink(part);
    json_decref(root);
    return result;
}

// ---- comparing

static void change(struct nk_doctor *doctor, struct nk_doctor_changes *c, const char *area, const char *name,
                   const char *then, const char *now)
{
    struct nk_doctor_change *more = nk_doctor_grow(doctor, c->change, c->count, &c->room, sizeof *more);
    if (!more) return;
    c->change = more;
    more[c->count++] = (struct nk_doctor_change){area, nk_doctor_keep_text(doctor, name),
                                                 nk_doctor_keep_text(doctor, then), nk_doctor_keep_text(doctor, now)};
}

static const char *text_in(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

// What stands for a thing: its version or value, and its content where that is the same.
static void describe(struct nk_doctor *doctor, struct nk_doctor_changes *c, const char *area, const char *name,
                     const json_t *then, const json_t *now)
{
    const char *old = json_is_string(then) ? json_string_value(then) : text_in(then, "version");
    const char *new_one = json_is_string(now) ? json_string_value(now) : text_in(now, "version");
    const char *old_content = text_in(then, "content"), *new_content = text_in(now, "content");
    if (strcmp(old, new_one) || !then != !now) {
        change(doctor, c, area, name, then ? old : "", now ? new_one : "");
    } else if (strcmp(old_content, new_content)) {
        char a[400], b[400];
        snprintf(a, sizeof a, "%.64s%s%.300s", old, *old ? ", content " : "", old_content);
        snprintf(b, sizeof b, "%.64s%s%.300s", new_one, *new_one ? ", content " : "", new_content);
        change(doctor, c, area, name, a, b);
    }
}

// Objects whose members are things: first what was there, then what is new.
static void compare_all(struct nk_doctor *doctor, struct nk_doctor_changes *c, const char *area, json_t *then,
                        json_t *now)
{
    const char *name;
    json_t *one;
    json_object_foreach(then, name, one) describe(doctor, c, area, name, one, json_object_get(now, name));
    json_object_foreach(now, name, one) if (!json_object_get(then, name)) describe(doctor, c, area, name, NULL, one);
}

static bool changed_package(const struct nk_doctor_changes *c, const char *name)
{
    for (size_t i = 0; i < c->count; i++)
        if (!strcmp(c->change[i].area, "package") && !strcmp(c->change[i].name, name)) return true;
    return false;
}

// Libraries and what they load change with their packages; what changed without them is worth telling.
static void compare_kept(struct nk_doctor *doctor, struct nk_doctor_changes *c, const char *area, json_t *then,
                         json_t *now)
{
    const char *name;
    json_t *one;
    json_object_foreach(then, name, one)
    {
        json_t *other = json_object_get(now, name);
        const char *before = json_is_string(one) ? json_string_value(one) : text_in(one, "package");
        const char *after = json_is_string(other) ? json_string_value(other) : text_in(other, "package");
        if (other && !changed_package(c, before) && !changed_package(c, after))
            describe(doctor, c, area, name, one, other);
    }
}

static void compare_one(struct nk_doctor *doctor, struct nk_doctor_changes *c, const char *area, const json_t *then,
                        const json_t *now)
{
    const char *old = json_string_value(then), *new_one = json_string_value(now);
    if (strcmp(old ? old : "", new_one ? new_one : ""))
        change(doctor, c, area, "", old ? old : "", new_one ? new_one : "");
}

// ---- the way back

static void back(struct nk_doctor *doctor, struct nk_doctor_changes *c, enum nk_text text, const char *value,
                 struct nk_buf *command, enum nk_text safety)
{
    struct nk_doctor_back *more = nk_doctor_grow(doctor, c->back, c->back_count, &c->back_room, sizeof *more);
    if (!more) return;
    c->back = more;
    more[c->back_count++] =
        (struct nk_doctor_back){text, value, command ? nk_doctor_keep_buf(doctor, command) : "", safety};
}

// The index that a build comes from: "cu121" of "2.4.1+cu121" where it is one that is known; "" for PyPI.
static const char *index_of(const char *name, const char *version)
{
    static const char *const theirs[] = {"torch", "torchvision", "torchaudio", "xformers"};
    const char *plus = strchr(version, '+');
    bool here = false;
    for (size_t i = 0; i < sizeof theirs / sizeof *theirs; i++) here |= nk_same_package(name, theirs[i]);
    if (!here || !plus) return "";
    return !strcmp(plus + 1, "cpu") || nk_known_row(&nk_known_torch_wheels, NK_WHEEL_VARIANT, plus + 1) ? plus + 1 : "";
}

// What pip is to be given: the versions that were there. Another index is another command.
static void install_from(struct nk_doctor *doctor, struct nk_doctor_changes *c, const char *index)
{
    struct nk_buf command = {0};
    for (size_t i = 0; i < c->count; i++) {
        const struct nk_doctor_change *one = &c->change[i];
        size_t version = strcspn(one->then, ",");
        const char *exact = nk_doctor_keep(doctor, one->then, version);
        if (strcmp(one->area, "package") || !version || strcmp(index_of(one->name, exact), index)) continue;
        if (!nk_doctor_plain(one->name) || !nk_doctor_plain(exact)) continue;
        if (!command.size)
            nk_buf_format(&command, "%s -m pip install --force-reinstall --no-deps", doctor->python.shown);
        nk_buf_format(&command, " \"%s==%s\"", one->name, exact);
    }
    if (command.size && *index) nk_buf_format(&command, " --index-url " INDEX "%s", index);
    if (command.size) back(doctor, c, NK_TEXT_BACK_INSTALL, "", &command, NK_TEXT_RISK_MOVES);
}

static void packages_back(struct nk_doctor *doctor, struct nk_doctor_changes *c)
{
    struct nk_buf command = {0}, names = {0};
    for (size_t i = 0; i < c->count; i++) {
        if (strcmp(c->change[i].area, "package") || *c->change[i].then) continue;
        if (!command.size) nk_buf_format(&command, "%s -m pip uninstall -y", doctor->python.shown);
        nk_buf_format(&command, " %s", c->change[i].name);
        nk_buf_format(&names, "%s%s", names.size ? ", " : "", c->change[i].name);
    }
    if (command.size)
        back(doctor, c, NK_TEXT_BACK_REMOVE, nk_doctor_keep_buf(doctor, &names), &command, NK_TEXT_RISK_MOVES);
    nk_buf_free(&names);
    // Each index once, in the order in which it is met.
    for (size_t i = 0; i < c->count; i++) {
        const char *version = nk_doctor_keep(doctor, c->change[i].then, strcspn(c->change[i].then, ","));
        const char *index = index_of(c->change[i].name, version);
        bool before = false;
        for (size_t j = 0; j < i; j++)
            before |= !strcmp(c->change[j].area, "package") && *c->change[j].then &&
                      !strcmp(index_of(c->change[j].name,
                                       nk_doctor_keep(doctor, c->change[j].then, strcspn(c->change[j].then, ","))),
                              index);
        if (!strcmp(c->change[i].area, "package") && *version && !before) install_from(doctor, c, index);
    }
}

static void others_back(struct nk_doctor *doctor, struct nk_doctor_changes *c)
{
    static const struct {
        const char *area;
        enum nk_text text, safety;
    } kinds[] = {{"driver", NK_TEXT_BACK_DRIVER, NK_TEXT_RISK_SYSTEM},
                 {"GPU", NK_TEXT_BACK_GPU, NK_TEXT_SAFE_NOTHING},
                 {"python", NK_TEXT_BACK_PYTHON, NK_TEXT_RISK_MOVES}};
    for (size_t i = 0; i < c->count; i++) {
        const struct nk_doctor_change *one = &c->change[i];
        struct nk_buf command = {0};
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            if (!strcmp(one->area, kinds[k].area) && *one->then)
                back(doctor, c, kinds[k].text, one->then, NULL, kinds[k].safety);
        if (strcmp(one->area, "setting")) continue;
        if (*one->then) {
            nk_buf_format(&command, "export %s=", one->name);
            nk_words_shell(&command, one->then, true);
        } else
            nk_buf_format(&command, "unset %s", one->name);
        if (!nk_doctor_plain(one->name)) nk_buf_clear(&command);
        back(doctor, c, NK_TEXT_BACK_SETTING, one->name, &command, NK_TEXT_SAFE_ENVIRONMENT);
    }
}

// A library that was replaced while its package stayed what it was.
static void libraries_back(struct nk_doctor *doctor, struct nk_doctor_changes *c)
{
    bool packages = false, libraries = false;
    for (size_t i = 0; i < c->count; i++) {
        packages |= !strcmp(c->change[i].area, "package");
        libraries |= !strcmp(c->change[i].area, "library");
    }
    if (libraries && !packages) back(doctor, c, NK_TEXT_BACK_LIBRARY, "", NULL, NK_TEXT_SAFE_PACKAGE);
}

int nk_doctor_compare(struct nk_doctor *doctor, const char *path, struct nk_doctor_changes *c, struct nk_err *err)
{
    json_error_t why;
    *c = (struct nk_doctor_changes){.count = 0};
    json_t *then = json_load_file(path, 0, &why), *now = then ? nk_doctor_state(doctor) : NULL;
    const char *schema = text_in(then, "schema");
    int result = 0;
    if (!then)
        result = nk_fail(err, NK_ERR_BAD_INPUT, "%s: %s", path, why.text);
    else if (strcmp(schema, SCHEMA))
        result = nk_fail(err, NK_ERR_BAD_INPUT,
                         "%s: a file of nokernel doctor --save was expected (" SCHEMA "), this one says \"%.40s\"",
                         path, schema);
    else if (!now)
        result = nk_fail(err, NK_ERR_MEMORY, "not enough memory");
    if (!result) {
        snprintf(c->saved, sizeof c->saved, "%s", text_in(then, "saved"));
        compare_one(doctor, c, "GPU", json_object_get(then, "gpus"), json_object_get(now, "gpus"));
        compare_one(doctor, c, "driver", json_object_get(then, "driver"), json_object_get(now, "driver"));
        compare_one(doctor, c, "python", json_object_get(then, "python"), json_object_get(now, "python"));
        compare_all(doctor, c, "setting", json_object_get(then, "settings"), json_object_get(now, "settings"));
        compare_all(doctor, c, "package", json_object_get(then, "packages"), json_object_get(now, "packages"));
        compare_kept(doctor, c, "library", json_object_get(then, "libraries"), json_object_get(now, "libraries"));
        compare_kept(doctor, c, "runtime", json_object_get(then, "runtimes"), json_object_get(now, "runtimes"));
        c->packages = json_object_size(json_object_get(now, "packages"));
        c->libraries = json_object_size(json_object_get(now, "libraries"));
        packages_back(doctor, c);
        libraries_back(doctor, c);
        others_back(doctor, c);
    }
    json_decref(then);
    json_decref(now);
    return result;
}

void nk_doctor_changes_free(struct nk_doctor_changes *changes)
{
    free(changes->change);
    free(changes->back);
    *changes = (struct nk_doctor_changes){.count = 0};
}
