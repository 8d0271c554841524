// ahead.c - a stream that is read ahead: a ring of blocks, filled by one thread and emptied by another.
#include "scan/ahead.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK (1u << 20)
enum { BLOCKS = 8 };

struct nk_ahead {
    nk_stream_read read;
    void *user;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t filled, emptied; // blocks so far; block i lies in data[i % BLOCKS]
    size_t size[BLOCKS];
    size_t taken; // of the block that is being emptied
    bool ended, stopped;
    int64_t last; // what `read` returned at the end: 0 or -1
    struct nk_err err;
    uint8_t data[BLOCKS][BLOCK];
};

// Fills a block as far as the stream goes. False at its end.
static bool fill(struct nk_ahead *a, uint8_t *data, size_t *size)
{
    for (*size = 0; *size < BLOCK;) {
        int64_t got = a->read(a->user, data + *size, BLOCK - *size, &a->err);
        a->last = got < 0 ? -1 : 0;
        if (got <= 0) return false;
        *size += (size_t)got;
    }
    return true;
}

static void *work(void *user)
{
    struct nk_ahead *a = user;
    bool more = true;
    while (more) {
        pthread_mutex_lock(&a->lock);
        while (a->filled == a->emptied + BLOCKS && !a->stopped) pthread_cond_wait(&a->changed, &a->lock);
        size_t i = a->filled % BLOCKS, size = 0;
        bool stopped = a->stopped;
        pthread_mutex_unlock(&a->lock);
        if (stopped) break;
        more = fill(a, a->data[i], &size);
        pthread_mutex_lock(&a->lock);
        a->size[i] = size;
        a->filled++;
        a->ended = !more;
        pthread_cond_signal(&a->changed);
        pthread_mutex_unlock(&a->lock);
    }
    return NULL;
}

struct nk_ahead *nk_ahead_start(nk_stream_read read, void *user)
{
    struct nk_ahead *a = malloc(sizeof *a);
    if (!a) return NULL;
    memset(a, 0, offsetof(struct nk_ahead, data));
    a->read = read;
    a->user = user;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
    if (!pthread_create(&a->thread, NULL, work, a)) return a;
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    free(a);
    return NULL;
}

int64_t nk_ahead_read(void *user, void *into, size_t size, struct nk_err *err)
{
    struct nk_ahead *a = user;
    pthread_mutex_lock(&a->lock);
    while (a->filled == a->emptied && !a->ended) pthread_cond_wait(&a->changed, &a->lock);
    bool any = a->filled != a->emptied;
    size_t i = a->emptied % BLOCKS, left = any ? a->size[i] - a->taken : 0;
    pthread_mutex_unlock(&a->lock);
    if (left > size) left = size;
    if (left) memcpy(into, a->data[i] + a->taken, left);
    a->taken += left;
    if (any && a->taken == a->size[i]) {
        pthread_mutex_lock(&a->lock);
        a->emptied++;
        a->taken = 0;
        pthread_cond_signal(&a->changed);
        pthread_mutex_unlock(&a->lock);
    }
    if (left) return (int64_t)left;
    if (any) return nk_ahead_read(user, into, size, err); // an empty block: the last
    if (a->last < 0 && err) *err = a->err;
    return a->last;
}

void nk_ahead_stop(struct nk_ahead *a)
{
    if (!a) return;
    pthread_mutex_lock(&a->lock);
    a->stopped = true;
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->lock);
    pthread_join(a->thread, NULL);
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    free(a);
}
