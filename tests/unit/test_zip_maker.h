// test_zip_maker.h - zip files made by hand: one stored member, one deflated, one link.
#ifndef NK_TEST_ZIP_MAKER_H
#define NK_TEST_ZIP_MAKER_H

#include "test_image_maker.h"

// 50 times "deflated ", as raw deflate (RFC 1951).
#define DEFLATED_BYTES "\x4b\x49\x4d\xcb\x49\x2c\x49\x4d\x51\x48\x19\x65\x0c\x4d\x06\x00"
enum { DEFLATED_SIZE = 450, DEFLATED_PACKED = 16 };

struct made_member {
    const char *name, *bytes;
    uint16_t method, flags, made_by;
    uint32_t packed, size, crc, mode;
};

static const struct made_member ordinary_members[] = {
    {"first.txt", "stored", 0, 0, 0, 6, 6, 0x5643f90b, 0},
    {"folder/", "", 0, 0, 0x31e, 0, 0, 0, 040755},
    {"second.so", DEFLATED_BYTES, 8, 0, 0x31e, DEFLATED_PACKED, DEFLATED_SIZE, 0xc4986272, 0100644},
    {"link.so", "first.txt", 0, 0, 0x31e, 9, 9, 0, 0120777},
};

static inline void put_common(struct nk_buf *buf, const struct made_member *m)
{
    put(buf, m->flags, 2);
    put(buf, m->method, 2);
    put(buf, 0, 4); // time and date
    put(buf, m->crc, 4);
}

static inline void put_entry(struct nk_buf *buf, const struct made_member *m, size_t at, bool large)
{
    put(buf, 0x02014b50, 4);
    put(buf, m->made_by, 2);
    put(buf, 20, 2);
    put_common(buf, m);
    put(buf, large ? UINT32_MAX : m->packed, 4);
    put(buf, large ? UINT32_MAX : m->size, 4);
    put(buf, strlen(m->name), 2);
    put(buf, large ? 28 : 0, 2);
    put(buf, 0, 2 + 2 + 2); // comment, disk, internal attributes
    put(buf, (uint64_t)m->mode << 16, 4);
    put(buf, large ? UINT32_MAX : at, 4);
    nk_buf_text(buf, m->name);
    if (!large) return;
    put(buf, 1 | 24 << 16, 4);
    put(buf, m->size, 8);
    put(buf, m->packed, 8);
    put(buf, at, 8);
}

static inline void put_end64(struct nk_buf *buf, size_t count, size_t start, size_t end)
{
    put(buf, 0x06064b50, 4);
    put(buf, 44, 8);
    put(buf, 45 | 45 << 16, 4);
    put(buf, 0, 8);
    put(buf, count, 8);
    put(buf, count, 8);
    put(buf, end - start, 8);
    put(buf, start, 8);
    put(buf, 0x07064b50, 4);
    put(buf, 0, 4);
    put(buf, end, 8);
    put(buf, 1, 4);
}

// With `large`, everything that may stand in the fields for files beyond 4 GB does.
static inline struct nk_buf make_zip(const struct made_member *members, size_t count, bool large)
{
    struct nk_buf buf = {0};
    size_t at[16];
    for (size_t i = 0; i < count; i++) {
        at[i] = buf.size;
        put(&buf, 0x04034b50, 4);
        put(&buf, 20, 2);
        put_common(&buf, &members[i]);
        put(&buf, members[i].packed, 4);
        put(&buf, members[i].size, 4);
        put(&buf, strlen(members[i].name), 2);
        put(&buf, 4, 2); // an extra field that the directory has not
        nk_buf_text(&buf, members[i].name);
        put(&buf, 0xcafe, 4);
        nk_buf_add(&buf, members[i].bytes, members[i].packed);
    }
    size_t start = buf.size;
    for (size_t i = 0; i < count; i++) put_entry(&buf, &members[i], at[i], large);
    size_t end = buf.size;
    if (large) put_end64(&buf, count, start, end);
    put(&buf, 0x06054b50, 4);
    put(&buf, 0, 4);
    put(&buf, large ? UINT16_MAX : count, 2);
    put(&buf, large ? UINT16_MAX : count, 2);
    put(&buf, large ? UINT32_MAX : end - start, 4);
    put(&buf, large ? UINT32_MAX : start, 4);
    put(&buf, 7, 2);
    nk_buf_text(&buf, "comment");
    return buf;
}

#endif
