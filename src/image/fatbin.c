// fatbin.c - the images inside a fat binary container, from their headers alone.
//
// container: {u32 magic, u16 version 1, u16 header size 16, u64 bytes that follow}, then entries back to back.
// entry: a 64-byte header, an extension (name, options), the payload padded to 8 bytes. The next entry starts at
// header size + stored size; nothing else may be used to step.
#include "image/fatbin.h"
#include "image/cubin.h"
#include "image/elf.h"
#include "image/ptx.h"

#include <string.h>

struct raw_container {
    uint32_t magic;
    uint16_t version, header;
    uint64_t size;
};

struct raw_entry {
    uint16_t kind, version;
    uint32_t header; // bytes of header and extension; in a part of a concatenated entry: offset of the image
    uint64_t stored; // bytes of payload with padding; in a part: bytes of the image
    uint32_t packed; // bytes to give to the decoder
    uint32_t record; // offset of the option record {u32 offset, u32 size}, 0 none
    uint16_t minor, major;
    uint32_t arch;
    uint32_t name, name_size;
    uint64_t flags, unknown;
    uint64_t unpacked;
};

_Static_assert(sizeof(struct raw_container) == 16, "layout");
_Static_assert(sizeof(struct raw_entry) == 64, "layout");

#define ENTRY_VERSION  0x0101
#define FLAG_DEBUG     0x2u
#define FLAG_LZ4       0x2000u
#define FLAG_ZSTD      0x8000u
#define FLAG_SCRAMBLED 0x10000u
#define FLAG_SPECIFIC  0x100000u // the 'a' targets
#define FLAG_FAMILY    0x200000u // the 'f' targets

#define LLU(x) (unsigned long long)(x)

// ---- one header

static uint8_t codec_of(uint64_t flags)
{
    switch (flags & (FLAG_LZ4 | FLAG_ZSTD)) {
    case 0:
        return NK_CODEC_NONE;
    case FLAG_LZ4:
        return NK_CODEC_LZ4;
    case FLAG_ZSTD:
        return NK_CODEC_ZSTD;
    default:
        return NK_CODEC_UNKNOWN; // never seen together
    }
}

static uint16_t kind_of(const struct raw_entry *raw)
{
    if (raw->version != ENTRY_VERSION) return NK_KIND_UNKNOWN;
    switch (raw->kind) {
    case NK_KIND_PTX:
    case NK_KIND_CUBIN:
    case NK_KIND_LTO:
    case NK_KIND_PTX_LINK:
    case NK_KIND_CONCATENATED:
        return raw->kind;
    default:
        return NK_KIND_UNKNOWN;
    }
}

static struct nk_image image_of(const struct raw_entry *raw)
{
    struct nk_image image = {
        .kind = kind_of(raw),
        .arch = raw->arch <= UINT16_MAX ? (uint16_t)raw->arch : 0,
        .codec = codec_of(raw->flags),
        .isa_major = raw->major <= UINT8_MAX ? (uint8_t)raw->major : UINT8_MAX,
        .isa_minor = raw->minor <= UINT8_MAX ? (uint8_t)raw->minor : UINT8_MAX,
        .kernels = UINT32_MAX,
    };
    if (raw->flags & FLAG_SPECIFIC) image.suffix = 'a';
    if (raw->flags & FLAG_FAMILY) image.suffix = 'f';
    if (raw->flags & FLAG_DEBUG) image.flags |= NK_IMAGE_DEBUG;
    if (raw->flags & FLAG_SCRAMBLED) image.flags |= NK_IMAGE_SCRAMBLED;
    // Code version 1.7 goes with EI_ABIVERSION 7, 1.8 with 8, in every cubin compared.
    if (image.kind == NK_KIND_CUBIN && raw->major == 1 && raw->minor >= 8) image.flags |= NK_IMAGE_ABI8;
    return image;
}

// Name and options lie in the extension; `header` is the view of header and extension. 0, or -1 with a sentence.
static int read_texts(struct nk_bytes header, const struct raw_entry *raw, struct nk_entry_view *entry, uint64_t at,
                      struct nk_err *err)
{
    uint32_t offset = 0, size = 0;
    if (raw->name && !nk_bytes_part(header, raw->name, raw->name_size, &entry->name))
        return nk_fail(err, NK_ERR_BAD_INPUT,
                       "entry at 0x%llx: its name (%u bytes at %u) lies outside its header of %zu bytes", LLU(at),
                       raw->name_size, raw->name, header.size);
    if (!raw->record || raw->kind == NK_KIND_CONCATENATED) return 0;
    if (!nk_bytes_u32(header, raw->record, &offset) || !nk_bytes_u32(header, (uint64_t)raw->record + 4, &size) ||
        (size && !nk_bytes_part(header, offset, size, &entry->options)))
        return nk_fail(
            err, NK_ERR_BAD_INPUT,
            "entry at 0x%llx: its options (record at %u: %u bytes at %u) lie outside its header of %zu bytes", LLU(at),
            raw->record, size, offset, header.size);
    return 0;
}

// Trims the payload to what the decoder needs. 0, or -1 with a sentence.
static int read_payload(struct nk_bytes stored, const struct raw_entry *raw, struct nk_entry_view *entry, uint64_t at,
                        struct nk_err *err)
{
    bool packed = entry->image.codec != NK_CODEC_NONE;
    if (packed && (!raw->packed || !raw->unpacked))
        return nk_fail(err, NK_ERR_BAD_INPUT, "entry at 0x%llx: compressed, but its sizes are %u and %llu bytes",
                       LLU(at), raw->packed, LLU(raw->unpacked));
    if (packed && raw->packed > stored.size)
        return nk_fail(err, NK_ERR_BAD_INPUT, "entry at 0x%llx: %u compressed bytes were announced, %zu are stored",
                       LLU(at), raw->packed, stored.size);
    entry->payload = packed ? nk_bytes(stored.data, raw->packed) : stored;
    entry->unpacked = packed ? raw->unpacked : stored.size;
    entry->part_size = entry->unpacked;
    entry->image.size = entry->payload.size;
    return 0;
}

// ---- the walk

static int begin_bare(struct nk_fatbin *walk, struct nk_bytes view, struct nk_err *err)
{
    uint64_t extent = nk_elf_extent(view);
    if (!extent && !nk_ptx_looks(view)) {
        uint32_t magic = 0;
        nk_bytes_u32(view, 0, &magic);
        return nk_fail(err, NK_ERR_BAD_INPUT,
                       "a fat binary, a cubin or PTX text was expected, it starts with 0x%08x (%zu bytes)", magic,
                       view.size);
    }
    if (extent && extent < view.size) view.size = (size_t)extent;
    *walk = (struct nk_fatbin){.bytes = view, .claimed = extent ? extent : view.size, .bare = true};
    return 0;
}

int nk_fatbin_begin(struct nk_fatbin *walk, struct nk_bytes view, struct nk_err *err)
{
    struct raw_container raw;
    uint32_t magic = 0;
    *walk = (struct nk_fatbin){.ended = true};
    if (!nk_bytes_u32(view, 0, &magic) || magic != NK_FATBIN_MAGIC) return begin_bare(walk, view, err);
    if (!nk_bytes_copy(view, 0, &raw, sizeof raw))
        return nk_fail(err, NK_ERR_BAD_INPUT, "a fat binary header of 16 bytes was expected, only %zu bytes are there",
                       view.size);
    if (raw.version != 1)
        return nk_fail(err, NK_ERR_UNSUPPORTED, "a fat binary of version 1 was expected, this one is version %u",
                       raw.version);
    if (raw.header < sizeof raw || raw.header > view.size)
        return nk_fail(err, NK_ERR_BAD_INPUT, "a fat binary header of 16 bytes was expected, it says %u", raw.header);
    uint64_t claimed = raw.size <= UINT64_MAX - raw.header ? raw.size + raw.header : UINT64_MAX;
    if (claimed < view.size) view.size = (size_t)claimed;
    *walk = (struct nk_fatbin){.bytes = view, .claimed = claimed, .at = raw.header};
    return 0;
}

static int next_bare(struct nk_fatbin *walk, struct nk_entry_view *entry, struct nk_err *err)
{
    *entry =
        (struct nk_entry_view){.payload = walk->bytes, .unpacked = walk->bytes.size, .part_size = walk->bytes.size};
    walk->ended = true;
    bool text = !nk_bytes_starts(walk->bytes, "\177ELF", 4);
    if (text ? nk_ptx_image(walk->bytes, &entry->image, err) : nk_cubin_image(walk->bytes, &entry->image, err))
        return -1;
    entry->image.flags |= NK_IMAGE_BARE;
    entry->raw_kind = entry->image.kind;
    walk->images = 1;
    return 1;
}

// A concatenated entry (CUDA 13.4, --concat): its option record is {u32 count, u32 size}, then `count` part headers
// that fill `size - 8` bytes. 0, or -1 with a sentence.
static int begin_parts(struct nk_fatbin *walk, const struct nk_entry_view *whole, const struct raw_entry *raw,
                       uint64_t at, struct nk_err *err)
{
    uint32_t count = 0, size = 0;
    uint64_t record = at + raw->record;
    if (!raw->record || !nk_bytes_u32(walk->bytes, record, &count) || !nk_bytes_u32(walk->bytes, record + 4, &size) ||
        size < 8 || (uint64_t)raw->record + size > raw->header)
        return nk_fail(err, NK_ERR_BAD_INPUT,
                       "entry at 0x%llx: the list of its concatenated images (record at %u, %u bytes) lies outside its "
                       "header of %u bytes",
                       LLU(at), raw->record, size, raw->header);
    walk->whole = *whole;
    walk->parts = count;
    walk->part_at = record + 8;
    walk->part_end = record + size;
    return 0;
}

// Bytes of a part header: 64, or up to the end of its options and their NUL, rounded to 8.
static bool part_length(struct nk_bytes rest, const struct raw_entry *raw, uint64_t *length)
{
    uint32_t offset, size;
    *length = sizeof *raw;
    if (!raw->record) return true;
    if (!nk_bytes_u32(rest, raw->record, &offset) || !nk_bytes_u32(rest, (uint64_t)raw->record + 4, &size))
        return false;
    *length = offset + (((uint64_t)size + 8) & ~7ull);
    return *length >= sizeof *raw && *length <= rest.size;
}

static int next_part(struct nk_fatbin *walk, struct nk_entry_view *entry, struct nk_err *err)
{
    struct raw_entry raw;
    struct nk_bytes rest;
    uint64_t length, at = walk->part_at;
    walk->ended = true; // unless all is well
    if (!nk_bytes_part(walk->bytes, at, walk->part_end - at, &rest) || !nk_bytes_copy(rest, 0, &raw, sizeof raw) ||
        !part_length(rest, &raw, &length))
        return nk_fail(err, NK_ERR_BAD_INPUT, "concatenated image at 0x%llx: its header lies outside that of its entry",
                       LLU(at));
    *entry = walk->whole;
    entry->image = image_of(&raw);
    if (read_texts(nk_bytes(rest.data, (size_t)length), &raw, entry, at, err)) return -1;
    if (raw.header > walk->whole.unpacked || raw.stored > walk->whole.unpacked - raw.header)
        return nk_fail(err, NK_ERR_BAD_INPUT,
                       "concatenated image at 0x%llx: %llu bytes at %u lie outside the %llu bytes of its entry",
                       LLU(at), LLU(raw.stored), raw.header, LLU(walk->whole.unpacked));
    // A list inside a list was never seen and would have no end that we know.
    if (entry->image.kind == NK_KIND_CONCATENATED) entry->image.kind = NK_KIND_UNKNOWN;
    entry->image.codec = walk->whole.image.codec;
    entry->image.flags |= NK_IMAGE_CONCATENATED;
    entry->image.size = raw.stored;
    entry->part = raw.header;
    entry->part_size = raw.stored;
    entry->raw_flags = raw.flags;
    entry->raw_kind = raw.kind;
    walk->part_at += length;
    walk->parts--;
    walk->ended = false;
    return 1;
}

static int read_entry(struct nk_fatbin *walk, struct raw_entry *raw, struct nk_entry_view *entry, struct nk_err *err)
{
    struct nk_bytes header, stored;
    uint64_t at = walk->at, left = walk->bytes.size - at;
    if (!nk_bytes_copy(walk->bytes, at, raw, sizeof *raw))
        return nk_fail(err, NK_ERR_BAD_INPUT,
                       "entry at 0x%llx: a header of 64 bytes was expected, only %llu bytes are left", LLU(at),
                       LLU(left));
    // A header size of 0 would make the walk stand still.
    if (raw->header < sizeof *raw || !nk_bytes_part(walk->bytes, at, raw->header, &header))
        return nk_fail(err, NK_ERR_BAD_INPUT, "entry at 0x%llx: a header of 64 to %llu bytes was expected, it says %u",
                       LLU(at), LLU(left), raw->header);
    if (!nk_bytes_part(walk->bytes, at + raw->header, raw->stored, &stored))
        return nk_fail(err, NK_ERR_BAD_INPUT,
                       "entry at 0x%llx: its payload of %llu bytes does not fit into the %llu that are left", LLU(at),
                       LLU(raw->stored), LLU(left - raw->header));
    *entry = (struct nk_entry_view){.image = image_of(raw), .raw_flags = raw->flags, .raw_kind = raw->kind};
    if (read_payload(stored, raw, entry, at, err)) return -1;
    return read_texts(header, raw, entry, at, err);
}

// At the end of what is there: a container that was cut short says so, now that its whole images are handed out.
static int finish(struct nk_fatbin *walk, struct nk_err *err)
{
    walk->ended = true;
    if (walk->claimed == walk->bytes.size) return 0;
    return nk_fail(err, NK_ERR_BAD_INPUT, "a fat binary of %llu bytes was announced, only %zu are there",
                   LLU(walk->claimed), walk->bytes.size);
}

int nk_fatbin_next(struct nk_fatbin *walk, struct nk_entry_view *entry, struct nk_err *err)
{
    if (walk->ended) return 0;
    if (walk->bare) return next_bare(walk, entry, err);
    // An entry may hold an empty list, so look again after each.
    while (!walk->parts) {
        struct raw_entry raw;
        if (walk->at >= walk->bytes.size) return finish(walk, err);
        if (read_entry(walk, &raw, entry, err) ||
            (entry->image.kind == NK_KIND_CONCATENATED && begin_parts(walk, entry, &raw, walk->at, err))) {
            walk->ended = true;
            return -1;
        }
        walk->at += raw.header + raw.stored;
        if (entry->image.kind == NK_KIND_CONCATENATED) continue;
        entry->index = walk->images++;
        return 1;
    }
    int result = next_part(walk, entry, err);
    if (result == 1) entry->index = walk->images++;
    return result;
}
