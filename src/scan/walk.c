// walk.c - what a scan is asked to look at: files and folders.
#define _GNU_SOURCE
#include "scan/walk.h"
#include "base/file.h"
#include "image/fatbin.h"
#include "scan/archive.h"
#include "scan/files.h"
#include "scan/read.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    DEEPEST = 64, // folders below the one that was asked for
    ENOUGH = 64,
};

// ---- once

// True when this file was met before.
static bool seen(struct nk_scan *scan, const struct stat *st)
{
    uint64_t key = nk_hash_u64(nk_hash_u64((uint64_t)st->st_dev) ^ (uint64_t)st->st_ino);
    if (nk_table_get(&scan->seen, key)) return true;
    if (nk_table_put(&scan->seen, key, (void *)(uintptr_t)1)) scan->failed = true;
    return false;
}

// ---- one file

// Its sign without the version and the size of the header that are read here.
static bool unknown_fatbin(struct nk_bytes first)
{
    return first.size >= NK_FATBIN_HEADER && !memcmp(first.data, NK_FATBIN_KEY, 4) &&
           memcmp(first.data, NK_FATBIN_KEY, NK_FATBIN_KEY_SIZE);
}

// What its first bytes say, or -1 with a sentence.
static int type_of(const char *path, struct nk_err *err)
{
    uint8_t first[512];
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t got = file < 0 ? -1 : pread(file, first, sizeof first, 0);
    int saved = errno;
    if (file >= 0) close(file);
    if (got < 0) return nk_fail(err, NK_ERR_SYSTEM, "cannot be read: %s", strerror(saved));
    if (unknown_fatbin(nk_bytes(first, (size_t)got)))
        return nk_fail(err, NK_ERR_BAD_INPUT, "a fat binary of a version that is not known");
    return (int)nk_scan_type(nk_bytes(first, (size_t)got));
}

// Thousands of files in a folder of which nobody says whose they are: each look-up lists that folder. After ENOUGH in a
// row without an owner the rest is taken to have none.
static bool unowned(const struct nk_scan *scan, const char *path, size_t folder)
{
    return scan->unowned_in_row >= ENOUGH && scan->unowned && strlen(scan->unowned) == folder &&
           !memcmp(scan->unowned, path, folder);
}

static void note_unowned(struct nk_scan *scan, const char *path, size_t folder, bool owned)
{
    bool same = scan->unowned && strlen(scan->unowned) == folder && !memcmp(scan->unowned, path, folder);
    scan->unowned_in_row = owned ? 0 : same ? scan->unowned_in_row + 1 : 1;
    if (same) return;
    free(scan->unowned);
    scan->unowned = strndup(path, folder);
}

static void find_package(struct nk_scan *scan, const char *path, struct nk_package *package)
{
    const char *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash - path) : 0;
    if (unowned(scan, path, folder)) return;
    char *real = realpath(path, NULL);
    // The name by which it was found says more than the one behind links: both are asked for.
    if (path[0] == '/')
        nk_package_find(path, package, NULL);
    else if (real)
        nk_package_find(real, package, NULL);
    free(real);
    if (!*package->name) *package = (struct nk_package){0}; // a version in the file's name is shown with the name
    note_unowned(scan, path, folder, *package->name);
}

// A file without code is nothing to tell about, unless its name says that it holds some: an error page that was saved
// as a wheel, a download that never began. In a folder only packages are held to their names.
static void no_code(struct nk_scan *scan, const char *path, bool asked)
{
    static const struct {
        const char *ending, *what;
        bool package;
    } names[] = {
        {".whl", "a wheel", true},       {".conda", "a conda package", true}, {".deb", "a Debian package", true},
        {".zip", "a zip file", false},   {".tar", "a tar file", false},       {".gz", "a gzip file", false},
        {".bz2", "a bzip2 file", false}, {".xz", "an xz file", false},        {".zst", "a zstd file", false},
        {".cubin", "a cubin", false},    {".fatbin", "a fat binary", false},  {".ptx", "PTX", false}};
    struct stat st;
    char text[64];
    size_t size = strlen(path);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t ending = strlen(names[i].ending);
        if (size <= ending || strcmp(path + size - ending, names[i].ending) || !(asked || names[i].package)) continue;
        bool empty = !stat(path, &st) && !st.st_size;
        snprintf(text, sizeof text, "%s was expected, %s", names[i].what, empty ? "the file is empty" : "it is none");
        nk_scan_problem_add(scan, path, text);
    }
}

// `asked`: by name.
static void file_code(struct nk_scan *scan, const struct nk_scan_place *place, const char *path, const char *named,
                      bool asked, const struct nk_scan_options *options)
{
    struct nk_file file;
    struct nk_err err = {0};
    struct nk_scan_library *library = nk_scan_library_new(place->shown);
    if (!library) {
        scan->failed = true;
        return;
    }
    if (nk_file_open(&file, path, &err)) {
        nk_scan_problem_add(scan, path, err.text);
        nk_scan_library_free(library);
        return;
    }
    if (options->progress) options->progress(options->user, path, 0, 0);
    struct nk_scan_how how = options->how;
    how.mapped = true;
    int result = nk_scan_bytes(library, file.bytes, &how, &err);
    if (result) nk_scan_problem_add(scan, path, err.text);
    nk_file_close(&file);
    nk_scan_library_tidy(library);
    if (!library->box_count) {
        nk_scan_library_free(library);
        scan->others++;
        if (!result) no_code(scan, path, asked);
        return;
    }
    find_package(scan, named, &library->package);
    nk_scan_item_add(scan, nk_scan_item_get(scan, place->item, &library->package), library);
}

static void read_file(struct nk_scan *scan, const struct nk_scan_place *place, const char *path, bool asked,
                      const struct nk_scan_options *options)
{
    struct nk_err err = {0};
    int type = type_of(path, &err);
    if (type < 0) {
        nk_scan_problem_add(scan, path, err.text);
    } else if (type == NK_SCAN_ARCHIVE) {
        nk_scan_archive(scan, path, asked, options);
    } else if (type == NK_SCAN_CODE || asked) {
        // A file that was asked for by name is searched whatever it is.
        file_code(scan, place, path, path, asked, options);
    } else {
        scan->others++;
        no_code(scan, path, false);
    }
}

void nk_scan_file_seen(struct nk_scan *scan, const struct nk_scan_place *place, const char *path, const char *named,
                       const struct nk_scan_options *options)
{
    struct stat st;
    if (stat(path, &st) || seen(scan, &st)) return;
    if (type_of(path, NULL) == NK_SCAN_CODE)
        file_code(scan, place, path, named, false, options);
    else
        scan->others++;
}

// ---- folders

struct folder {
    struct nk_scan *scan;
    const struct nk_scan_options *options;
    const char *item;
    size_t cut; // bytes of the path that stand for the item
};

static const char *what_it_is(mode_t mode)
{
    return S_ISFIFO(mode)                   ? "a pipe, which is not read"
           : S_ISSOCK(mode)                 ? "a socket, which is not read"
           : S_ISBLK(mode) || S_ISCHR(mode) ? "a device, which is not read"
                                            : "no regular file";
}

static void walk(const struct folder *folder, const char *path, int depth);

static void visit(const struct folder *folder, const char *path, int depth)
{
    struct stat st, link;
    struct nk_scan *scan = folder->scan;
    if (lstat(path, &link) || stat(path, &st)) {
        bool broken = errno == ENOENT && !lstat(path, &link);
        nk_scan_problem_add(scan, path, broken ? "a link that leads nowhere" : strerror(errno));
        return;
    }
    if (S_ISDIR(st.st_mode)) {
        if (S_ISDIR(link.st_mode) && !seen(scan, &st)) walk(folder, path, depth + 1);
        return;
    }
    if (!S_ISREG(st.st_mode)) {
        nk_scan_problem_add(scan, path, what_it_is(st.st_mode));
        return;
    }
    if (seen(scan, &st)) {
        scan->links++;
        return;
    }
    struct nk_scan_place place = {.item = folder->item, .shown = path + folder->cut};
    read_file(scan, &place, path, false, folder->options);
}

static int wanted(const struct dirent *entry)
{
    const char *name = entry->d_name;
    // Byte code of Python and the inside of repositories: thousands of files that hold nothing.
    return strcmp(name, ".") && strcmp(name, "..") && strcmp(name, "__pycache__") && strcmp(name, ".git");
}

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

static void walk(const struct folder *folder, const char *path, int depth)
{
    struct dirent **entries;
    int count = depth > DEEPEST ? -1 : scandir(path, &entries, wanted, by_name);
    if (count < 0) {
        nk_scan_problem_add(folder->scan, path, depth > DEEPEST ? "folders are nested too deep" : strerror(errno));
        return;
    }
    for (int i = 0; i < count; i++) {
        char below[PATH_MAX];
        const char *slash = path[strlen(path) - 1] == '/' ? "" : "/";
        if ((size_t)snprintf(below, sizeof below, "%s%s%s", path, slash, entries[i]->d_name) < sizeof below)
            visit(folder, below, depth);
        else
            nk_scan_problem_add(folder->scan, path, "a path below it is too long");
        free(entries[i]);
    }
    free(entries);
}

static void read_folder(struct nk_scan *scan, const char *path, const struct nk_scan_options *options)
{
    size_t size = strlen(path);
    struct folder folder = {scan, options, path, size + (path[size - 1] != '/')};
    walk(&folder, path, 0);
}

// Libraries are found in the order of folders; packages are shown by name.
static int by_package(const void *a, const void *b)
{
    const struct nk_scan_item *x = *(struct nk_scan_item *const *)a, *y = *(struct nk_scan_item *const *)b;
    int order = strcasecmp(x->package.name, y->package.name);
    if (!order) order = strcmp(x->package.version, y->package.version);
    return order ? order : strcmp(x->path, y->path);
}

void nk_scan_path(struct nk_scan *scan, const char *path, const struct nk_scan_options *options)
{
    struct stat st;
    size_t before = scan->count;
    if (!*path || stat(path, &st)) {
        struct stat link;
        bool broken = *path && errno == ENOENT && !lstat(path, &link);
        nk_scan_problem_add(scan, path, broken ? "a link that leads nowhere" : strerror(*path ? errno : ENOENT));
    } else if (S_ISDIR(st.st_mode)) {
        if (!seen(scan, &st)) read_folder(scan, path, options);
    } else if (!S_ISREG(st.st_mode)) {
        nk_scan_problem_add(scan, path, what_it_is(st.st_mode));
    } else if (seen(scan, &st)) {
        scan->links++;
    } else {
        struct nk_scan_place place = {.item = path, .shown = path};
        read_file(scan, &place, path, true, options);
    }
    // Only what this operand brought: operands stay in the order in which they were given.
    if (scan->count > before) qsort(scan->items + before, scan->count - before, sizeof *scan->items, by_package);
}
