// hash.h - a hash for names of kernels: a scan hashes hundreds of thousands of them, of 100 to 300 bytes each.
//
// Not for input that was made to collide, and nowhere stored: two names with one hash count as one.
#ifndef NK_SCAN_HASH_H
#define NK_SCAN_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t nk_scan_hash(const void *data, size_t size)
{
    const unsigned char *at = data;
    uint64_t h = 0x9e3779b97f4a7c15u ^ size, word;
    for (; size >= 8; size -= 8, at += 8) {
        memcpy(&word, at, 8);
        h = (h ^ word) * 0xff51afd7ed558ccdu;
        h ^= h >> 29;
    }
    word = 0;
    memcpy(&word, at, size);
    h = (h ^ word) * 0xc4ceb9fe1a85ec53u;
    return h ^ h >> 32;
}

#endif
