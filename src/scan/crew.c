// crew.c - threads that do jobs, each as many as it can; who finds none reads ahead for a job that is being done.
#include "scan/crew.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK (256u << 10) // of what is read ahead: all of them together are about what a cache holds
enum { BLOCKS = 8, WAITING = 4096 };

struct slot {
    void *job;
    bool done;
};

struct nk_crew {
    const struct nk_crew_jobs *jobs;
    pthread_mutex_t lock; // of all here, and of the streams
    pthread_cond_t changed;
    struct slot slot[WAITING]; // of job i: slot[i % WAITING], until it is taken
    uint64_t begun, taken;     // jobs
    bool all;                  // there is no other job
    struct nk_ahead *streams;  // of the jobs that are being done
    struct nk_task *tasks;     // that nobody has begun
    int threads;
    struct nk_worker worker[NK_CREW_MOST];
};

struct nk_ahead {
    struct nk_crew *crew;
    const struct nk_worker *worker; // whose job reads
    struct nk_ahead *next;
    struct nk_stream stream;
    bool busy; // a thread is reading
    bool ended, stopped;
    int64_t last; // what `read` returned at the end: 0 or -1
    struct nk_err err;
    uint64_t filled, emptied; // blocks so far; block i lies in data[i % BLOCKS]
    size_t size[BLOCKS];
    size_t given;           // of the block that is being emptied
    uint8_t (*data)[BLOCK]; // once somebody reads ahead
};

// Functions that are called with the lock, and give it away for a while, say so.

// ---- tasks

// Gives the lock away.
static void do_task(struct nk_task *task, const struct nk_worker *worker)
{
    struct nk_crew *crew = worker->crew;
    struct nk_task **link = &crew->tasks;
    while (*link != task) link = &(*link)->next;
    *link = task->next;
    task->begun = true;
    pthread_mutex_unlock(&crew->lock);
    task->work(task->user, worker->number);
    pthread_mutex_lock(&crew->lock);
    task->done = true;
    pthread_cond_broadcast(&crew->changed);
}

// Does a task meanwhile, or waits for a change if there is none. Gives the lock away.
static void wait_busily(const struct nk_worker *worker)
{
    if (worker->crew->tasks)
        do_task(worker->crew->tasks, worker);
    else
        pthread_cond_wait(&worker->crew->changed, &worker->crew->lock);
}

bool nk_crew_offer(struct nk_crew *crew, struct nk_task *task)
{
    if (crew->threads < 2) return false;
    task->begun = task->done = false;
    task->next = NULL;
    pthread_mutex_lock(&crew->lock);
    struct nk_task **end = &crew->tasks;
    while (*end) end = &(*end)->next;
    *end = task;
    pthread_cond_broadcast(&crew->changed);
    pthread_mutex_unlock(&crew->lock);
    return true;
}

void nk_crew_finish(const struct nk_worker *worker, struct nk_task *task)
{
    struct nk_crew *crew = worker->crew;
    pthread_mutex_lock(&crew->lock);
    if (!task->begun) do_task(task, worker);
    while (!task->done) wait_busily(worker);
    pthread_mutex_unlock(&crew->lock);
}

// ---- streams

// Reads up to `size` bytes of the stream, which is busy; `full`: as many, unless it ends before. Gives the lock away.
static size_t read_on(struct nk_ahead *a, uint8_t *into, size_t size, bool full)
{
    size_t have = 0;
    int64_t got = 1;
    pthread_mutex_unlock(&a->crew->lock);
    do {
        got = a->stream.read(a->stream.user, into + have, size - have, &a->err);
        if (got > 0) have += (size_t)got;
    } while (full && got > 0 && have < size);
    pthread_mutex_lock(&a->crew->lock);
    a->ended = got <= 0;
    a->last = got < 0 ? -1 : 0;
    return have;
}

static size_t read_now(struct nk_ahead *a, uint8_t *into, size_t size)
{
    a->busy = true;
    size_t got = read_on(a, into, size, false);
    a->busy = false;
    pthread_cond_broadcast(&a->crew->changed);
    return got;
}

// Takes bytes that were read ahead. Gives the lock away.
static size_t take_bytes(struct nk_ahead *a, void *into, size_t size)
{
    size_t i = a->emptied % BLOCKS, left = a->size[i] - a->given;
    if (left > size) left = size;
    pthread_mutex_unlock(&a->crew->lock);
    memcpy(into, a->data[i] + a->given, left);
    pthread_mutex_lock(&a->crew->lock);
    a->given += left;
    if (a->given < a->size[i]) return left;
    a->emptied++;
    a->given = 0;
    pthread_cond_broadcast(&a->crew->changed);
    return left;
}

// Does something of use meanwhile, or waits. Gives the lock away.
static void wait_for_bytes(struct nk_ahead *a)
{
    pthread_mutex_unlock(&a->crew->lock);
    bool prepared = a->stream.prepare && a->stream.prepare(a->stream.user);
    pthread_mutex_lock(&a->crew->lock);
    if (!prepared && a->filled == a->emptied && a->busy) wait_busily(a->worker);
}

int64_t nk_ahead_read(void *user, void *into, size_t size, struct nk_err *err)
{
    struct nk_ahead *a = user;
    size_t got = 0;
    pthread_mutex_lock(&a->crew->lock);
    while (a->filled == a->emptied && a->busy) wait_for_bytes(a);
    if (a->filled > a->emptied)
        got = take_bytes(a, into, size);
    else if (!a->ended)
        got = read_now(a, into, size);
    pthread_mutex_unlock(&a->crew->lock);
    if (got) return (int64_t)got;
    if (a->last < 0 && err) *err = a->err;
    return a->last;
}

static bool has_room(const struct nk_ahead *a) { return !a->ended && a->filled < a->emptied + BLOCKS; }

// A stream that should be read ahead.
static struct nk_ahead *wanting(const struct nk_crew *crew)
{
    struct nk_ahead *a = crew->streams;
    while (a && (a->busy || !has_room(a))) a = a->next;
    return a;
}

// Reads ahead as far as there is room. The stream stays busy from block to block: if both threads took turns at reading
// it, each turn would cost the time in which the other wakes up. Gives the lock away.
static void read_ahead(struct nk_ahead *a)
{
    a->busy = true;
    while (has_room(a) && !a->stopped) {
        size_t i = a->filled % BLOCKS;
        a->size[i] = read_on(a, a->data[i], BLOCK, true);
        if (a->size[i]) a->filled++;
        pthread_cond_broadcast(&a->crew->changed);
    }
    a->busy = false;
    pthread_cond_broadcast(&a->crew->changed);
}

struct nk_ahead *nk_ahead_start(const struct nk_worker *worker, const struct nk_stream *stream)
{
    struct nk_crew *crew = worker->crew;
    struct nk_ahead *a = calloc(1, sizeof *a);
    if (!a) return NULL;
    a->data = malloc(BLOCKS * sizeof *a->data); // untouched, and so free, unless somebody reads ahead
    a->crew = crew;
    a->worker = worker;
    a->stream = *stream;
    if (!a->data) {
        free(a);
        return NULL;
    }
    pthread_mutex_lock(&crew->lock);
    struct nk_ahead **end = &crew->streams;
    while (*end) end = &(*end)->next;
    *end = a;
    pthread_cond_broadcast(&crew->changed);
    pthread_mutex_unlock(&crew->lock);
    return a;
}

void nk_ahead_stop(struct nk_ahead *a)
{
    if (!a) return;
    pthread_mutex_lock(&a->crew->lock);
    struct nk_ahead **link = &a->crew->streams;
    while (*link != a) link = &(*link)->next;
    *link = a->next;
    a->stopped = true;
    while (a->busy) pthread_cond_wait(&a->crew->changed, &a->crew->lock);
    pthread_mutex_unlock(&a->crew->lock);
    free(a->data);
    free(a);
}

// ---- jobs

// Does the next job. False when none may be begun now. Gives the lock away.
static bool do_job(const struct nk_worker *worker)
{
    struct nk_crew *crew = worker->crew;
    const struct nk_crew_jobs *jobs = crew->jobs;
    if (crew->all || crew->begun == crew->taken + WAITING) return false;
    void *job = jobs->next(jobs->user);
    if (!job) {
        crew->all = true;
        return false;
    }
    struct slot *slot = &crew->slot[crew->begun++ % WAITING];
    *slot = (struct slot){job, false};
    pthread_mutex_unlock(&crew->lock);
    jobs->work(jobs->user, job, worker);
    pthread_mutex_lock(&crew->lock);
    slot->done = true;
    for (; crew->taken < crew->begun && crew->slot[crew->taken % WAITING].done; crew->taken++)
        jobs->take(jobs->user, crew->slot[crew->taken % WAITING].job);
    pthread_cond_broadcast(&crew->changed);
    return true;
}

static void *work(void *user)
{
    const struct nk_worker *worker = user;
    struct nk_crew *crew = worker->crew;
    pthread_mutex_lock(&crew->lock);
    for (;;) {
        if (do_job(worker)) continue;
        struct nk_ahead *stream = wanting(crew);
        if (stream)
            read_ahead(stream);
        else if (crew->all && crew->taken == crew->begun)
            break;
        else
            wait_busily(worker);
    }
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

int nk_crew_run(const struct nk_crew_jobs *jobs, int threads, struct nk_err *err)
{
    pthread_t thread[NK_CREW_MOST];
    int others = 0;
    struct nk_crew *crew = calloc(1, sizeof *crew);
    if (!crew) return nk_fail(err, NK_ERR_MEMORY, "not enough memory");
    crew->jobs = jobs;
    pthread_mutex_init(&crew->lock, NULL);
    pthread_cond_init(&crew->changed, NULL);
    for (int i = 0; i < NK_CREW_MOST; i++) crew->worker[i] = (struct nk_worker){crew, i};
    crew->threads = threads < NK_CREW_MOST ? threads : NK_CREW_MOST;
    while (others + 1 < crew->threads && !pthread_create(&thread[others], NULL, work, &crew->worker[others + 1]))
        others++;
    work(&crew->worker[0]);
    while (others) pthread_join(thread[--others], NULL);
    pthread_cond_destroy(&crew->changed);
    pthread_mutex_destroy(&crew->lock);
    free(crew);
    return 0;
}
