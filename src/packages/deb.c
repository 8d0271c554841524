// deb.c - what dpkg installed: /var/lib/dpkg/info/NAME.list names the files, /var/lib/dpkg/status the versions.
#include "base/file.h"
#include "packages/sources.h"

#include <stdio.h>
#include <string.h>

static const char info[] = "/var/lib/dpkg/info";

// Since /lib became a link to /usr/lib a package may list a file by either path. Writes the other one, or "".
static void other_spelling(const char *path, char *out, size_t size)
{
    static const char *const merged[] = {"/lib/", "/lib32/", "/lib64/", "/libx32/", "/bin/", "/sbin/"};
    const char *bare = strncmp(path, "/usr/", 5) ? path : path + 4;
    out[0] = 0;
    for (size_t i = 0; i < sizeof merged / sizeof *merged; i++)
        if (!strncmp(bare, merged[i], strlen(merged[i]))) snprintf(out, size, "%s%s", bare == path ? "/usr" : "", bare);
}

// A file below root; the caller closes it.
static bool opened(const char *root, const char *dir, const char *name, struct nk_file *file)
{
    struct nk_buf path = {0};
    nk_buf_format(&path, "%s%s/%s", root, dir, name);
    bool result = !path.failed && !nk_file_open(file, path.data, NULL);
    nk_buf_free(&path);
    return result;
}

static bool lists(const char *root, const char *list, const char *path, const char *other)
{
    struct nk_file file;
    if (!opened(root, info, list, &file)) return false;
    bool found = nk_packages_listed(file.bytes, nk_bytes(path, strlen(path)), "") ||
                 nk_packages_listed(file.bytes, nk_bytes(other, strlen(other)), "");
    nk_file_close(&file);
    return found;
}

// The stanza of `package` and, unless empty, `arch`.
static bool stanza(struct nk_bytes status, const char *package, const char *arch, struct nk_bytes *version)
{
    char head[256];
    struct nk_bytes rest, value;
    int64_t at = 0;
    int size = snprintf(head, sizeof head, "Package: %s\n", package);
    if (size < 0 || (size_t)size >= sizeof head) return false;
    while ((at = nk_bytes_find(status, (uint64_t)at, head, (size_t)size)) >= 0) {
        uint8_t before = '\n';
        if (at) nk_bytes_u8(status, (uint64_t)at - 1, &before);
        nk_bytes_from(status, (uint64_t)at++, &rest);
        if (before != '\n') continue;
        bool right = !*arch || (nk_packages_header(rest, "Architecture", &value) &&
                                nk_bytes_equal(value, nk_bytes(arch, strlen(arch))));
        if (right && nk_packages_header(rest, "Version", version)) return true;
    }
    return false;
}

// `list` is "libcuda1.list" or "libcuda1:amd64.list".
static void take(const char *root, const char *list, struct nk_package *out)
{
    char arch[32] = "";
    struct nk_file file;
    struct nk_bytes version = nk_bytes("", 0);
    size_t whole = strlen(list) - strlen(".list"), size = strcspn(list, ":");
    if (size < whole) nk_packages_set(arch, sizeof arch, nk_bytes(list + size + 1, whole - size - 1));
    nk_packages_set(out->name, sizeof out->name, nk_bytes(list, size < whole ? size : whole));
    strcpy(out->source, "deb");
    if (!opened(root, "/var/lib/dpkg", "status", &file)) return;
    if (stanza(file.bytes, out->name, arch, &version)) nk_packages_set(out->version, sizeof out->version, version);
    nk_file_close(&file);
}

// Debian Policy 9.1 keeps packages out of what belongs to users and administrators: there is no need to read thousands
// of lists for a file that lies there.
static bool may_list(const char *path)
{
    static const char *const never[] = {"home", "root", "tmp", "mnt", "media", "dev", "proc", "var/tmp"};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
        size_t size = strlen(never[i]);
        if (path[0] == '/' && !strncmp(path + 1, never[i], size) && path[1 + size] == '/') return false;
    }
    return true;
}

int nk_packages_deb(const char *root, const char *path, struct nk_package *out)
{
    char other[4096 + 8];
    struct nk_packages_walk walk = {0};
    if (!may_list(path)) return 1;
    other_spelling(path, other, sizeof other);
    for (const char *name; (name = nk_packages_next(&walk, root, info, strlen(info)));) {
        if (!nk_packages_ends(name, ".list") || !lists(root, name, path, other)) continue;
        take(root, name, out);
        nk_packages_close(&walk);
        return 0;
    }
    return 1;
}
