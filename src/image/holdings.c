// holdings.c - which images of a container hold which kernels.
#include "image/holdings.h"
#include "base/table.h"

#include <stdlib.h>
#include <string.h>

struct nk_holding {
    uint64_t name; // its hash: the names themselves lie in images that are decoded one after the other
    uint64_t body; // bytes of machine code; 0 where PTX does not tell
    size_t image;
};

struct reading {
    struct nk_holdings *out;
    size_t image;
    uint16_t kind; // of that image
};

static int grow(struct nk_holdings *holdings)
{
    size_t room = holdings->room ? holdings->room * 2 : 64;
    struct nk_holding *held = nk_got(realloc(holdings->held, room * sizeof *held));
    if (!held) return -1;
    holdings->held = held;
    holdings->room = room;
    return 0;
}

static int add(const struct nk_kernel_view *kernel, void *user)
{
    struct reading *reading = user;
    struct nk_holdings *out = reading->out;
    if (out->count == out->room && grow(out)) return 1;
    out->held[out->count++] = (struct nk_holding){nk_hash_bytes(kernel->name.data, kernel->name.size),
                                                  nk_kernel_code(kernel, reading->kind), reading->image};
    return 0;
}

static int order(const void *left, const void *right)
{
    const struct nk_holding *a = left, *b = right;
    if (a->name != b->name) return a->name < b->name ? -1 : 1;
    return a->image < b->image ? -1 : a->image > b->image;
}

// 0 the end, -1 with a sentence, or 1: memory is short.
static int read_images(struct nk_holdings *out, struct nk_fatbin *walk, struct nk_err *err)
{
    struct nk_unpacked memory = {0};
    struct nk_entry_view entry;
    int result = 0, whole = 0;
    while (walk->images < out->n_images && whole <= 0 && (result = nk_fatbin_next(walk, &entry, err)) == 1) {
        struct reading reading = {out, entry.index, entry.image.kind};
        size_t before = out->count;
        whole = nk_image_kernels(&entry, &memory, NK_HOLDS_LIMIT, add, &reading, NULL);
        out->read[entry.index] = whole == 0;
        if (whole) out->count = before;
    }
    nk_unpack_free(&memory);
    return whole > 0 ? 1 : result < 0 ? -1 : 0;
}

int nk_holdings_read(struct nk_holdings *out, struct nk_bytes container, size_t n_images, struct nk_err *err)
{
    struct nk_fatbin walk;
    *out = (struct nk_holdings){0};
    if (nk_fatbin_begin(&walk, container, err)) return -1;
    out->read = nk_got(calloc(n_images ? n_images : 1, 1));
    out->n_images = out->read ? n_images : 0;
    int result = out->read ? read_images(out, &walk, err) : 1;
    if (result > 0) {
        nk_holdings_free(out);
        return nk_fail(err, NK_ERR_MEMORY, "no memory for the kernels of %zu images", n_images);
    }
    if (out->count) qsort(out->held, out->count, sizeof *out->held, order);
    return result;
}

// The first one of that name, or the end.
static size_t first_of(const struct nk_holdings *holdings, uint64_t name)
{
    size_t low = 0, high = holdings->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (holdings->held[middle].name < name)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void nk_holdings_of(const struct nk_holdings *holdings, const char *name, unsigned char holds[], size_t n_images)
{
    uint64_t hash = nk_hash_bytes(name, strlen(name)), largest = 0;
    size_t first = first_of(holdings, hash), end = first;
    for (size_t i = 0; i < n_images; i++)
        holds[i] = i < holdings->n_images && holdings->read[i] ? NK_KERNEL_ABSENT : NK_KERNEL_UNKNOWN;
    for (; end < holdings->count && holdings->held[end].name == hash; end++)
        if (holdings->held[end].body > largest) largest = holdings->held[end].body;
    for (size_t i = first; i < end;) {
        // PTX may declare a kernel before it defines it: the larger one counts.
        size_t image = holdings->held[i].image;
        uint64_t body = 0;
        for (; i < end && holdings->held[i].image == image; i++)
            if (holdings->held[i].body > body) body = holdings->held[i].body;
        if (image < n_images) holds[image] = nk_kernel_hollow(body, largest) ? NK_KERNEL_HOLLOW : NK_KERNEL_PRESENT;
    }
}

void nk_holdings_free(struct nk_holdings *holdings)
{
    free(holdings->held);
    free(holdings->read);
    *holdings = (struct nk_holdings){0};
}

int nk_container_holds(struct nk_bytes container, const char *name, unsigned char holds[], size_t n_images,
                       struct nk_err *err)
{
    struct nk_holdings holdings;
    int result = nk_holdings_read(&holdings, container, n_images, err);
    nk_holdings_of(&holdings, name, holds, n_images);
    nk_holdings_free(&holdings);
    return result;
}
