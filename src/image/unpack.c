// unpack.c - the bytes of an image, decoded.
#include "image/unpack.h"

#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#define LLU(x)       (unsigned long long)(x)
#define HEAD_REACH   (16u << 20)
#define WINDOW_LIMIT 30 // log2 of NK_UNPACK_MAX: what libzstd may allocate for a window

static int check(const struct nk_entry_view *entry, uint64_t limit, struct nk_err *err)
{
    uint64_t stored = entry->payload.size, size = entry->unpacked;
    if (entry->image.flags & NK_IMAGE_SCRAMBLED)
        return nk_fail(err, NK_ERR_UNSUPPORTED,
                       "an image that can be decoded was expected, this one is scrambled LTO-IR");
    if (entry->image.codec == NK_CODEC_UNKNOWN)
        return nk_fail(err, NK_ERR_UNSUPPORTED, "an image stored, in LZ4 or in zstd was expected, its flags are 0x%llx",
                       LLU(entry->raw_flags));
    if (entry->image.codec == NK_CODEC_NONE) return 0;
    unsigned ratio = entry->image.codec == NK_CODEC_LZ4 ? NK_UNPACK_RATIO_LZ4 : NK_UNPACK_RATIO_ZSTD;
    if (!limit || limit > NK_UNPACK_MAX) limit = NK_UNPACK_MAX;
    if (size > limit)
        return nk_fail(err, NK_ERR_LIMIT, "an image of at most %llu bytes was expected, this one has %llu", LLU(limit),
                       LLU(size));
    bool small = entry->image.codec == NK_CODEC_ZSTD && size <= NK_UNPACK_SMALL;
    if (!small && size / ratio > stored)
        return nk_fail(err, NK_ERR_LIMIT,
                       "an image at most %u times its stored size was expected, this one has %llu from %llu bytes",
                       ratio, LLU(size), LLU(stored));
    if (stored > INT32_MAX)
        return nk_fail(err, NK_ERR_LIMIT, "at most 2 GB of compressed bytes were expected, these are %llu",
                       LLU(stored));
    return 0;
}

static int decode_lz4(struct nk_unpacked *unpacked, const struct nk_entry_view *entry, struct nk_err *err)
{
    int size = LZ4_decompress_safe((const char *)entry->payload.data, (char *)unpacked->memory.data,
                                   (int)entry->payload.size, (int)entry->unpacked);
    if (size < 0)
        return nk_fail(err, NK_ERR_BAD_INPUT, "the LZ4 block of %zu bytes is damaged: liblz4 stopped at byte %d",
                       entry->payload.size, -size - 1);
    if ((uint64_t)size != entry->unpacked)
        return nk_fail(err, NK_ERR_BAD_INPUT, "the LZ4 block was expected to hold %llu bytes, it holds %d",
                       LLU(entry->unpacked), size);
    return 0;
}

static int zstd_failed(size_t result, size_t stored, struct nk_err *err)
{
    // Want of memory is no damage: the image may be fine.
    bool memory = ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation;
    if (memory) return nk_fail(err, NK_ERR_MEMORY, "no memory to decode a zstd frame of %zu bytes", stored);
    return nk_fail(err, NK_ERR_BAD_INPUT, "the zstd frame of %zu bytes is damaged: %s", stored,
                   ZSTD_getErrorName(result));
}

static int decode_zstd(struct nk_unpacked *unpacked, const struct nk_entry_view *entry, struct nk_err *err)
{
    if (!unpacked->context) unpacked->context = ZSTD_createDCtx();
    if (!unpacked->context) return nk_fail(err, NK_ERR_MEMORY, "no memory for the zstd decoder");
    size_t size = ZSTD_decompressDCtx(unpacked->context, unpacked->memory.data, (size_t)entry->unpacked,
                                      entry->payload.data, entry->payload.size);
    if (ZSTD_isError(size)) return zstd_failed(size, entry->payload.size, err);
    if (size != entry->unpacked)
        return nk_fail(err, NK_ERR_BAD_INPUT, "the zstd frame was expected to hold %llu bytes, it holds %zu",
                       LLU(entry->unpacked), size);
    return 0;
}

static int decode(struct nk_unpacked *unpacked, const struct nk_entry_view *entry, struct nk_err *err)
{
    unpacked->size = 0;
    if (!nk_scratch_reserve(&unpacked->memory, entry->unpacked))
        return nk_fail(err, NK_ERR_MEMORY, "no memory for an image of %llu bytes", LLU(entry->unpacked));
    bool lz4 = entry->image.codec == NK_CODEC_LZ4;
    if (lz4 ? decode_lz4(unpacked, entry, err) : decode_zstd(unpacked, entry, err)) return -1;
    unpacked->size = (size_t)entry->unpacked;
    unpacked->payload = entry->payload;
    return 0;
}

int nk_unpack(struct nk_unpacked *unpacked, const struct nk_entry_view *entry, uint64_t limit, struct nk_err *err)
{
    unpacked->bytes = nk_bytes(NULL, 0);
    if (check(entry, limit, err)) return -1;
    struct nk_bytes all = entry->payload;
    if (entry->image.codec != NK_CODEC_NONE) {
        // Only the images of one concatenated entry come with the payload of the one before.
        bool again = (entry->image.flags & NK_IMAGE_CONCATENATED) && unpacked->size == entry->unpacked &&
                     unpacked->payload.data == all.data && unpacked->payload.size == all.size;
        if (!again && decode(unpacked, entry, err)) return -1;
        all = nk_bytes(unpacked->memory.data, unpacked->size);
    }
    if (!nk_bytes_part(all, entry->part, entry->part_size, &unpacked->bytes))
        return nk_fail(err, NK_ERR_BAD_INPUT, "an image of %llu bytes at %llu was expected inside %zu decoded bytes",
                       LLU(entry->part_size), LLU(entry->part), all.size);
    return 0;
}

void nk_unpack_free(struct nk_unpacked *unpacked)
{
    nk_scratch_free(&unpacked->memory);
    ZSTD_freeDCtx(unpacked->context);
    *unpacked = (struct nk_unpacked){0};
}

// ---- only the first bytes

static int head_lz4(struct nk_bytes payload, void *head, size_t size, size_t *got, struct nk_err *err)
{
    // Capacity and wish are the same: liblz4 then stops exactly there.
    int result = LZ4_decompress_safe_partial((const char *)payload.data, head, (int)payload.size, (int)size, (int)size);
    if (result < 0)
        return nk_fail(err, NK_ERR_BAD_INPUT, "the LZ4 block of %zu bytes is damaged: liblz4 stopped at byte %d",
                       payload.size, -result - 1);
    // A cut block: liblz4 1.9.3 puts its last literals in a wrong place, so what there is of it is not handed on.
    if ((size_t)result != size)
        return nk_fail(err, NK_ERR_BAD_INPUT, "the LZ4 block of %zu bytes was expected to hold %zu bytes, it holds %d",
                       payload.size, size, result);
    *got = size;
    return 0;
}

static int stream_zstd(ZSTD_DCtx *context, ZSTD_inBuffer *in, ZSTD_outBuffer *out, struct nk_err *err)
{
    while (out->pos < out->size) {
        size_t before_in = in->pos, before_out = out->pos;
        size_t result = ZSTD_decompressStream(context, out, in);
        if (ZSTD_isError(result)) return zstd_failed(result, in->size, err);
        if (!result || (in->pos == before_in && out->pos == before_out)) break;
    }
    return 0;
}

static int head_zstd(struct nk_bytes payload, void *head, size_t size, size_t *got, struct nk_err *err)
{
    ZSTD_DCtx *context = ZSTD_createDCtx();
    if (!context) return nk_fail(err, NK_ERR_MEMORY, "no memory for the zstd decoder");
    // A frame in one segment has a window as large as the image: the default limit of 128 MB refuses some.
    ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, WINDOW_LIMIT);
    ZSTD_inBuffer in = {payload.data, payload.size, 0};
    ZSTD_outBuffer out = {head, size, 0};
    int result = stream_zstd(context, &in, &out, err);
    *got = out.pos;
    ZSTD_freeDCtx(context);
    return result;
}

// The wanted bytes do not start the payload: decode all up to them, then keep the end.
static int head_of_part(const struct nk_entry_view *entry, void *head, size_t size, size_t *got, struct nk_err *err)
{
    struct nk_entry_view first = *entry;
    first.part = 0;
    first.part_size = entry->part + size;
    if (first.part_size > HEAD_REACH)
        return nk_fail(err, NK_ERR_LIMIT,
                       "a concatenated image within the first %u bytes was expected, this one is at %llu", HEAD_REACH,
                       LLU(entry->part));
    uint8_t *memory = nk_got(malloc((size_t)first.part_size));
    if (!memory) return nk_fail(err, NK_ERR_MEMORY, "no memory for %llu bytes", LLU(first.part_size));
    size_t all = 0;
    int result = nk_unpack_head(&first, memory, (size_t)first.part_size, &all, err);
    *got = all > entry->part ? all - (size_t)entry->part : 0;
    memcpy(head, memory + entry->part, *got);
    free(memory);
    return result;
}

int nk_unpack_head(const struct nk_entry_view *entry, void *head, size_t size, size_t *got, struct nk_err *err)
{
    *got = 0;
    if (check(entry, 0, err)) return -1;
    if (size > entry->part_size) size = (size_t)entry->part_size;
    if (!size) return 0;
    if (entry->image.codec == NK_CODEC_NONE) {
        if (!nk_bytes_copy(entry->payload, entry->part, head, size))
            return nk_fail(err, NK_ERR_BAD_INPUT, "%zu bytes at %llu were expected inside %zu stored ones", size,
                           LLU(entry->part), entry->payload.size);
        *got = size;
        return 0;
    }
    if (entry->part) return head_of_part(entry, head, size, got, err);
    if (entry->image.codec == NK_CODEC_LZ4) return head_lz4(entry->payload, head, size, got, err);
    return head_zstd(entry->payload, head, size, got, err);
}
