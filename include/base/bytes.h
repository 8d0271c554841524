// bytes.h - bounded views of input: the only way in which bytes of a file or of a foreign image are read.
//
// A view owns nothing and is valid as long as the memory behind it. Every reader checks its range without wrapping and
// returns false (leaving *out untouched) when the range does not lie wholly inside the view. Numbers are little-endian.
#ifndef NK_BASE_BYTES_H
#define NK_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct nk_bytes {
    const uint8_t *data;
    size_t size;
};

static inline struct nk_bytes nk_bytes(const void *data, size_t size) { return (struct nk_bytes){data, size}; }

// True when [offset, offset + size) lies inside the view.
static inline bool nk_bytes_holds(struct nk_bytes view, uint64_t offset, uint64_t size)
{
    return offset <= view.size && size <= view.size - offset;
}

// Inline: the readers of a library call these for every header and every symbol.

// The part [offset, offset + size) as a view of its own.
static inline bool nk_bytes_part(struct nk_bytes view, uint64_t offset, uint64_t size, struct nk_bytes *out)
{
    if (!nk_bytes_holds(view, offset, size)) return false;
    // An empty view may have no data at all, and NULL + 0 is undefined.
    *out = nk_bytes(offset ? view.data + offset : view.data, (size_t)size);
    return true;
}

// All from `offset` to the end (an empty view when offset is the end).
static inline bool nk_bytes_from(struct nk_bytes view, uint64_t offset, struct nk_bytes *out)
{
    return offset <= view.size && nk_bytes_part(view, offset, view.size - offset, out);
}

// Copies exactly `size` bytes, so that a little-endian struct can be read out of unaligned input.
static inline bool nk_bytes_copy(struct nk_bytes view, uint64_t offset, void *out, size_t size)
{
    if (!nk_bytes_holds(view, offset, size)) return false;
    if (size) memcpy(out, view.data + offset, size);
    return true;
}

static inline bool nk_bytes_u8(struct nk_bytes view, uint64_t at, uint8_t *out)
{
    return nk_bytes_copy(view, at, out, 1);
}
static inline bool nk_bytes_u16(struct nk_bytes view, uint64_t at, uint16_t *out)
{
    return nk_bytes_copy(view, at, out, 2);
}
static inline bool nk_bytes_u32(struct nk_bytes view, uint64_t at, uint32_t *out)
{
    return nk_bytes_copy(view, at, out, 4);
}
static inline bool nk_bytes_u64(struct nk_bytes view, uint64_t at, uint64_t *out)
{
    return nk_bytes_copy(view, at, out, 8);
}

// The NUL-terminated string at `offset`, without its NUL; false when no NUL comes before the end of the view.
bool nk_bytes_string(struct nk_bytes view, uint64_t offset, struct nk_bytes *out);
// Offset of the first `needle` at or after `from`, or -1.
int64_t nk_bytes_find(struct nk_bytes view, uint64_t from, const void *needle, size_t size);
bool nk_bytes_starts(struct nk_bytes view, const void *prefix, size_t size);
bool nk_bytes_equal(struct nk_bytes a, struct nk_bytes b);

#endif
