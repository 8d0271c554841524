// members.c - what the small files of an archive say about the package in it: a wheel's METADATA, conda's index.json,
// Debian's control, and the version files of PyTorch's packages.
#define _GNU_SOURCE
#include "scan/members.h"
#include "packages/sources.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_metadata(const char *name)
{
    const char *slash = strchr(name, '/');
    return slash && slash - name > 10 && !strncmp(slash - 10, ".dist-info/METADATA", 20);
}

static bool is_control(const char *name) { return !strcmp(name, "./control") || !strcmp(name, "control"); }

static bool is_version(const char *name)
{
    const char *slash = strchr(name, '/');
    return !strncmp(name, "torch", 5) && slash && !strcmp(slash, "/version.py");
}

bool nk_members_wanted(const char *name)
{
    return is_metadata(name) || is_control(name) || is_version(name) || !strcmp(name, "info/index.json");
}

static void take_conda(struct nk_package *package, struct nk_bytes text)
{
    json_t *index = json_loadb((const char *)text.data, text.size, 0, NULL);
    const char *name = json_string_value(json_object_get(index, "name"));
    const char *version = json_string_value(json_object_get(index, "version"));
    if (name && version) {
        nk_packages_set(package->name, sizeof package->name, nk_bytes(name, strlen(name)));
        nk_packages_set(package->version, sizeof package->version, nk_bytes(version, strlen(version)));
        strcpy(package->source, "conda");
    }
    json_decref(index);
}

static void take_deb(struct nk_package *package, struct nk_bytes text)
{
    struct nk_bytes name, version;
    if (!nk_packages_header(text, "Package", &name) || !nk_packages_header(text, "Version", &version)) return;
    nk_packages_set(package->name, sizeof package->name, name);
    nk_packages_set(package->version, sizeof package->version, version);
    strcpy(package->source, "deb");
}

void nk_members_notice(struct nk_members *members, const char *name, struct nk_bytes text)
{
    if (is_metadata(name)) {
        if (!nk_packages_metadata(text, &members->package)) strcpy(members->package.source, "pip");
    } else if (is_control(name)) {
        take_deb(&members->package, text);
    } else if (is_version(name)) {
        snprintf(members->version_folder, sizeof members->version_folder, "%.*s", (int)(strchr(name, '/') - name),
                 name);
        nk_buf_clear(&members->version_file);
        nk_buf_add(&members->version_file, text.data, text.size);
    } else {
        take_conda(&members->package, text);
    }
}

// "+cu121" behind the version in quotes; else from the line "cuda: Optional[str] = '13.2'".
static void add_local(struct nk_package *package, const char *text)
{
    char wanted[sizeof package->version + 1], local[32];
    size_t n = 0;
    snprintf(wanted, sizeof wanted, "%s+", package->version);
    const char *at = strstr(text, wanted);
    if (at) {
        at += strlen(wanted);
        while (n + 1 < sizeof local && (isalnum((unsigned char)at[n]) || at[n] == '.')) local[n] = at[n], n++;
    } else if ((at = strstr(text, "\ncuda"))) {
        const char *quote = at + strcspn(at + 1, "'\"\n") + 1;
        n = (size_t)snprintf(local, sizeof local, "cu");
        for (at = quote; *at && n + 1 < sizeof local && *++at && (isdigit((unsigned char)*at) || *at == '.');)
            if (*at != '.') local[n++] = *at;
        if (n == 2) n = 0;
    }
    local[n] = 0;
    size_t size = strlen(package->version);
    if (n && size + n + 2 < sizeof package->version)
        snprintf(package->version + size, sizeof package->version - size, "+%s", local);
}

void nk_members_package(struct nk_members *members, struct nk_package *package)
{
    *package = members->package;
    const struct nk_buf *file = &members->version_file;
    if (!strcmp(package->name, members->version_folder) && file->data && !file->failed &&
        !strchr(package->version, '+') && package->version[0])
        add_local(package, file->data);
}

void nk_members_add(struct nk_members *members, struct nk_members *more)
{
    if (*more->package.source) members->package = more->package;
    if (*more->version_folder) {
        memcpy(members->version_folder, more->version_folder, sizeof members->version_folder);
        nk_buf_free(&members->version_file);
        members->version_file = more->version_file;
        more->version_file = (struct nk_buf){0};
    }
    nk_members_free(more);
    *more = (struct nk_members){0};
}

void nk_members_free(struct nk_members *members) { nk_buf_free(&members->version_file); }
