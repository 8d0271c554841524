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

// ---- all of them, in their order

enum { RING = 1024, MOST_THREADS = 64 };

struct jobs {
    struct nk_found *found;
    size_t count, room;
    struct nk_scan_library *library;
    const struct nk_scan_how *how;
    bool failed;
    // Only with threads, which start while the file is still searched. Job i is read into box[i % RING] once job i -
    // RING is in the library.
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread[MOST_THREADS];
    int threads;
    bool closed; // there will be no more jobs
    struct nk_box box[RING];
    bool ready[RING];
    size_t next, added;
    uint64_t mismatch;
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

static void alone(struct jobs *jobs)
{
    struct nk_box_tools tools = {.how = jobs->how};
    for (size_t i = 0; i < jobs->count && !jobs->library->failed; i++) {
        read_box(&jobs->box[0], &tools, &jobs->found[i]);
        nk_box_end(&jobs->box[0], jobs->library);
    }
    jobs->mismatch = tools.mismatch;
    nk_box_tools_free(&tools);
}

static void *work(void *user)
{
    struct jobs *jobs = user;
    struct nk_box_tools tools = {.how = jobs->how};
    pthread_mutex_lock(&jobs->lock);
    for (;;) {
        while (jobs->next == jobs->count && !jobs->closed) pthread_cond_wait(&jobs->changed, &jobs->lock);
        if (jobs->next == jobs->count) break;
        size_t i = jobs->next++;
        while (i >= jobs->added + RING) pthread_cond_wait(&jobs->changed, &jobs->lock);
        struct nk_found found = jobs->found[i];
        pthread_mutex_unlock(&jobs->lock);
        read_box(&jobs->box[i % RING], &tools, &found);
        pthread_mutex_lock(&jobs->lock);
        jobs->ready[i % RING] = true;
        pthread_cond_broadcast(&jobs->changed);
    }
    jobs->mismatch += tools.mismatch;
    pthread_mutex_unlock(&jobs->lock);
    nk_box_tools_free(&tools);
    return NULL;
}

// Adds what the threads have read, in the order of the file.
static void gather(struct jobs *jobs)
{
    pthread_mutex_lock(&jobs->lock);
    for (size_t i = 0; i < jobs->count; i++) {
        while (!jobs->ready[i % RING]) pthread_cond_wait(&jobs->changed, &jobs->lock);
        pthread_mutex_unlock(&jobs->lock);
        nk_box_end(&jobs->box[i % RING], jobs->library);
        pthread_mutex_lock(&jobs->lock);
        jobs->ready[i % RING] = false;
        jobs->added++;
        pthread_cond_broadcast(&jobs->changed);
    }
    pthread_mutex_unlock(&jobs->lock);
}

static void start(struct jobs *jobs)
{
    int wanted = jobs->how->kernels && jobs->how->threads > 1 ? jobs->how->threads : 0;
    if (wanted > MOST_THREADS) wanted = MOST_THREADS;
    while (jobs->threads < wanted && !pthread_create(&jobs->thread[jobs->threads], NULL, work, jobs)) jobs->threads++;
}

// Reads what was found, or waits for those who do.
static void finish(struct jobs *jobs)
{
    pthread_mutex_lock(&jobs->lock);
    jobs->closed = true;
    pthread_cond_broadcast(&jobs->changed);
    pthread_mutex_unlock(&jobs->lock);
    if (jobs->threads)
        gather(jobs);
    else
        alone(jobs);
    for (int i = 0; i < jobs->threads; i++) pthread_join(jobs->thread[i], NULL);
}

static int result_of(const struct jobs *jobs, int result, struct nk_err *err)
{
    if (jobs->failed || jobs->library->failed)
        return nk_fail(err, NK_ERR_MEMORY, "not enough memory for what is in it");
    if (!jobs->mismatch) return result;
    return nk_fail(err, NK_ERR_BAD_INPUT,
                   "the beginnings of %llu images do not say the same as the whole images; please report that",
                   (unsigned long long)jobs->mismatch);
}

int nk_scan_bytes(struct nk_scan_library *library, struct nk_bytes file, const struct nk_scan_how *how,
                  struct nk_err *err)
{
    struct jobs *jobs = calloc(1, sizeof *jobs);
    library->kernels_read = how->kernels;
    library->size = file.size;
    if (!jobs) return nk_fail(err, NK_ERR_MEMORY, "not enough memory");
    jobs->library = library;
    jobs->how = how;
    pthread_mutex_init(&jobs->lock, NULL);
    pthread_cond_init(&jobs->changed, NULL);
    start(jobs);
    int result = how->mapped && !how->kernels ? nk_find_quickly(file, collect, jobs, &library->unsearched, err)
                                              : nk_find_images(file, 0, collect, jobs, err);
    finish(jobs);
    result = result_of(jobs, result, err);
    pthread_cond_destroy(&jobs->changed);
    pthread_mutex_destroy(&jobs->lock);
    for (int i = 0; i < RING; i++) nk_box_free(&jobs->box[i]);
    free(jobs->found);
    free(jobs);
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
