// table.h - a hash table from a 64-bit key to a pointer. One thread at a time.
//
// Start from `struct nk_table t = {0};`. The table owns its slots, never the values. Key 0 is a key like any other; a
// NULL value cannot be stored (it means "absent").
#ifndef NK_BASE_TABLE_H
#define NK_BASE_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct nk_table {
    struct nk_table_slot *slots;
    size_t capacity; // a power of two, or 0
    size_t used;     // slots with a value or a grave
    size_t count;    // values
};

struct nk_table_slot {
    uint64_t key;
    void *value; // NULL: free, or a grave when `grave`
    uint64_t grave;
};

void *nk_table_get(const struct nk_table *table, uint64_t key);
// Stores or replaces. 0, or -1 when memory is short (the table stays as it was).
int nk_table_put(struct nk_table *table, uint64_t key, void *value);
// Returns the value that was there, or NULL.
void *nk_table_remove(struct nk_table *table, uint64_t key);
// Walks: start with *cursor = 0; NULL at the end. Do not put or remove meanwhile.
void *nk_table_next(const struct nk_table *table, size_t *cursor, uint64_t *key);
void nk_table_free(struct nk_table *table);

// 64-bit hashes for keys: of bytes (FNV-1a, finished) and of a number.
uint64_t nk_hash_bytes(const void *data, size_t size);
static inline uint64_t nk_hash_u64(uint64_t x)
{
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    return x ^ (x >> 32);
}

#endif
