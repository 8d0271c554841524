// saved.c - an environment that worked, as a file; and the comparison with what is there now.
#define _GNU_SOURCE
#include "doctor/saved.h"
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
    more[c->count++] = (struct nk_doctor_change){.area = area,
                                                 .name = nk_doctor_keep_text(doctor, name),
                                                 .then = nk_doctor_keep_text(doctor, then),
                                                 .now = nk_doctor_keep_text(doctor, now)};
}

static const char *text_in(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static struct nk_doctor_by installed_by(struct nk_doctor *doctor, const json_t *thing)
{
    return (struct nk_doctor_by){nk_doctor_keep_text(doctor, text_in(thing, "installer")),
                                 nk_doctor_keep_text(doctor, text_in(thing, "spec"))};
}

// What stands for a thing: its version or value, and its content where that is the same.
static void describe(struct nk_doctor *doctor, struct nk_doctor_changes *c, const char *area, const char *name,
                     const json_t *then, const json_t *now)
{
    const char *old = json_is_string(then) ? json_string_value(then) : text_in(then, "version");
    const char *new_one = json_is_string(now) ? json_string_value(now) : text_in(now, "version");
    const char *old_content = text_in(then, "content"), *new_content = text_in(now, "content");
    size_t before = c->count;
    if (strcmp(old, new_one) || !then != !now) {
        change(doctor, c, area, name, then ? old : "", now ? new_one : "");
    } else if (strcmp(old_content, new_content)) {
        char a[400], b[400];
        snprintf(a, sizeof a, "%.64s%s%.300s", old, *old ? ", content " : "", old_content);
        snprintf(b, sizeof b, "%.64s%s%.300s", new_one, *new_one ? ", content " : "", new_content);
        change(doctor, c, area, name, a, b);
    }
    if (c->count == before) return;
    c->change[before].then_by = installed_by(doctor, then);
    c->change[before].now_by = installed_by(doctor, now);
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
        nk_doctor_way_back(doctor, c);
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
