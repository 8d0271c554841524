// read.c - all device code of one file.
#include "scan/read.h"
#include "image/fatbin.h"
#include "image/ptx.h"
#include "scan/box.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// ---- one container

static void read_box(struct nk_box *box, struct nk_box_tools *tools, const struct nk_found *found)
{
    struct nk_fatbin walk;
    struct nk_entry_view entry;
    nk_box_begin(box, found);
    if (nk_fatbin_begin(&walk, found->bytes, NULL))
        box->flags |= NK_FOUND_DAMAGED; // bytes between containers that are none
    else
        while (nk_fatbin_next(&walk, &entry, NULL) == 1) nk_box_image(box, &entry, tools);
    nk_box_close(box, tools);
}

static int result_of(const struct nk_scan_library *library, bool failed, uint64_t mismatch, int result,
                     struct nk_err *err)
{
    if (failed || library->failed) return nk_fail(err, NK_ERR_MEMORY, "not enough memory for what is in it");
    if (!mismatch) return result;
    return nk_fail(err, NK_ERR_BAD_INPUT,
                   "the beginnings of %llu images do not say the same as the whole images; please report that",
                   (unsigned long long)mismatch);
}

static int find_all(struct nk_scan_library *library, struct nk_bytes file, const struct nk_scan_how *how,
                    nk_found_fn each, void *user, struct nk_err *err)
{
    return how->mapped && !how->kernels ? nk_find_quickly(file, each, user, &library->unsearched, err)
                                        : nk_find_images(file, 0, each, user, err);
}

// ---- by one thread

struct alone {
    struct nk_box box;
    struct nk_box_tools tools;
    struct nk_scan_library *library;
};

// While the headers that the search has read are still in the processor's cache.
static int read_at_once(const struct nk_found *found, void *user)
{
    struct alone *alone = user;
    read_box(&alone->box, &alone->tools, found);
    nk_box_end(&alone->box, alone->library);
    return alone->library->failed;
}

static int read_alone(struct nk_scan_library *library, struct nk_bytes file, const struct nk_scan_how *how,
                      struct nk_err *err)
{
    struct alone alone = {.tools = {.how = how}, .library = library};
    int result = find_all(library, file, how, read_at_once, &alone, err);
    result = result_of(library, false, alone.tools.mismatch, result, err);
    nk_box_tools_free(&alone.tools);
    nk_box_free(&alone.box);
    return result;
}

// ---- by several threads, into the library in the order of the file

enum { RING = 256, MOST_THREADS = 64 };

// Job i is read into box[i % RING] once job i - RING is in the library.
struct jobs {
    struct nk_scan_library *library;
    const struct nk_scan_how *how;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct nk_found *found;
    size_t count, room, next, added;
    bool closed; // there will be no more jobs
    bool failed;
    bool adding; // a thread is at it
    uint64_t mismatch;
    struct nk_box box[RING];
    bool ready[RING];
};

static int collect(const struct nk_found *found, void *user)
{
    struct jobs *jobs = user;
    pthread_mutex_lock(&jobs->lock);
    struct nk_found *more = nk_scan_grow(jobs->found, jobs->count, &jobs->room, sizeof *more);
    if (more) {
        jobs->found = more;
        more[jobs->count++] = *found;
        pthread_cond_broadcast(&jobs->changed);
    } else {
        jobs->failed = true;
    }
    pthread_mutex_unlock(&jobs->lock);
    return more ? 0 : 1;
}

// Waits for a job; false when there will be none.
static bool take(struct jobs *jobs, size_t *job)
{
    while (jobs->next == jobs->added + RING || (jobs->next == jobs->count && !jobs->closed))
        pthread_cond_wait(&jobs->changed, &jobs->lock);
    *job = jobs->next;
    if (jobs->next == jobs->count) return false;
    jobs->next++;
    return true;
}

// Whoever has read a box adds all that are ready, unless another is at it. (A thread that did nothing else would be
// woken for each of them: on two processors that cost a tenth of the time.)
static void add_ready(struct jobs *jobs)
{
    if (jobs->adding) return;
    jobs->adding = true;
    while (jobs->ready[jobs->added % RING]) {
        size_t i = jobs->added % RING;
        pthread_mutex_unlock(&jobs->lock);
        nk_box_end(&jobs->box[i], jobs->library);
        pthread_mutex_lock(&jobs->lock);
        jobs->ready[i] = false;
        jobs->added++;
        pthread_cond_broadcast(&jobs->changed);
    }
    jobs->adding = false;
}

static void *work(void *user)
{
    struct jobs *jobs = user;
    struct nk_box_tools tools = {.how = jobs->how};
    pthread_mutex_lock(&jobs->lock);
    for (size_t job; take(jobs, &job);) {
        struct nk_found found = jobs->found[job];
        pthread_mutex_unlock(&jobs->lock);
        read_box(&jobs->box[job % RING], &tools, &found);
        pthread_mutex_lock(&jobs->lock);
        jobs->ready[job % RING] = true;
        add_ready(jobs);
    }
    jobs->mismatch += tools.mismatch;
    pthread_mutex_unlock(&jobs->lock);
    nk_box_tools_free(&tools);
    return NULL;
}

// The caller's thread searches while the others read already, then reads with them.
static int read_all(struct jobs *jobs, struct nk_bytes file, struct nk_err *err)
{
    pthread_t thread[MOST_THREADS];
    int threads = 0, wanted = jobs->how->threads < MOST_THREADS ? jobs->how->threads : MOST_THREADS;
    while (threads < wanted - 1 && !pthread_create(&thread[threads], NULL, work, jobs)) threads++;
    int result = find_all(jobs->library, file, jobs->how, collect, jobs, err);
    pthread_mutex_lock(&jobs->lock);
    jobs->closed = true;
    pthread_cond_broadcast(&jobs->changed);
    pthread_mutex_unlock(&jobs->lock);
    work(jobs);
    for (int i = 0; i < threads; i++) pthread_join(thread[i], NULL);
    return result_of(jobs->library, jobs->failed, jobs->mismatch, result, err);
}

static int read_together(struct nk_scan_library *library, struct nk_bytes file, const struct nk_scan_how *how,
                         struct nk_err *err)
{
    struct jobs *jobs = calloc(1, sizeof *jobs);
    if (!jobs) return nk_fail(err, NK_ERR_MEMORY, "not enough memory");
    jobs->library = library;
    jobs->how = how;
    pthread_mutex_init(&jobs->lock, NULL);
    pthread_cond_init(&jobs->changed, NULL);
    int result = read_all(jobs, file, err);
    pthread_cond_destroy(&jobs->changed);
    pthread_mutex_destroy(&jobs->lock);
    for (int i = 0; i < RING; i++) nk_box_free(&jobs->box[i]);
    free(jobs->found);
    free(jobs);
    return result;
}

int nk_scan_bytes(struct nk_scan_library *library, struct nk_bytes file, const struct nk_scan_how *how,
                  struct nk_err *err)
{
    library->kernels_read = how->kernels;
    library->size = file.size;
    bool alone = !how->kernels || how->threads < 2;
    int result = alone ? read_alone(library, file, how, err) : read_together(library, file, how, err);
    library->incomplete = result < 0;
    if (library->box_count) nk_scan_library_identify(library, file);
    return result;
}

// ---- what a file is

enum nk_scan_type nk_scan_type(struct nk_bytes first)
{
    static const struct {
        const char *bytes;
        size_t at, size;
        enum nk_scan_type type;
    } signs[] = {
        {"\177ELF", 0, 4, NK_SCAN_CODE},
        {"MZ", 0, 2, NK_SCAN_CODE},
        {"!<arch>\ndebian", 0, 14, NK_SCAN_ARCHIVE},
        {"!<arch>\n", 0, 8, NK_SCAN_CODE},
        {"!<thin>\n", 0, 8, NK_SCAN_CODE},
        {NK_FATBIN_KEY, 0, 8, NK_SCAN_CODE},
        {"PK\3\4", 0, 4, NK_SCAN_ARCHIVE},
        {"PK\5\6", 0, 4, NK_SCAN_ARCHIVE},
        {"\37\213\10", 0, 3, NK_SCAN_ARCHIVE},
        {"BZh", 0, 3, NK_SCAN_ARCHIVE},
        {"\3757zXZ\0", 0, 6, NK_SCAN_ARCHIVE},
        {"\x28\xb5\x2f\xfd", 0, 4, NK_SCAN_ARCHIVE},
        {"ustar", 257, 5, NK_SCAN_ARCHIVE},
    };
    struct nk_bytes part;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (nk_bytes_part(first, signs[i].at, signs[i].size, &part) && !memcmp(part.data, signs[i].bytes, part.size))
            return signs[i].type;
    return nk_ptx_looks(first) ? NK_SCAN_CODE : NK_SCAN_OTHER;
}
