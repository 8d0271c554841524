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

// Is one of the next 16 places one where `first` stands, and `last` so many bytes further?
static bool may_begin(const uint8_t *at, size_t further, uint8_t first, uint8_t last)
{
    sixteen begin, end;
    uint64_t half[2];
    memcpy(&begin, at, 16);
    memcpy(&end, at + further, 16);
    sixteen hits = (sixteen)((begin == first) & (end == last));
    memcpy(half, &hits, 16);
    return half[0] | half[1];
}

// Not memmem: glibc's is several times slower on the hundreds of MB that are searched here.
int64_t nk_bytes_find(struct nk_bytes view, uint64_t from, const void *needle, size_t size)
{
    const uint8_t *wanted = needle;
    if (!size || from > view.size || size > view.size - from) return -1;
    uint64_t last = view.size - size; // where it may begin at the latest
    for (uint64_t at = from; at <= last;) {
        bool many = at + 15 <= last;
        uint64_t stop = many ? at + 16 : last + 1;
        if (many && !may_begin(view.data + at, size - 1, wanted[0], wanted[size - 1])) at = stop;
        for (; at < stop; at++)
            if (view.data[at] == wanted[0] && !memcmp(view.data + at, wanted, size)) return (int64_t)at;
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
