// hash.h - a hash for names of kernels: a scan hashes hundreds of thousands of them, of 100 to 300 bytes each.
//
// Not for input that was made to collide, and nowhere stored: two names with one hash count as one.
#ifndef NK_SCAN_HASH_H
#define NK_SCAN_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

// The product of two words, folded: every bit of it depends on all bits of both, so that what differs in two places
// does not cancel out.
static inline uint64_t nk_scan_fold(uint64_t a, uint64_t b)
{
    __extension__ unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t nk_scan_mix(uint64_t h, uint64_t key, const unsigned char *at)
{
    uint64_t word[2];
    memcpy(word, at, 16);
    return nk_scan_fold(word[0] ^ key, word[1] ^ h);
}

static inline uint64_t nk_scan_hash(const void *data, size_t size)
{
    const unsigned char *at = data;
    unsigned char last[16] = {0};
    const uint64_t k0 = 0x9e3779b97f4a7c15u, k1 = 0xff51afd7ed558ccdu, k2 = 0xc4ceb9fe1a85ec53u;
    uint64_t h = k0 ^ size, other = k1 ^ size;
    // Two at a time that need not wait for each other.
    for (; size >= 32; size -= 32, at += 32) {
        h = nk_scan_mix(h, k1, at);
        other = nk_scan_mix(other, k2, at + 16);
    }
    h ^= other;
    if (size >= 16) {
        h = nk_scan_mix(h, k1, at);
        size -= 16, at += 16;
    }
    memcpy(last, at, size);
    return nk_scan_fold(nk_scan_mix(h, k2, last), k0);
}

#endif
