// table.c - a hash table from a 64-bit key to a pointer: open addressing, linear probing, graves.
#include "base/table.h"
#include "base/err.h"

#include <stdlib.h>

static struct nk_table_slot *find(const struct nk_table *table, uint64_t key)
{
    if (!table->capacity) return NULL;
    size_t mask = table->capacity - 1, at = (size_t)nk_hash_u64(key) & mask;
    for (;; at = (at + 1) & mask) {
        struct nk_table_slot *slot = &table->slots[at];
        if (slot->value ? slot->key == key : !slot->grave) return slot;
    }
}

void *nk_table_get(const struct nk_table *table, uint64_t key)
{
    struct nk_table_slot *slot = find(table, key);
    return slot ? slot->value : NULL;
}

// Doubles when half of the slots hold values, else only sweeps the graves out.
static int grow(struct nk_table *table)
{
    struct nk_table next = {.capacity = table->capacity ? table->capacity : 16};
    if (table->count * 2 >= next.capacity) next.capacity *= 2;
    next.slots = nk_got(calloc(next.capacity, sizeof *next.slots));
    if (!next.slots) return -1;
    for (size_t i = 0; i < table->capacity; i++)
        if (table->slots[i].value) {
            *find(&next, table->slots[i].key) = (struct nk_table_slot){table->slots[i].key, table->slots[i].value, 0};
            next.count++;
        }
    next.used = next.count;
    free(table->slots);
    *table = next;
    return 0;
}

int nk_table_put(struct nk_table *table, uint64_t key, void *value)
{
    struct nk_table_slot *slot = find(table, key);
    if (slot && slot->value) {
        slot->value = value;
        return 0;
    }
    if ((table->used + 1) * 4 > table->capacity * 3) {
        if (grow(table)) return -1;
        slot = find(table, key);
    }
    *slot = (struct nk_table_slot){key, value, 0};
    table->used++;
    table->count++;
    return 0;
}

void *nk_table_remove(struct nk_table *table, uint64_t key)
{
    struct nk_table_slot *slot = find(table, key);
    void *value = slot ? slot->value : NULL;
    if (value) {
        *slot = (struct nk_table_slot){0, NULL, 1};
        table->count--;
    }
    return value;
}

void *nk_table_next(const struct nk_table *table, size_t *cursor, uint64_t *key)
{
    while (*cursor < table->capacity) {
        struct nk_table_slot *slot = &table->slots[(*cursor)++];
        if (!slot->value) continue;
        if (key) *key = slot->key;
        return slot->value;
    }
    return NULL;
}

void nk_table_free(struct nk_table *table)
{
    free(table->slots);
    *table = (struct nk_table){0};
}

uint64_t nk_hash_bytes(const void *data, size_t size)
{
    const unsigned char *p = data;
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++) h = (h ^ p[i]) * 0x100000001b3u;
    return nk_hash_u64(h);
}
