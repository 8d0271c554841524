// way_back.c - what brings an environment back that worked, from what has changed since: each package by the installer
// that it was installed with.
#define _GNU_SOURCE
#include "advice/parts.h"
#include "doctor/saved.h"
#include "report/words.h"

#include <string.h>

// They remove in the order of nk_installer; what conda and Debian bring back comes before what pip puts on top of it.
#define NOBODY NK_INSTALLERS

static void back(struct nk_doctor *doctor, struct nk_doctor_changes *c, enum nk_text text, const char *value,
                 struct nk_buf *command, enum nk_text safety)
{
    struct nk_doctor_back *more = nk_doctor_grow(doctor, c->back, c->back_count, &c->back_room, sizeof *more);
    if (!more) return;
    c->back = more;
    more[c->back_count++] =
        (struct nk_doctor_back){text, value, command ? nk_doctor_keep_buf(doctor, command) : "", safety};
}

// ---- who installs what

static enum nk_installer way_of(const struct nk_doctor_by *by) { return nk_installer_of(by->installer); }

static bool is_package(const struct nk_doctor_change *one) { return !strcmp(one->area, "package"); }

// Who removes what is there now: what was not there, and what another installer has put in its place.
static enum nk_installer remover(const struct nk_doctor_change *one)
{
    if (!is_package(one) || !*one->now) return NOBODY;
    enum nk_installer now = way_of(&one->now_by), then = way_of(&one->then_by);
    bool same = now == then || (now <= NK_UV && then <= NK_UV);
    return *one->then && same ? NOBODY : now;
}

// Who installs what was there. pip and uv read the same indexes: the one that works there now, for an environment of uv
// has no pip.
static enum nk_installer restorer(const struct nk_doctor_change *one)
{
    if (!is_package(one) || !*one->then) return NOBODY;
    enum nk_installer now = way_of(&one->now_by), then = way_of(&one->then_by);
    return then <= NK_UV && *one->now && now <= NK_UV ? now : then;
}

// ---- names. They come from a file that may be somebody else's: what is no name is left out.

static bool is_name(const char *text) { return *text && *text != '-' && nk_doctor_plain(text); }

static bool is_spec(const char *text)
{
    const char *at = text;
    while (*at && (strchr("/:=~", *at) || nk_doctor_plain((char[2]){*at, 0}))) at++;
    return *text && *text != '-' && !*at;
}

// "git+https://...", "file:~/x.whl", "editable:~/src/x" for a command; "" when it is none, or nothing for a command.
static const char *origin_of(struct nk_doctor *doctor, const struct nk_doctor_by *by)
{
    struct nk_buf out = {0};
    const char *path = by->spec + strcspn(by->spec, ":");
    bool local = !strncmp(by->spec, "file:", 5) || !strncmp(by->spec, "editable:", 9);
    if (way_of(by) > NK_UV || !(local ? *path && strchr("/~", path[1]) && path[1] : strstr(by->spec, "://") != NULL))
        return "";
    for (const char *c = by->spec; *c; c++) {
        bool control = (unsigned char)*c < ' ' || *c == 127;
        if (control || (!local && !strchr("/:@%=~,", *c) && !nk_doctor_plain((char[2]){*c, 0}))) return "";
    }
    nk_words_origin(&out, by->spec, true, true);
    return nk_doctor_keep_buf(doctor, &out);
}

// "pytorch" of "conda-forge::pytorch=2.4.1=cuda120_0"; else what the installer calls this package of pip's, as far as
// is known.
static const char *their_name(struct nk_doctor *doctor, const char *name, const struct nk_doctor_by *by)
{
    const char *start = strstr(by->spec, "::");
    start = start ? start + 2 : by->spec;
    if (*start) return nk_doctor_keep(doctor, start, strcspn(start, "="));
    const char *from = way_of(by) == NK_CONDA ? "conda" : "deb";
    for (int row = 1; row < nk_known_names.rows; row++)
        if (nk_same_package(nk_known(&nk_known_names, row, NK_NAMES_PIP), name) &&
            !strcmp(nk_known(&nk_known_names, row, NK_NAMES_FROM), from))
            return nk_known(&nk_known_names, row, NK_NAMES_NAME);
    return name;
}

// "2.4.1" of "2.4.1, content 0123...".
static const char *version_of(struct nk_doctor *doctor, const struct nk_doctor_change *one)
{
    return nk_doctor_keep(doctor, one->then, strcspn(one->then, ","));
}

// ---- commands

// Up to the names: "~/v/bin/python -m pip install ... ".
static void begin(struct nk_buf *out, struct nk_doctor *doctor, enum nk_installer way, bool install)
{
    struct nk_environment where = {way, doctor->python.shown, nk_doctor_shell(doctor, doctor->python.prefix), false};
    nk_install_command(out, &where, install ? NK_AGAIN : NK_REMOVE);
}

static enum nk_text risk(enum nk_installer way) { return way == NK_DEBIAN ? NK_TEXT_RISK_SYSTEM : NK_TEXT_RISK_MOVES; }

static void space(struct nk_buf *out)
{
    if (out->size) nk_buf_text(out, " ");
}

static void with_names(struct nk_doctor *doctor, struct nk_doctor_changes *c, enum nk_installer way, bool install,
                       struct nk_buf *names, const char *value, const char *index)
{
    struct nk_buf command = {0};
    if (names->size) {
        begin(&command, doctor, way, install);
        nk_buf_text(&command, names->data);
        if (*index) nk_buf_format(&command, " --index-url " NK_TORCH_INDEX "%s", index);
        back(doctor, c, install ? NK_TEXT_BACK_INSTALL : NK_TEXT_BACK_REMOVE, value, &command, risk(way));
    }
    nk_buf_free(names);
}

static void remove_by(struct nk_doctor *doctor, struct nk_doctor_changes *c, enum nk_installer way)
{
    struct nk_buf names = {0}, list = {0};
    for (size_t i = 0; i < c->count; i++) {
        const struct nk_doctor_change *one = &c->change[i];
        if (remover(one) != way) continue;
        const char *name = way > NK_UV ? their_name(doctor, one->name, &one->now_by) : one->name;
        if (!is_name(name)) continue;
        space(&names);
        nk_buf_text(&names, name);
        nk_buf_format(&list, "%s%s", list.size ? ", " : "", name);
    }
    with_names(doctor, c, way, false, &names, nk_doctor_keep_buf(doctor, &list), "");
}

// conda and Debian: each package as its installer calls it, with its exact version.
static void restore_by(struct nk_doctor *doctor, struct nk_doctor_changes *c, enum nk_installer way)
{
    struct nk_buf specs = {0};
    for (size_t i = 0; i < c->count; i++) {
        const struct nk_doctor_change *one = &c->change[i];
        struct nk_buf spec = {0};
        if (restorer(one) != way) continue;
        if (*one->then_by.spec)
            nk_buf_text(&spec, one->then_by.spec);
        else
            nk_buf_format(&spec, "%s=%s", their_name(doctor, one->name, &one->then_by), version_of(doctor, one));
        if (spec.data && is_spec(spec.data)) {
            space(&specs);
            nk_buf_format(&specs, "\"%s\"", spec.data);
        }
        nk_buf_free(&spec);
    }
    with_names(doctor, c, way, true, &specs, "", "");
}

static bool comes_from(struct nk_doctor *doctor, const struct nk_doctor_change *one, enum nk_installer way,
                       const char *index)
{
    return restorer(one) == way && !strcmp(nk_install_index(one->name, version_of(doctor, one)), index);
}

// What pip or uv is to be given: the versions that were there. Another index is another command.
static void install_from(struct nk_doctor *doctor, struct nk_doctor_changes *c, enum nk_installer way,
                         const char *index)
{
    struct nk_buf names = {0};
    for (size_t i = 0; i < c->count; i++) {
        const struct nk_doctor_change *one = &c->change[i];
        const char *version = version_of(doctor, one);
        if (!comes_from(doctor, one, way, index) || !*version) continue;
        if (!is_name(one->name) || !nk_doctor_plain(version)) continue;
        space(&names);
        if (!nk_install_origin(&names, one->name, origin_of(doctor, &one->then_by)))
            nk_buf_format(&names, "\"%s==%s\"", one->name, version);
    }
    with_names(doctor, c, way, true, &names, "", index);
}

static void packages_back(struct nk_doctor *doctor, struct nk_doctor_changes *c)
{
    for (enum nk_installer way = NK_PIP; way < NK_INSTALLERS; way++) remove_by(doctor, c, way);
    restore_by(doctor, c, NK_CONDA);
    restore_by(doctor, c, NK_DEBIAN);
    // Each index once, in the order in which it is met.
    for (enum nk_installer way = NK_PIP; way <= NK_UV; way++)
        for (size_t i = 0; i < c->count; i++) {
            if (restorer(&c->change[i]) != way) continue;
            const char *index = nk_install_index(c->change[i].name, version_of(doctor, &c->change[i]));
            bool before = false;
            for (size_t j = 0; j < i; j++) before |= comes_from(doctor, &c->change[j], way, index);
            if (!before) install_from(doctor, c, way, index);
        }
}

// ---- the rest

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

void nk_doctor_way_back(struct nk_doctor *doctor, struct nk_doctor_changes *c)
{
    packages_back(doctor, c);
    libraries_back(doctor, c);
    others_back(doctor, c);
}
