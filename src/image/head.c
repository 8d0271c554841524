// head.c - what a program handed to the driver, told from its first bytes.
#include "image/head.h"
#include "image/elf.h"
#include "image/fatbin.h"

// A whole view of PTX is not at hand, so blanks, then ".version" or the start of a comment, have to do.
static bool starts_like_ptx(struct nk_bytes first)
{
    uint8_t c;
    uint64_t at = 0;
    while (nk_bytes_u8(first, at, &c) && (c == ' ' || (c >= '\t' && c <= '\r'))) at++;
    struct nk_bytes rest;
    if (!nk_bytes_from(first, at, &rest) || !rest.size) return false;
    return nk_bytes_starts(rest, ".version", 8) || nk_bytes_starts(rest, "//", 2) || nk_bytes_starts(rest, "/*", 2);
}

static struct nk_image_head wrapper(struct nk_bytes first)
{
    struct nk_image_head head = {.kind = NK_HEAD_WRAPPER};
    nk_bytes_u32(first, 4, &head.version);
    nk_bytes_u64(first, 8, &head.data);
    if (head.version == 2) nk_bytes_u64(first, 16, &head.prelinked);
    return head;
}

struct nk_image_head nk_image_from_memory_head(struct nk_bytes first)
{
    struct nk_image_head head = {.kind = NK_HEAD_UNKNOWN};
    struct nk_fatbin walk;
    uint32_t magic = 0;
    nk_bytes_u32(first, 0, &magic);
    if (magic == NK_WRAPPER_MAGIC && first.size >= 24) return wrapper(first);
    if (magic == NK_FATBIN_MAGIC && !nk_fatbin_begin(&walk, first, NULL)) {
        head.kind = NK_HEAD_CONTAINER;
        head.size = walk.claimed;
    } else if ((head.size = nk_elf_extent(first)) > 0) {
        head.kind = NK_HEAD_ELF;
    } else if (starts_like_ptx(first)) {
        head.kind = NK_HEAD_PTX;
    }
    return head;
}
