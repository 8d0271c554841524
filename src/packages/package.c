// package.c - which installed package a library file belongs to: the sources in turn.
#define _GNU_SOURCE
#include "packages/package.h"
#include "packages/sources.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST = 4096 };

// The path behind all links, as seen inside root; NULL when it is the same, leads out of root or cannot be found.
// The caller frees it.
static char *behind_links(const char *root, const char *path)
{
    struct nk_buf whole = {0};
    nk_buf_format(&whole, "%s%s", root, path);
    char *real = whole.failed ? NULL : realpath(whole.data, NULL);
    char *top = *root ? realpath(root, NULL) : strdup("");
    nk_buf_free(&whole);
    size_t size = top ? strlen(top) : 0;
    bool usable = real && top && !strncmp(real, top, size) && real[size] == '/' && strcmp(real + size, path);
    if (usable) memmove(real, real + size, strlen(real + size) + 1);
    free(top);
    if (usable) return real;
    free(real);
    return NULL;
}

// The lists, which are certain. Python packages that conda or Debian installed have a RECORD too: the package that the
// user can act on is the one of the installer.
static int ask_lists(const char *root, const char *path, struct nk_package *out)
{
    char installer[16];
    struct nk_package better = {0};
    if (nk_packages_pip(root, path, out, installer))
        return nk_packages_conda(root, path, out) ? nk_packages_deb(root, path, out) : 0;
    if (!strcmp(installer, "conda") && !nk_packages_conda(root, path, &better)) *out = better;
    if (!strcmp(installer, "debian") && !nk_packages_deb(root, path, &better)) *out = better;
    return 0;
}

// "4.10.0" of "libopencv_cudaarithm.so.4.10.0", which nobody owns: built from source, or unpacked by hand. A name with
// one number only ("libcuda.so.1") says no more than which interface it has.
static void version_of_name(const char *path, struct nk_package *out)
{
    const char *name = strrchr(path, '/'), *at = name ? strstr(name, ".so.") : NULL;
    if (!at || !strchr(at + 4, '.') || strspn(at + 4, "0123456789.") != strlen(at + 4)) return;
    size_t size = strlen(at + 4);
    if (size >= sizeof out->version) return;
    memcpy(out->version, at + 4, size + 1);
    memcpy(out->source, "name", sizeof "name");
}

int nk_package_find_in(const char *root, const char *path, struct nk_package *out, struct nk_err *err)
{
    *out = (struct nk_package){0};
    if (path[0] != '/') return nk_fail(err, NK_ERR_USAGE, "%s: an absolute path was expected", path);
    if (strlen(root) + strlen(path) >= LONGEST)
        return nk_fail(err, NK_ERR_LIMIT, "%.60s...: a path of less than %d bytes was expected", path, LONGEST);
    char *real = behind_links(root, path);
    int result = ask_lists(root, path, out);
    if (result && real) result = ask_lists(root, real, out);
    if (result) result = nk_packages_folder(root, path, out);
    if (result && real) result = nk_packages_folder(root, real, out);
    if (result) {
        *out = (struct nk_package){0};
        version_of_name(real ? real : path, out);
    }
    free(real);
    return result;
}

int nk_package_find(const char *path, struct nk_package *out, struct nk_err *err)
{
    return nk_package_find_in("", path, out, err);
}
