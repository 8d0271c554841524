// kernels.c - the kernels of an image by name.
#include "image/kernels.h"
#include "image/cubin.h"
#include "image/ptx.h"

#include <stdlib.h>
#include <string.h>

// ---- the kernels of one image

static int cubin_kernels(struct nk_bytes bytes, nk_kernel_fn each, void *user, struct nk_err *err)
{
    struct nk_cubin cubin;
    struct nk_cubin_kernels walk;
    struct nk_cubin_kernel kernel;
    int result, stop = 0;
    if (nk_cubin_open(&cubin, bytes, err) || nk_cubin_kernels_begin(&cubin, &walk, err)) return -1;
    while (!stop && (result = nk_cubin_kernels_next(&walk, &kernel, err)) != 0) {
        if (result < 0) return -1;
        stop = each(&(struct nk_kernel_view){.name = kernel.name, .body = kernel.size, .local = kernel.local}, user);
    }
    return stop;
}

static bool is_blank(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static struct nk_bytes without_blanks(struct nk_bytes text)
{
    while (text.size && is_blank(text.data[0])) text = nk_bytes(text.data + 1, text.size - 1);
    while (text.size && is_blank(text.data[text.size - 1])) text.size--;
    return text;
}

static int ptx_kernels(struct nk_bytes text, nk_kernel_fn each, void *user, struct nk_err *err)
{
    struct nk_ptx_head head;
    struct nk_ptx_entries walk;
    struct nk_ptx_entry entry;
    int stop = 0;
    if (nk_ptx_read_head(text, &head, err)) return -1;
    nk_ptx_entries_begin(&walk, text);
    while (!stop && nk_ptx_entries_next(&walk, &entry)) {
        struct nk_bytes body = without_blanks(entry.body);
        bool bare = entry.body.data && (!body.size || nk_bytes_equal(body, nk_bytes("ret;", 4)));
        stop = each(&(struct nk_kernel_view){.name = entry.name, .body = body.size, .bare_return = bare}, user);
    }
    return stop;
}

int nk_image_kernels(const struct nk_entry_view *entry, struct nk_unpacked *memory, uint64_t limit, nk_kernel_fn each,
                     void *user, struct nk_err *err)
{
    uint16_t kind = entry->image.kind;
    if (kind != NK_KIND_CUBIN && kind != NK_KIND_PTX && kind != NK_KIND_PTX_LINK)
        return nk_fail(err, NK_ERR_UNSUPPORTED, "a cubin or PTX was expected, this image is of kind 0x%x",
                       entry->raw_kind);
    if (nk_unpack(memory, entry, limit, err)) return -1;
    if (kind == NK_KIND_CUBIN) return cubin_kernels(memory->bytes, each, user, err);
    return ptx_kernels(memory->bytes, each, user, err);
}
