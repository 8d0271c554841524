// gather.c - lists the files of the operands and has them read, by several threads.
#define _GNU_SOURCE
#include "merge/gather.h"
#include "merge/contents.h"

#include <errno.h>
#include <ftw.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_THREADS = 8, OPEN_FOLDERS = 16 };

struct found {
    char *path;
    bool named;
    char *problems; // after it was read: sentences, or NULL
};

struct list {
    struct found *of;
    size_t count, room;
    bool failed;
};

// ---- the list

static void add(struct list *list, const char *path, bool named)
{
    if (list->count == list->room) {
        size_t room = list->room ? list->room * 2 : 256;
        struct found *more = realloc(list->of, room * sizeof *more);
        if (!more) {
            list->failed = true;
            return;
        }
        list->of = more;
        list->room = room;
    }
    struct found *f = &list->of[list->count];
    *f = (struct found){strdup(path), named, NULL};
    if (f->path)
        list->count++;
    else
        list->failed = true;
}

// What could not be listed is told like what could not be read.
static void add_problem(struct list *list, const char *path, int why)
{
    struct nk_buf line = {0}, told = {0};
    nk_buf_format(&line, "%s: %s", path, strerror(why));
    if (line.data) nk_merge_complain(&told, line.data);
    add(list, path, true);
    list->failed |= line.failed || told.failed;
    if (list->failed)
        nk_buf_free(&told);
    else
        list->of[list->count - 1].problems = told.data;
    nk_buf_free(&line);
}

static struct list *listing; // nftw knows no user

static int visit(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)at;
    if (type == FTW_F && S_ISREG(st->st_mode)) add(listing, path, false);
    if (type == FTW_DNR) add_problem(listing, path, EACCES);
    return listing->failed;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct found *)a)->path, ((const struct found *)b)->path);
}

static void list_operand(struct list *list, const char *path)
{
    struct stat st;
    size_t before = list->count;
    if (strcmp(path, "-") && stat(path, &st)) {
        add_problem(list, path, errno);
    } else if (!strcmp(path, "-") || !S_ISDIR(st.st_mode)) {
        add(list, path, true);
    } else {
        listing = list;
        // With a slash: a link to a folder that was named is followed.
        char *inside = NULL;
        bool slash = path[strlen(path) - 1] == '/';
        if (asprintf(&inside, "%s%s", path, slash ? "" : "/.") < 0) inside = NULL;
        if (!inside || nftw(inside, visit, OPEN_FOLDERS, FTW_PHYS) < 0) add_problem(list, path, errno);
        free(inside);
        if (list->count > before) qsort(list->of + before, list->count - before, sizeof *list->of, by_path);
    }
}

// ---- the threads

struct work {
    struct list *list;
    struct nk_merge *merge;
    pthread_mutex_t lock;
    atomic_size_t next, done;
    atomic_bool failed;
    atomic_ullong problems, foreign;
};

static void read_one(struct work *work, struct found *file)
{
    struct nk_merge_contents c = {.in = {work->merge, &work->lock, false}};
    nk_merge_file(&c, file->path, file->named);
    if (c.in.failed || c.problems.failed) work->failed = true;
    file->problems = c.problems.data;
    work->problems += c.problem_count;
    work->foreign += c.foreign;
}

static bool step(struct work *work)
{
    size_t at = work->next++;
    if (at >= work->list->count) return false;
    struct found *file = &work->list->of[at];
    if (file->problems)
        work->problems++;
    else
        read_one(work, file);
    work->done++;
    return true;
}

static void *run(void *work)
{
    while (step(work)) continue;
    return NULL;
}

static void read_all(struct work *work, const struct nk_merge_gather *gather)
{
    pthread_t thread[MOST_THREADS];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t others = processors > MOST_THREADS ? MOST_THREADS - 1 : processors > 1 ? (size_t)processors - 1 : 0;
    size_t started = 0;
    if (others >= work->list->count) others = work->list->count ? work->list->count - 1 : 0;
    while (started < others && !pthread_create(&thread[started], NULL, run, work)) started++;
    while (step(work))
        if (gather->progress) gather->progress(gather->user, work->done, work->list->count);
    for (size_t i = 0; i < started; i++) pthread_join(thread[i], NULL);
}

static void tell_all(const struct nk_merge_gather *gather, const struct list *list)
{
    for (size_t i = 0; i < list->count; i++)
        for (char *line = list->of[i].problems, *end; line && *line; line = end + 1) {
            end = strchr(line, '\n');
            *end = 0;
            gather->tell(gather->user, line);
        }
}

void nk_merge_gather(struct nk_merge_gather *gather, const char *const *paths, size_t count)
{
    struct list list = {0};
    struct work work = {.list = &list, .merge = gather->merge, .lock = PTHREAD_MUTEX_INITIALIZER};
    for (size_t i = 0; i < count && !list.failed; i++) list_operand(&list, paths[i]);
    if (!list.failed) read_all(&work, gather);
    tell_all(gather, &list);
    gather->problems += work.problems;
    gather->foreign += work.foreign;
    gather->failed |= list.failed || work.failed;
    for (size_t i = 0; i < list.count; i++) {
        free(list.of[i].path);
        free(list.of[i].problems);
    }
    free(list.of);
}
