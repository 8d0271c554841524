// target.c - what the first bytes of an image say about its target.
#include "image/target.h"
#include "image/cubin.h"
#include "image/ptx.h"
#include "image/unpack.h"

static int check_ptx(struct nk_image *image, struct nk_bytes text, struct nk_err *err)
{
    struct nk_ptx_head head;
    if (nk_ptx_read_head(text, &head, err)) return -1;
    if (head.arch != image->arch || head.suffix != image->suffix) image->flags |= NK_IMAGE_TARGET_LIED;
    if (head.debug) image->flags |= NK_IMAGE_DEBUG;
    image->arch = head.arch;
    image->suffix = head.suffix;
    image->isa_major = head.isa_major;
    image->isa_minor = head.isa_minor;
    return 0;
}

// Arch and suffix stay the entry's: they agreed in every cubin compared, and only the entry knows 'f'.
static int check_cubin(struct nk_image *image, struct nk_bytes head, struct nk_err *err)
{
    struct nk_cubin cubin;
    if (nk_cubin_open(&cubin, head, err)) return -1;
    image->flags &= ~(uint32_t)(NK_IMAGE_RELOCATABLE | NK_IMAGE_ABI8);
    if (cubin.relocatable) image->flags |= NK_IMAGE_RELOCATABLE;
    if (cubin.abi8) image->flags |= NK_IMAGE_ABI8;
    return 0;
}

static bool is_ptx(const struct nk_image *image)
{
    return image->kind == NK_KIND_PTX || image->kind == NK_KIND_PTX_LINK;
}

static bool is_told_by_head(const struct nk_image *image)
{
    return (is_ptx(image) || image->kind == NK_KIND_CUBIN) && !(image->flags & NK_IMAGE_BARE);
}

static int failed(struct nk_image *image, const struct nk_err *own, struct nk_err *err)
{
    if (own->code == NK_ERR_BAD_INPUT) image->flags |= NK_IMAGE_DAMAGED;
    if (err) *err = *own;
    return -1;
}

int nk_image_check_head(struct nk_image *image, struct nk_bytes head, struct nk_err *err)
{
    struct nk_err own = {0};
    if (!is_told_by_head(image)) return 0;
    int result = is_ptx(image) ? check_ptx(image, head, &own) : check_cubin(image, head, &own);
    return result ? failed(image, &own, err) : 0;
}

int nk_image_check_target(struct nk_entry_view *entry, struct nk_err *err)
{
    uint8_t head[NK_UNPACK_HEAD];
    size_t got = 0;
    struct nk_err own = {0};
    if (!is_told_by_head(&entry->image)) return 0;
    if (nk_unpack_head(entry, head, is_ptx(&entry->image) ? sizeof head : 64, &got, &own))
        return failed(&entry->image, &own, err);
    return nk_image_check_head(&entry->image, nk_bytes(head, got), err);
}
