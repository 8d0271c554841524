// folder.c - no list names the file, but it lies where a package lives.
//
// So it is with files that a package made after its installation, with distributions whose metadata has no RECORD, and
// with source trees that were built in place (setup.py develop, editable installs), which keep a *.egg-info.
#include "base/file.h"
#include "packages/sources.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { DEEPEST = 64 }; // folders above a file that are looked at

// Distribution and module names are one when they differ in case, '-', '_' and '.' only.
static bool alike(const char *a, size_t a_size, const char *b, size_t b_size)
{
    if (a_size != b_size) return false;
    for (size_t i = 0; i < a_size; i++) {
        int x = tolower((unsigned char)a[i]), y = tolower((unsigned char)b[i]);
        bool x_mark = x == '-' || x == '_' || x == '.', y_mark = y == '-' || y == '_' || y == '.';
        if (x != y && !(x_mark && y_mark)) return false;
    }
    return true;
}

// The top-level name of a file below site-packages: "torch" of "torch/lib/x.so" and "torch.libs/x.so", "foo" of
// "foo.cpython-311.so".
static size_t top_level(const char *rest)
{
    size_t size = strcspn(rest, "/");
    if (rest[size] && size > 5 && !strncmp(rest + size - 5, ".libs", 5)) return size - 5;
    return rest[size] ? size : strcspn(rest, ".");
}

static bool is_info(const char *name)
{
    return nk_packages_ends(name, ".dist-info") || nk_packages_ends(name, ".egg-info");
}

// Room for one path at a time; the caller of everything here owns it.
static const char *join(struct nk_buf *path, const char *root, const char *dir, size_t length, const char *name)
{
    nk_buf_clear(path);
    nk_buf_format(path, "%s%.*s/%s", root, (int)length, dir, name);
    return path->failed ? "" : path->data;
}

// The file `name` inside the folder `path`; `path` is as it was afterwards.
static bool opened(struct nk_buf *path, const char *name, struct nk_file *file)
{
    size_t size = path->size;
    nk_buf_text(path, name);
    if (path->failed) return false;
    bool result = !nk_file_open(file, path->data, NULL);
    path->size = size;
    path->data[size] = 0;
    return result;
}

// top_level.txt names the modules of a package, one a line.
static bool names_module(struct nk_buf *info, const char *top, size_t size)
{
    struct nk_file file;
    if (!opened(info, "/top_level.txt", &file)) return false;
    bool found = nk_packages_listed(file.bytes, nk_bytes(top, size), "");
    nk_file_close(&file);
    return found;
}

// METADATA of a *.dist-info, PKG-INFO of an *.egg-info folder, or an *.egg-info that is itself the file.
static int metadata(struct nk_buf *info, struct nk_package *out)
{
    static const char *const names[] = {"/METADATA", "/PKG-INFO", ""};
    int result = 1;
    for (size_t i = 0; result && i < sizeof names / sizeof *names; i++) {
        struct nk_file file;
        if (!opened(info, names[i], &file)) continue;
        result = nk_packages_metadata(file.bytes, out);
        nk_file_close(&file);
    }
    return result;
}

// In a site-packages: the package whose name, or one of whose modules, the file's top folder has.
static int ask_site(const char *root, const char *path, size_t length, struct nk_buf *info, struct nk_package *out)
{
    const char *rest = path + length + 1;
    size_t size = top_level(rest);
    struct nk_packages_walk walk = {0};
    int result = 1;
    for (const char *name; result && (name = nk_packages_next(&walk, root, path, length));) {
        if (!is_info(name)) continue;
        size_t project = strcspn(name, "-");
        if (!name[project]) project = strlen(name) - strlen(".egg-info");
        join(info, root, path, length, name);
        if (alike(name, project, rest, size) || names_module(info, rest, size)) result = metadata(info, out);
    }
    nk_packages_close(&walk);
    return result;
}

// A source tree: its one *.egg-info, else its pyproject.toml (what builds in place need not leave anything else).
static int pyproject(const char *root, const char *path, size_t length, struct nk_buf *info, struct nk_package *out)
{
    struct nk_file file;
    if (nk_file_open(&file, join(info, root, path, length, "pyproject.toml"), NULL)) return 1;
    int result = nk_packages_pyproject(file.bytes, out);
    nk_file_close(&file);
    return result;
}

static int ask_tree(const char *root, const char *path, size_t length, struct nk_buf *info, struct nk_package *out)
{
    struct nk_packages_walk walk = {0};
    int found = 0;
    for (const char *name; (name = nk_packages_next(&walk, root, path, length));)
        if (nk_packages_ends(name, ".egg-info") && !found++) join(info, root, path, length, name);
    if ((found == 1 ? metadata(info, out) : 1) && pyproject(root, path, length, info, out)) return 1;
    if (length + sizeof "editable:" <= sizeof out->origin)
        snprintf(out->origin, sizeof out->origin, "editable:%.*s", (int)length, path);
    return 0;
}

int nk_packages_folder(const char *root, const char *path, struct nk_package *out)
{
    static const char *const sites[] = {"/site-packages", "/dist-packages"};
    struct nk_buf info = {0};
    size_t length = nk_packages_parent(path, strlen(path));
    int result = 1;
    for (int i = 0; length && result && i < DEEPEST; i++, length = nk_packages_parent(path, length)) {
        bool site = false;
        for (int k = 0; k < 2; k++) {
            size_t size = strlen(sites[k]);
            site = site || (length > size && !strncmp(path + length - size, sites[k], size));
        }
        result = (site ? ask_site : ask_tree)(root, path, length, &info, out);
        // What lies above a site-packages is another's: often the source tree that holds the environment.
        if (site) break;
    }
    if (!result) strcpy(out->source, "folder");
    nk_buf_free(&info);
    return result;
}
