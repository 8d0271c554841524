// box.c - one container being read: its images, the kernels in them, and what is the same about several kernels.
#include "scan/box.h"
#include "image/kernels.h"
#include "scan/bodies.h"
#include "scan/hash.h"

#include <stdlib.h>
#include <string.h>

void nk_box_begin(struct nk_box *box, const struct nk_found *found)
{
    box->offset = found->offset;
    box->kind = found->kind;
    box->flags = found->flags;
    box->section = found->section;
    box->member = found->member;
    box->image_count = box->body_count = box->name_count = box->late_count = 0;
    box->unread = false;
    nk_buf_clear(&box->texts);
    nk_table_free(&box->by_name);
}

void nk_box_image(struct nk_box *box, struct nk_entry_view *entry, struct nk_box_tools *tools)
{
    struct nk_image *images = nk_scan_grow(box->images, box->image_count, &box->image_room, sizeof *images);
    if (!images) {
        box->failed = true;
        return;
    }
    box->images = images;
    nk_bodies_target(entry, tools);
    images[box->image_count++] = entry->image;
    nk_bodies_read(box, entry, tools);
}

static int by_kernel(const void *a, const void *b)
{
    const struct nk_box_body *x = a, *y = b;
    if (x->kernel != y->kernel) return x->kernel < y->kernel ? -1 : 1;
    return x->image < y->image ? -1 : x->image > y->image;
}

void nk_box_close(struct nk_box *box, struct nk_box_tools *tools)
{
    nk_bodies_late(box, tools);
    // Images come one after another, so the bodies are in the order of images; wanted is that of kernels.
    if (box->body_count) qsort(box->bodies, box->body_count, sizeof *box->bodies, by_kernel);
}

// ---- shapes

// Only what a verdict looks at.
static struct nk_image essence(const struct nk_image *image)
{
    struct nk_image e = {0};
    e.kind = image->kind;
    e.arch = image->arch;
    e.suffix = image->suffix;
    e.codec = image->codec;
    e.isa_major = image->kind == NK_KIND_CUBIN ? 0 : image->isa_major;
    e.isa_minor = image->kind == NK_KIND_CUBIN ? 0 : image->isa_minor;
    e.flags = image->flags & (NK_IMAGE_TARGET_LIED | NK_IMAGE_SCRAMBLED | NK_IMAGE_DAMAGED | NK_IMAGE_ABI8);
    e.kernels = 1;
    return e;
}

// The number of the shape in the library, or -1 when memory is short.
static int64_t shape_of(struct nk_scan_library *library, const struct nk_image *images, const unsigned char *holds,
                        size_t count, uint64_t key)
{
    size_t number = (size_t)(uintptr_t)nk_table_get(&library->by_shape, key);
    if (number) return (int64_t)number - 1;
    struct nk_scan_shape *shapes =
        nk_scan_grow(library->shapes, library->shape_count, &library->shape_room, sizeof *shapes);
    if (!shapes) return -1;
    library->shapes = shapes;
    size_t first = library->shape_image_count;
    for (size_t i = 0; i < count; i++) {
        struct nk_image *all = nk_scan_grow(library->shape_images, first + i, &library->shape_image_room, sizeof *all);
        if (all) library->shape_images = all;
        unsigned char *held = nk_scan_grow(library->holds, first + i, &library->hold_room, 1);
        if (held) library->holds = held;
        if (!all || !held) return -1;
        all[first + i] = images[i];
        held[first + i] = holds[i];
    }
    if (nk_table_put(&library->by_shape, key, (void *)(uintptr_t)(library->shape_count + 1))) return -1;
    library->shape_image_count += count;
    shapes[library->shape_count] = (struct nk_scan_shape){first, count, 0};
    return (int64_t)library->shape_count++;
}

// A container that is damaged may have held an image for any GPU: one of which nothing is known stands for those, so
// that no kernel of it is said to have no image.
static const struct nk_image lost_image = {.kind = NK_KIND_CUBIN, .kernels = UINT32_MAX};

// holds[] of the kernel whose bodies these are.
static void fill_holds(const struct nk_box *box, const struct nk_box_body *bodies, size_t count, unsigned char *holds)
{
    uint64_t largest = 0;
    for (size_t i = 0; i < box->image_count; i++)
        holds[i] = box->images[i].kernels == UINT32_MAX ? NK_KERNEL_UNKNOWN : NK_KERNEL_ABSENT;
    for (size_t i = 0; i < count; i++)
        if (bodies[i].size > largest) largest = bodies[i].size;
    for (size_t i = 0; i < count; i++) {
        bool hollow = nk_kernel_hollow(bodies[i].size, largest);
        holds[bodies[i].image] = hollow ? NK_KERNEL_HOLLOW : NK_KERNEL_PRESENT;
    }
}

// The number of a name in the library, or -1 when memory is short.
static int64_t name_of(struct nk_scan_library *library, const char *name)
{
    size_t size = strlen(name);
    uint64_t key = nk_scan_hash(name, size);
    size_t number = (size_t)(uintptr_t)nk_table_get(&library->by_name, key);
    if (number) return (int64_t)number - 1;
    size_t *names = nk_scan_grow(library->names, library->name_count, &library->name_room, sizeof *names);
    if (!names) return -1;
    library->names = names;
    names[library->name_count] = nk_scan_add_text(library, nk_bytes(name, size));
    if (nk_table_put(&library->by_name, key, (void *)(uintptr_t)(library->name_count + 1))) return -1;
    return (int64_t)library->name_count++;
}

static uint64_t real_bodies(const struct nk_box *box, const struct nk_box_body *bodies, size_t count)
{
    uint64_t real = 0;
    for (size_t i = 0; i < count; i++)
        if (bodies[i].image < 64 && nk_kernel_real(bodies[i].size, box->images[bodies[i].image].kind))
            real |= 1ull << bodies[i].image;
    return real;
}

// bodies: `count` of one kernel.
static int add_shaped(struct nk_scan_library *library, const struct nk_box *box, const struct nk_box_body *bodies,
                      size_t count, int64_t shape)
{
    struct nk_scan_kernel *kernels =
        nk_scan_grow(library->kernels, library->kernel_count, &library->kernel_room, sizeof *kernels);
    if (kernels) library->kernels = kernels;
    int64_t number = name_of(library, box->texts.data + box->names[bodies->kernel]);
    if (shape < 0 || !kernels || number < 0) return -1;
    kernels[library->kernel_count++] =
        (struct nk_scan_kernel){library->names[number], (size_t)number, (size_t)shape, real_bodies(box, bodies, count)};
    library->shapes[shape].kernels++;
    return 0;
}

static int add_kernels(struct nk_box *box, struct nk_scan_library *library)
{
    bool damaged = box->flags & NK_FOUND_DAMAGED;
    size_t n = box->image_count + damaged;
    if (!box->body_count) return 0;
    struct nk_image *images = calloc(n, sizeof *images);
    unsigned char *holds = malloc(n);
    int result = images && holds ? 0 : -1;
    for (size_t i = 0; !result && i < box->image_count; i++) images[i] = essence(&box->images[i]);
    if (!result && damaged) images[n - 1] = lost_image;
    if (!result && damaged) holds[n - 1] = NK_KERNEL_UNKNOWN;
    uint64_t same = result ? 0 : nk_hash_bytes(images, n * sizeof *images);
    for (size_t at = 0, end; !result && at < box->body_count; at = end) {
        for (end = at; end < box->body_count && box->bodies[end].kernel == box->bodies[at].kernel;) end++;
        fill_holds(box, box->bodies + at, end - at, holds);
        uint64_t key = nk_hash_u64(same ^ nk_hash_bytes(holds, n));
        int64_t shape = shape_of(library, images, holds, n, key);
        result = add_shaped(library, box, box->bodies + at, end - at, shape);
    }
    free(images);
    free(holds);
    return result;
}

// ---- into the library

// The text that was added last is mostly the one that is wanted again.
static size_t again(struct nk_scan_library *library, size_t *last, struct nk_bytes text)
{
    const char *before = nk_scan_text(library, *last);
    if (strlen(before) != text.size || (text.size && memcmp(before, text.data, text.size)))
        *last = nk_scan_add_text(library, text);
    return *last;
}

static int add_box(struct nk_box *box, struct nk_scan_library *library)
{
    struct nk_scan_box *boxes = nk_scan_grow(library->boxes, library->box_count, &library->box_room, sizeof *boxes);
    if (!boxes) return -1;
    library->boxes = boxes;
    struct nk_scan_box added = {.offset = box->offset,
                                .kind = box->kind,
                                .flags = box->flags,
                                .section = again(library, &library->last_section, box->section),
                                .member = again(library, &library->last_member, box->member),
                                .first_image = library->image_count,
                                .images = box->image_count,
                                .first_kernel = library->kernel_count,
                                .unread = box->unread};
    for (size_t i = 0; i < box->image_count; i++) {
        struct nk_image *images =
            nk_scan_grow(library->images, library->image_count, &library->image_room, sizeof *images);
        if (!images) return -1;
        library->images = images;
        images[library->image_count++] = box->images[i];
    }
    int result = add_kernels(box, library);
    added.kernels = library->kernel_count - added.first_kernel;
    boxes[library->box_count++] = added;
    return result;
}

void nk_box_end(struct nk_box *box, struct nk_scan_library *library)
{
    if (add_box(box, library) || box->failed) library->failed = true;
}

void nk_box_free(struct nk_box *box)
{
    free(box->images);
    free(box->bodies);
    free(box->names);
    free(box->late);
    nk_buf_free(&box->texts);
    nk_table_free(&box->by_name);
    *box = (struct nk_box){0};
}
