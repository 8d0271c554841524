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

int nk_image_check_target(struct nk_entry_view *entry, struct nk_err *err)
{
    uint8_t head[NK_UNPACK_HEAD];
    size_t got = 0;
    struct nk_err own = {0};
    struct nk_image *image = &entry->image;
    bool ptx = image->kind == NK_KIND_PTX || image->kind == NK_KIND_PTX_LINK;
    if ((!ptx && image->kind != NK_KIND_CUBIN) || (image->flags & NK_IMAGE_BARE)) return 0;
    size_t wanted = ptx ? sizeof head : 64;
    int result = nk_unpack_head(entry, head, wanted, &got, &own);
    if (!result)
        result = ptx ? check_ptx(image, nk_bytes(head, got), &own) : check_cubin(image, nk_bytes(head, got), &own);
    if (result && own.code == NK_ERR_BAD_INPUT) image->flags |= NK_IMAGE_DAMAGED;
    if (result && err) *err = own;
    return result;
}
