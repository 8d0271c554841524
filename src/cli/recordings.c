// recordings.c - where recordings lie, and which of them are meant.
#define _GNU_SOURCE
#include "cli/recordings.h"
#include "base/file.h"
#include "recording/reader.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEEPEST = 3 }; // a run within a run within a run

int nk_recordings_folder(char *out, size_t size, struct nk_err *err)
{
    const char *own = getenv("NOKERNEL_DIR"), *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int n = own && *own       ? snprintf(out, size, "%s", own)
            : state && *state ? snprintf(out, size, "%s/nokernel", state)
            : home && *home   ? snprintf(out, size, "%s/.local/state/nokernel", home)
                              : -1;
    if (n < 0) return nk_fail(err, NK_ERR_USAGE, "none of NOKERNEL_DIR, XDG_STATE_HOME and HOME is set");
    if ((size_t)n >= size) return nk_fail(err, NK_ERR_LIMIT, "the path of the folder of recordings is too long");
    return 0;
}

int nk_recordings_add(struct nk_recordings *list, const char *path)
{
    if (list->count == list->room) {
        size_t room = list->room ? list->room * 2 : 16;
        char **more = realloc(list->path, room * sizeof *more);
        if (!more) return -1;
        list->path = more;
        list->room = room;
    }
    list->path[list->count] = strdup(path);
    return list->path[list->count] ? (list->count++, 0) : -1;
}

static bool is_recording(const char *name)
{
    size_t size = strlen(name);
    return size > 4 && !strcmp(name + size - 4, ".nkr");
}

static int walk(struct nk_recordings *list, const char *folder, int depth, struct nk_err *err)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    int result = 0;
    if (!dir) return nk_fail(err, NK_ERR_SYSTEM, "%s: cannot be read: %s", folder, strerror(errno));
    while (!result && (entry = readdir(dir))) {
        char path[PATH_MAX];
        struct stat st;
        if (entry->d_name[0] == '.' ||
            (size_t)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= sizeof path)
            continue;
        if (is_recording(entry->d_name))
            result = nk_recordings_add(list, path);
        else if (depth < DEEPEST && !lstat(path, &st) && S_ISDIR(st.st_mode))
            walk(list, path, depth + 1, NULL);
    }
    closedir(dir);
    return result ? nk_fail(err, NK_ERR_MEMORY, "%s: not enough memory to list it", folder) : 0;
}

// When the process of a recording started, in nanoseconds; 0 when that cannot be read.
static uint64_t started(const char *path)
{
    struct nk_file file;
    struct nk_reader reader = {0};
    struct nk_record record;
    struct nk_rec_process process = {0};
    if (!nk_file_open(&file, path, NULL) && !nk_reader_open(&reader, file.bytes, path, NULL))
        while (!process.started && nk_reader_next(&reader, &record))
            if (record.type == NK_REC_PROCESS) nk_record_head(&record, &process, sizeof process);
    nk_reader_close(&reader);
    nk_file_close(&file);
    return process.started;
}

static int by_start(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    uint64_t p = started(*x), q = started(*y);
    return p != q ? (p < q ? -1 : 1) : strcmp(*x, *y);
}

int nk_recordings_add_folder(struct nk_recordings *list, const char *folder, struct nk_err *err)
{
    size_t before = list->count;
    if (walk(list, folder, 1, err)) return -1;
    if (list->count > before) qsort(list->path + before, list->count - before, sizeof *list->path, by_start);
    return 0;
}

static int by_change(const void *a, const void *b)
{
    struct stat x, y;
    const char *const *p = a, *const *q = b;
    if (stat(*p, &x) || stat(*q, &y)) return strcmp(*p, *q);
    if (x.st_mtim.tv_sec != y.st_mtim.tv_sec) return x.st_mtim.tv_sec < y.st_mtim.tv_sec ? -1 : 1;
    if (x.st_mtim.tv_nsec != y.st_mtim.tv_nsec) return x.st_mtim.tv_nsec < y.st_mtim.tv_nsec ? -1 : 1;
    return strcmp(*p, *q);
}

void nk_recordings_add_newest(struct nk_recordings *list, const char *folder, size_t most)
{
    struct nk_recordings all = {0};
    walk(&all, folder, 1, NULL);
    if (all.count) qsort(all.path, all.count, sizeof *all.path, by_change);
    for (size_t i = all.count > most ? all.count - most : 0; i < all.count; i++) nk_recordings_add(list, all.path[i]);
    nk_recordings_free(&all);
}

int nk_recordings_add_last(struct nk_recordings *list, struct nk_err *err)
{
    char folder[PATH_MAX];
    struct nk_recordings all = {0};
    if (nk_recordings_folder(folder, sizeof folder, err)) return -1;
    int result = access(folder, F_OK) ? 0 : walk(&all, folder, 1, err);
    if (!result && !all.count)
        result = nk_fail(err, NK_ERR_BAD_INPUT,
                         "%s: there is no recording in it yet; nokernel run -- PROGRAM makes one", folder);
    if (!result) {
        qsort(all.path, all.count, sizeof *all.path, by_change);
        char *path = all.path[all.count - 1], *slash = strrchr(path, '/');
        size_t size = (size_t)(slash - path);
        if (size == strlen(folder)) { // not of a `nokernel run`, which makes a folder of its own
            result = nk_recordings_add(list, path);
        } else {
            *slash = 0;
            result = nk_recordings_add_folder(list, path, err);
        }
    }
    nk_recordings_free(&all);
    return result;
}

void nk_recordings_free(struct nk_recordings *list)
{
    for (size_t i = 0; i < list->count; i++) free(list->path[i]);
    free(list->path);
    *list = (struct nk_recordings){0};
}
