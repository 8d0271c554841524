// bytes.c - bounded views of input.
#include "base/bytes.h"

#include <string.h>

bool nk_bytes_string(struct nk_bytes view, uint64_t offset, struct nk_bytes *out)
{
    struct nk_bytes rest;
    if (!nk_bytes_from(view, offset, &rest) || !rest.size) return false;
    const uint8_t *end = memchr(rest.data, 0, rest.size);
    if (!end) return false;
    *out = nk_bytes(rest.data, (size_t)(end - rest.data));
    return true;
}

typedef uint8_t sixteen __attribute__((vector_size(16)));

// Which of the 16 places from `at` on are such that `first` stands there, and `last` so many bytes further.
static sixteen may_begin(const uint8_t *at, size_t further, uint8_t first, uint8_t last)
{
    sixteen begin, end;
    memcpy(&begin, at, 16);
    memcpy(&end, at + further, 16);
    return (sixteen)((begin == first) & (end == last));
}

// The first place from `at` to `last` in whose 64 next ones it may begin. (16 at a time take three times as long.)
static uint64_t pass_over(struct nk_bytes view, uint64_t at, uint64_t last, struct nk_bytes wanted)
{
    size_t n = wanted.size - 1;
    uint8_t a = wanted.data[0], z = wanted.data[n];
    for (; at + 63 <= last; at += 64) {
        const uint8_t *p = view.data + at;
        sixteen hits = may_begin(p, n, a, z) | may_begin(p + 16, n, a, z) | may_begin(p + 32, n, a, z) |
                       may_begin(p + 48, n, a, z);
        uint64_t half[2];
        memcpy(half, &hits, 16);
        if (half[0] | half[1]) break;
    }
    return at;
}

// Not memmem: glibc's is several times slower on the hundreds of MB that are searched here.
int64_t nk_bytes_find(struct nk_bytes view, uint64_t from, const void *needle, size_t size)
{
    struct nk_bytes wanted = nk_bytes(needle, size);
    if (!size || from > view.size || size > view.size - from) return -1;
    uint64_t last = view.size - size; // where it may begin at the latest
    for (uint64_t at = from; at <= last;) {
        at = pass_over(view, at, last, wanted);
        for (uint64_t stop = at + 63 <= last ? at + 64 : last + 1; at < stop; at++)
            if (view.data[at] == wanted.data[0] && !memcmp(view.data + at, wanted.data, size)) return (int64_t)at;
    }
    return -1;
}

bool nk_bytes_starts(struct nk_bytes view, const void *prefix, size_t size)
{
    return view.size >= size && (!size || memcmp(view.data, prefix, size) == 0);
}

bool nk_bytes_equal(struct nk_bytes a, struct nk_bytes b)
{
    return a.size == b.size && (!a.size || memcmp(a.data, b.data, a.size) == 0);
}
