// own_malloc.c - a program that brings its own malloc, as many do: a simple one that never gives back, and that counts
// and shouts when it is entered again by the same thread. It launches a and b in several threads.
#define _GNU_SOURCE
#include "app.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

static _Atomic(char *) next, end;
static _Thread_local int inside;

static void *take(size_t size, size_t align)
{
    if (inside++) write(2, "malloc within malloc\n", 21);
    if (!atomic_load(&next)) {
        // One reservation; the first thread to come here is the only one: the loader's, before main.
        char *all =
            mmap(NULL, (size_t)4 << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        end = all + ((size_t)4 << 30);
        next = all;
    }
    size_t need = size + align + 16;
    char *at = atomic_fetch_add(&next, (need + 15) / 16 * 16) + 16;
    at += (align - (size_t)at % align) % align;
    ((size_t *)at)[-1] = size;
    inside--;
    return at;
}

void *malloc(size_t size) { return take(size, 16); }
void free(void *pointer) { (void)pointer; }
void *calloc(size_t count, size_t size) { return take(count * size, 16); } // fresh pages are zero
void *memalign(size_t align, size_t size) { return take(size, align < 16 ? 16 : align); }
void *aligned_alloc(size_t align, size_t size) { return memalign(align, size); }
int posix_memalign(void **out, size_t align, size_t size) { return *out = memalign(align, size), 0; }
void *realloc(void *old, size_t size)
{
    void *fresh = take(size, 16);
    size_t had = old ? ((size_t *)old)[-1] : 0;
    return had ? memcpy(fresh, old, had < size ? had : size) : fresh;
}

static void *work(void *unused)
{
    float *data = memory();
    for (int i = 0; i < 20; i++) {
        launch_a(data);
        launch_b(data);
    }
    return unused;
}

int main(void)
{
    pthread_t thread[4];
    for (int i = 0; i < 4; i++) pthread_create(&thread[i], NULL, work, NULL);
    for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
    say("done", 0);
    return 0;
}
