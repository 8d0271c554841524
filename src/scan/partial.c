// partial.c - the beginning of an image, decoded as far as it is needed.
//
// The block functions of libzstd are used because the streaming ones keep a window of their own and copy out of it.
#define ZSTD_STATIC_LINKING_ONLY
#define ZSTD_DISABLE_DEPRECATE_WARNINGS
#include "scan/partial.h"
#include "image/unpack.h"

#include <lz4.h>
#include <stdlib.h>
#include <zstd.h>

#define FIRST (16u << 10) // bytes that LZ4 decodes at least: it starts anew each time

static bool within_bounds(const struct nk_entry_view *entry)
{
    uint64_t stored = entry->payload.size, size = entry->unpacked;
    bool lz4 = entry->image.codec == NK_CODEC_LZ4;
    if (size > NK_UNPACK_MAX || stored > INT32_MAX) return false;
    bool small = !lz4 && size <= NK_UNPACK_SMALL;
    return small || size / (lz4 ? NK_UNPACK_RATIO_LZ4 : NK_UNPACK_RATIO_ZSTD) <= stored;
}

bool nk_partial_begin(struct nk_partial *p, const struct nk_entry_view *entry)
{
    p->payload = entry->payload;
    p->codec = entry->image.codec;
    p->have = p->taken = 0;
    if (entry->image.flags & (NK_IMAGE_CONCATENATED | NK_IMAGE_SCRAMBLED)) return false;
    if (p->codec == NK_CODEC_NONE) {
        p->data = entry->payload.data;
        p->have = entry->part_size < entry->payload.size ? (size_t)entry->part_size : entry->payload.size;
        p->size = p->have;
        return true;
    }
    p->size = entry->unpacked;
    if (p->codec == NK_CODEC_UNKNOWN || !within_bounds(entry) || !nk_scratch_reserve(&p->memory, entry->unpacked))
        return false;
    p->data = p->memory.data;
    if (p->codec == NK_CODEC_LZ4) return true;
    if (!p->context) p->context = ZSTD_createDCtx();
    return p->context && !ZSTD_isError(ZSTD_decompressBegin(p->context));
}

static bool more_lz4(struct nk_partial *p, uint64_t want)
{
    uint64_t target = want > p->have * 4 ? want : p->have * 4;
    if (target < FIRST) target = FIRST;
    if (target > p->size) target = p->size;
    int got = LZ4_decompress_safe_partial((const char *)p->payload.data, (char *)p->memory.data, (int)p->payload.size,
                                          (int)target, (int)target);
    if (got == (int)target) p->have = (size_t)target; // less: a cut block, whose end liblz4 1.9.3 decodes wrongly
    return p->have >= want;
}

static bool more_zstd(struct nk_partial *p, uint64_t want)
{
    while (p->have < want) {
        size_t next = ZSTD_nextSrcSizeToDecompress(p->context);
        if (!next || next > p->payload.size - p->taken) return false;
        size_t got = ZSTD_decompressContinue(p->context, p->memory.data + p->have, (size_t)p->size - p->have,
                                             p->payload.data + p->taken, next);
        if (ZSTD_isError(got)) return false;
        p->taken += next;
        p->have += got;
    }
    return true;
}

bool nk_partial_more(struct nk_partial *p, uint64_t want)
{
    if (want <= p->have) return true;
    if (want > p->size || p->codec == NK_CODEC_NONE) return false;
    return p->codec == NK_CODEC_LZ4 ? more_lz4(p, want) : more_zstd(p, want);
}

void nk_partial_free(struct nk_partial *p)
{
    nk_scratch_free(&p->memory);
    ZSTD_freeDCtx(p->context);
    *p = (struct nk_partial){0};
}
