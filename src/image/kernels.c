// kernels.c - the kernels of an image by name, and which images of a container hold a given one.
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

// ---- one kernel in all images of a container

struct sought {
    struct nk_bytes name;
    uint16_t kind; // of the image
    bool found;
    uint64_t body;
};

static int compare(const struct nk_kernel_view *kernel, void *user)
{
    struct sought *sought = user;
    if (!nk_bytes_equal(kernel->name, sought->name)) return 0;
    // PTX: a declaration may come before the definition, so look on.
    uint64_t body = nk_kernel_code(kernel, sought->kind);
    if (body > sought->body || sought->kind != NK_KIND_CUBIN) sought->body = body;
    sought->found = true;
    return 0;
}

// bodies[i]: bytes of machine code of the kernel in image i; 0 where it is not, or where PTX does not tell.
static int look(struct nk_fatbin *walk, struct nk_bytes name, unsigned char holds[], uint64_t bodies[], size_t n_images,
                struct nk_err *err)
{
    struct nk_unpacked memory = {0};
    struct nk_entry_view entry;
    int result = 0;
    while (walk->images < n_images && (result = nk_fatbin_next(walk, &entry, err)) == 1) {
        struct sought sought = {.name = name, .kind = entry.image.kind};
        if (nk_image_kernels(&entry, &memory, NK_HOLDS_LIMIT, compare, &sought, NULL)) continue;
        holds[entry.index] = sought.found ? NK_KERNEL_PRESENT : NK_KERNEL_ABSENT;
        bodies[entry.index] = sought.body;
    }
    nk_unpack_free(&memory);
    return result < 0 ? -1 : 0;
}

static void mark_hollow(unsigned char holds[], const uint64_t bodies[], size_t n_images)
{
    uint64_t largest = 0;
    for (size_t i = 0; i < n_images; i++)
        if (bodies[i] > largest) largest = bodies[i];
    for (size_t i = 0; i < n_images; i++)
        if (holds[i] == NK_KERNEL_PRESENT && nk_kernel_hollow(bodies[i], largest)) holds[i] = NK_KERNEL_HOLLOW;
}

int nk_container_holds(struct nk_bytes container, const char *name, unsigned char holds[], size_t n_images,
                       struct nk_err *err)
{
    struct nk_fatbin walk;
    if (n_images) memset(holds, NK_KERNEL_UNKNOWN, n_images);
    if (nk_fatbin_begin(&walk, container, err)) return -1;
    uint64_t *bodies = nk_got(calloc(n_images ? n_images : 1, sizeof *bodies));
    if (!bodies) return nk_fail(err, NK_ERR_MEMORY, "no memory for the sizes of a kernel in %zu images", n_images);
    int result = look(&walk, nk_bytes(name, strlen(name)), holds, bodies, n_images, err);
    mark_hollow(holds, bodies, n_images);
    free(bodies);
    return result;
}
