// bytes.c - bounded views of input.
#define _GNU_SOURCE
#include "base/bytes.h"

#include <string.h>

bool nk_bytes_part(struct nk_bytes view, uint64_t offset, uint64_t size, struct nk_bytes *out)
{
    if (!nk_bytes_holds(view, offset, size)) return false;
    // An empty view may have no data at all, and NULL + 0 is undefined.
    *out = nk_bytes(offset ? view.data + offset : view.data, (size_t)size);
    return true;
}

bool nk_bytes_from(struct nk_bytes view, uint64_t offset, struct nk_bytes *out)
{
    return offset <= view.size && nk_bytes_part(view, offset, view.size - offset, out);
}

bool nk_bytes_copy(struct nk_bytes view, uint64_t offset, void *out, size_t size)
{
    if (!nk_bytes_holds(view, offset, size)) return false;
    if (size) memcpy(out, view.data + offset, size);
    return true;
}

bool nk_bytes_u8(struct nk_bytes view, uint64_t offset, uint8_t *out) { return nk_bytes_copy(view, offset, out, 1); }
bool nk_bytes_u16(struct nk_bytes view, uint64_t offset, uint16_t *out) { return nk_bytes_copy(view, offset, out, 2); }
bool nk_bytes_u32(struct nk_bytes view, uint64_t offset, uint32_t *out) { return nk_bytes_copy(view, offset, out, 4); }
bool nk_bytes_u64(struct nk_bytes view, uint64_t offset, uint64_t *out) { return nk_bytes_copy(view, offset, out, 8); }

bool nk_bytes_string(struct nk_bytes view, uint64_t offset, struct nk_bytes *out)
{
    struct nk_bytes rest;
    if (!nk_bytes_from(view, offset, &rest) || !rest.size) return false;
    const uint8_t *end = memchr(rest.data, 0, rest.size);
    if (!end) return false;
    *out = nk_bytes(rest.data, (size_t)(end - rest.data));
    return true;
}

int64_t nk_bytes_find(struct nk_bytes view, uint64_t from, const void *needle, size_t size)
{
    struct nk_bytes rest;
    if (!nk_bytes_from(view, from, &rest) || !rest.size) return -1;
    const uint8_t *hit = memmem(rest.data, rest.size, needle, size);
    return hit ? (int64_t)(hit - view.data) : -1;
}

bool nk_bytes_starts(struct nk_bytes view, const void *prefix, size_t size)
{
    return view.size >= size && (!size || memcmp(view.data, prefix, size) == 0);
}

bool nk_bytes_equal(struct nk_bytes a, struct nk_bytes b)
{
    return a.size == b.size && (!a.size || memcmp(a.data, b.data, a.size) == 0);
}
