// packages.h - a folder of its own for each test of the packages room, and questions about files in it.
#ifndef NK_TESTS_PACKAGES_H
#define NK_TESTS_PACKAGES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "packages/sources.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

static inline int make_root(void **state)
{
    (void)state;
    strcpy(root, "/tmp/nk-packages-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static inline int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st, (void)kind, (void)ftw;
    return remove(path);
}

static inline int remove_root(void **state)
{
    (void)state;
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

// "<root><path>", with every folder on the way to it.
static inline const char *place(const char *path)
{
    static char whole[1024];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *at = whole + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        *at = 0;
        mkdir(whole, 0755);
        *at = '/';
    }
    return whole;
}

static inline void put_bytes(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(place(path), "w");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
}

static inline void put(const char *path, const char *text) { put_bytes(path, text, strlen(text)); }

// A wheel: its METADATA and RECORD in /v/lib/python3.11/site-packages.
#define SITE "/v/lib/python3.11/site-packages"
static inline void put_wheel(const char *info, const char *name, const char *version, const char *record)
{
    char path[256], text[512];
    snprintf(path, sizeof path, SITE "/%s/METADATA", info);
    snprintf(text, sizeof text, "Metadata-Version: 2.1\nName: %s\nVersion: %s\nSummary: x\n\nName: not this\n", name,
             version);
    put(path, text);
    snprintf(path, sizeof path, SITE "/%s/RECORD", info);
    put(path, record);
}

static inline void assert_owner(const char *path, const char *source, const char *name, const char *version)
{
    struct nk_package package;
    assert_int_equal(nk_package_find_in(root, path, &package, NULL), 0);
    assert_string_equal(package.name, name);
    assert_string_equal(package.version, version);
    assert_string_equal(package.source, source);
}

static inline void assert_nobody(const char *path)
{
    struct nk_package package;
    assert_int_equal(nk_package_find_in(root, path, &package, NULL), 1);
    assert_string_equal(package.name, "");
    assert_string_equal(package.source, "");
}

#define TEST(name) static void name(void **state)
#define T(name)    cmocka_unit_test_setup_teardown(name, make_root, remove_root)

#endif
