// objects.c - which image a library, module, kernel or function handle came from.
#define _GNU_SOURCE
#include "objects.h"

#include "base/err.h"
#include "base/table.h"

#include <stdlib.h>
#include <string.h>

struct nk_handle {
    const void *handle;
    struct nk_handle *next;
};

// ---- the map that launches read: open addressing; one writer (the lock's holder), readers without a lock

struct slot {
    _Atomic(const void *) key; // set once, never changed: a grave keeps its key
    _Atomic(struct nk_kernel *) kernel;
};
struct map {
    size_t mask;
    unsigned shift; // of the product that spreads addresses over the slots
    struct slot slots[];
};
static _Atomic(struct map *) kernels;
static size_t kernel_keys; // keys in the current map, graves included

static inline struct slot *find(struct map *map, const void *key)
{
    // Fibonacci hashing: the upper bits of a product with 2^64 / golden ratio.
    for (size_t at = (size_t)((uintptr_t)key * 0x9e3779b97f4a7c15u >> map->shift);; at++) {
        struct slot *slot = &map->slots[at & map->mask];
        const void *there = atomic_load_explicit(&slot->key, memory_order_acquire);
        if (there == key || !there) return slot;
    }
}

struct nk_kernel *nk_kernel_of(const void *handle)
{
    struct map *map = atomic_load_explicit(&kernels, memory_order_acquire);
    return map ? atomic_load_explicit(&find(map, handle)->kernel, memory_order_acquire) : NULL;
}

// The old map is not freed: a reader may still be in it. The sizes double, so all old ones together are no larger than
// the current one.
static bool make_room(void)
{
    struct map *old = kernels;
    size_t capacity = old ? old->mask + 1 : 0;
    if (old && (kernel_keys + 1) * 2 <= capacity) return true;
    size_t next = capacity ? capacity * 2 : 1024;
    struct map *map = nk_got(calloc(1, sizeof *map + next * sizeof(struct slot)));
    if (!map) return false;
    map->mask = next - 1;
    map->shift = 64 - (unsigned)__builtin_ctzll(next);
    kernel_keys = 0;
    for (size_t i = 0; i < capacity; i++) {
        struct nk_kernel *kernel = old->slots[i].kernel;
        if (!kernel) continue;
        const void *key = old->slots[i].key;
        struct slot *slot = find(map, key);
        slot->kernel = kernel;
        slot->key = key;
        kernel_keys++;
    }
    atomic_store_explicit(&kernels, map, memory_order_release);
    return true;
}

static void link_handle(struct nk_container *container, const void *handle)
{
    struct nk_handle *node = container ? nk_got(malloc(sizeof *node)) : NULL;
    if (!node) return;
    *node = (struct nk_handle){handle, container->handles};
    container->handles = node;
}

void nk_bind_kernel(const void *handle, struct nk_kernel *kernel)
{
    if (!handle || !kernel || nk_kernel_of(handle) == kernel || !make_room()) return;
    struct slot *slot = find(kernels, handle);
    if (!slot->key) kernel_keys++;
    atomic_store_explicit(&slot->kernel, kernel, memory_order_release);
    atomic_store_explicit(&slot->key, handle, memory_order_release);
    link_handle(kernel->container, handle);
}

static void unbind_kernel(const void *handle, const struct nk_container *container)
{
    struct slot *slot = kernels ? find(kernels, handle) : NULL;
    struct nk_kernel *kernel = slot ? slot->kernel : NULL;
    if (kernel && kernel->container == container) atomic_store_explicit(&slot->kernel, NULL, memory_order_release);
}

// ---- containers and kernels

static struct nk_table containers_by_handle, containers_by_key, kernels_by_name;

struct nk_container *nk_container_of(const void *handle)
{
    return handle ? nk_table_get(&containers_by_handle, (uintptr_t)handle) : NULL;
}

struct nk_container *nk_container_get(uint64_t key, bool *created)
{
    struct nk_container *container = nk_table_get(&containers_by_key, key);
    if (created) *created = !container;
    if (container || !created) return container;
    container = nk_got(calloc(1, sizeof *container));
    if (!container || nk_table_put(&containers_by_key, key, container)) {
        free(container);
        return NULL;
    }
    container->key = key;
    return container;
}

struct nk_container *nk_container_refused_in(uintptr_t start, uintptr_t end)
{
    size_t cursor = 0;
    struct nk_container *container, *found = NULL;
    while ((container = nk_table_next(&containers_by_key, &cursor, NULL))) {
        uintptr_t code = (uintptr_t)container->code;
        if (!container->refused || code < start || code >= end) continue;
        if (found) return NULL;
        found = container;
    }
    return found;
}

struct nk_container *nk_container_next(size_t *cursor) { return nk_table_next(&containers_by_key, cursor, NULL); }

void nk_container_drop(struct nk_container *container)
{
    container->lives = false;
    nk_table_remove(&containers_by_key, container->key);
}

void nk_objects_reset(void)
{
    // What the tables pointed to stays allocated: another thread of the parent may have been using it.
    atomic_store(&kernels, NULL);
    kernel_keys = 0;
    containers_by_handle = containers_by_key = kernels_by_name = (struct nk_table){0};
}

struct nk_kernel *nk_kernel_get(struct nk_container *container, const char *name)
{
    // 64 bits of hash identify a name in a container: no table of ours holds more than some ten thousand of them.
    uint64_t key = nk_hash_bytes(name, strlen(name)) ^ nk_hash_u64((uintptr_t)container);
    struct nk_kernel *kernel = nk_table_get(&kernels_by_name, key);
    if (kernel) return kernel;
    kernel = nk_got(calloc(1, sizeof *kernel));
    char *copy = nk_got(strdup(name));
    if (!kernel || !copy || nk_table_put(&kernels_by_name, key, kernel)) {
        free(kernel);
        free(copy);
        return NULL;
    }
    kernel->name = copy;
    kernel->container = container;
    return kernel;
}

void nk_bind_container(const void *handle, struct nk_container *container)
{
    if (!handle || !container || nk_container_of(handle) == container) return;
    if (nk_table_put(&containers_by_handle, (uintptr_t)handle, container)) return;
    container->loads++;
}

void nk_unbind_container(const void *handle)
{
    struct nk_container *container = nk_table_remove(&containers_by_handle, (uintptr_t)handle);
    if (!container || --container->loads) return;
    while (container->handles) {
        struct nk_handle *node = container->handles;
        container->handles = node->next;
        unbind_kernel(node->handle, container);
        free(node);
    }
}
