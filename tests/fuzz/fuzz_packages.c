// fuzz_packages.c - any bytes as each of the files of package managers that are read.
#define _GNU_SOURCE
#include "packages/sources.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char root[64];

static void put(const char *path, const uint8_t *data, size_t size)
{
    char whole[256];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *at = whole + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        *at = 0;
        mkdir(whole, 0700);
        *at = '/';
    }
    FILE *file = fopen(whole, "w");
    if (!file) abort();
    fwrite(data, 1, size, file);
    fclose(file);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st, (void)kind, (void)ftw;
    return remove(path);
}

static void remove_root(void) { nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS); }

// In memory where that can be: some disks make ten files a second.
static void make_root(void)
{
    strcpy(root, access("/dev/shm", W_OK) ? "/tmp/nk-fuzz-packages-XXXXXX" : "/dev/shm/nk-fuzz-packages-XXXXXX");
    if (!mkdtemp(root)) abort();
    atexit(remove_root);
}

static void ask(const char *path)
{
    struct nk_package package;
    struct nk_err err;
    struct nk_buf spec = {0};
    if (!nk_packages_conda_spec(root, path, &spec) && !spec.size) abort();
    nk_buf_free(&spec);
    if (nk_package_find_in(root, path, &package, &err) != 0) return;
    if (!package.source[0] || strlen(package.name) >= sizeof package.name) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t metadata[] = "Name: torch\nVersion: 2\n";
    if (!root[0]) {
        make_root();
        put("/v/python3.11/site-packages/torch-2.dist-info/METADATA", metadata, sizeof metadata - 1);
    }
    put("/v/python3.11/site-packages/torch-2.dist-info/RECORD", data, size);
    put("/v/python3.11/site-packages/torch/version.py", data, size);
    put("/v/python3.11/site-packages/a-1.dist-info/METADATA", data, size);
    put("/v/python3.11/site-packages/a-1.dist-info/RECORD", (const uint8_t *)"a/x.so,,\n", 9);
    put("/v/python3.11/site-packages/torch-2.dist-info/direct_url.json", data, size);
    put("/v/python3.11/site-packages/a-1.dist-info/direct_url.json", data, size);
    put("/s/pyproject.toml", data, size);
    put("/c/conda-meta/a.json", data, size);
    put("/var/lib/dpkg/status", data, size);
    put("/var/lib/dpkg/info/z:amd64.list", data, size);
    ask("/v/python3.11/site-packages/torch/lib/x.so");
    ask("/v/python3.11/site-packages/a/x.so");
    ask("/c/lib/x.so");
    ask("/s/build/x.so");
    ask("/usr/lib/z.so");
    return 0;
}
