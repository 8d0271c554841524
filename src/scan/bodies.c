// bodies.c - the kernels of the images of a box and the sizes of their bodies.
#include "scan/bodies.h"
#include "image/cubin.h"
#include "image/kernels.h"
#include "image/target.h"
#include "scan/gpus.h"
#include "scan/hash.h"
#include "scan/prefix.h"
#include "scan/ptx_names.h"
#include "verdict/rules.h"

#include <stdlib.h>
#include <string.h>

#define LATE_BYTES (32u << 20) // of PTX that passes by and is kept up to the end of its box

// An image being read.
struct reading {
    struct nk_box *box;
    struct nk_entry_view *entry;
    struct nk_box_tools *tools;
    uint32_t number; // of the image
};

static struct nk_image *image_of(const struct reading *r) { return &r->box->images[r->number]; }

// ---- into the box

// The number of the kernel in this box, or -1 when memory is short.
static int64_t number_of(struct nk_box *box, struct nk_bytes name)
{
    uint64_t key = nk_scan_hash(name.data, name.size);
    size_t number = (size_t)(uintptr_t)nk_table_get(&box->by_name, key);
    if (number) return (int64_t)number - 1;
    size_t *names = nk_scan_grow(box->names, box->name_count, &box->name_room, sizeof *names);
    if (!names) return -1;
    box->names = names;
    names[box->name_count] = box->texts.size;
    nk_buf_add(&box->texts, name.data, name.size);
    nk_buf_fill(&box->texts, 0, 1);
    if (box->texts.failed || nk_table_put(&box->by_name, key, (void *)(uintptr_t)(box->name_count + 1))) return -1;
    return (int64_t)box->name_count++;
}

static bool add_body(struct nk_box *box, struct nk_box_body body)
{
    struct nk_box_body *bodies = nk_scan_grow(box->bodies, box->body_count, &box->body_room, sizeof *bodies);
    if (!bodies) {
        box->failed = true;
        return false;
    }
    box->bodies = bodies;
    bodies[box->body_count++] = body;
    return true;
}

static int add_named(const struct reading *r, struct nk_bytes name, uint64_t size)
{
    if (r->box->name_count >= UINT32_MAX - 1) return 1;
    int64_t number = number_of(r->box, name);
    if (number < 0) r->box->failed = true;
    return number < 0 || !add_body(r->box, (struct nk_box_body){(uint32_t)number, r->number, size});
}

static int add_kernel(const struct nk_kernel_view *kernel, void *user)
{
    const struct reading *r = user;
    return add_named(r, kernel->name, nk_kernel_code(kernel, image_of(r)->kind));
}

// Forgets the bodies from `before` on. Returns what tells them from others; of PTX that is the names alone.
static uint64_t take_back(const struct reading *r, size_t before)
{
    uint64_t sum = 0;
    bool sizes = image_of(r)->kind == NK_KIND_CUBIN;
    for (size_t i = before; i < r->box->body_count; i++) {
        const struct nk_box_body *body = &r->box->bodies[i];
        sum += nk_hash_u64(body->kernel * 0x10001ull ^ (sizes ? nk_hash_u64(body->size) : 0));
    }
    r->box->body_count = before;
    return sum;
}

// ---- an image that was read before

// Remembers the kernels of an image, the bodies from `before` on: of each its size and its name.
static void remember(const struct reading *r, size_t before, uint32_t flags)
{
    struct nk_box *box = r->box;
    struct nk_buf *note = &r->tools->note;
    nk_buf_clear(note);
    for (size_t i = before; i < box->body_count; i++) {
        const char *name = box->texts.data + box->names[box->bodies[i].kernel];
        nk_buf_add(note, &box->bodies[i].size, sizeof box->bodies[i].size);
        nk_buf_add(note, name, strlen(name) + 1);
    }
    if (!note->failed && !box->failed) nk_memo_add(&r->tools->memo, r->entry, flags, nk_bytes(note->data, note->size));
}

// Adds the kernels of an image that is a copy of one that was read before. False when none is known.
static bool recall(const struct reading *r)
{
    uint32_t flags = 0;
    uint64_t size;
    struct nk_bytes note, name;
    if (!nk_memo_find(&r->tools->memo, r->entry, &flags, &note)) return false;
    image_of(r)->flags |= flags;
    for (uint64_t at = 0; nk_bytes_u64(note, at, &size) && nk_bytes_string(note, at + sizeof size, &name);
         at += sizeof size + name.size + 1)
        if (add_named(r, name, size)) break;
    return true;
}

// ---- an image

// PTX is decoded whole: its kernels stand anywhere in it. 0, or -1.
static int read_ptx(struct reading *r)
{
    if (nk_unpack(&r->tools->memory, r->entry, 0, NULL)) return -1;
    return nk_ptx_names(r->tools->memory.bytes, add_kernel, r) ? -1 : 0;
}

// The beginning of a cubin is nearly always enough. 0, or -1: it is not.
static int read_beginning(struct reading *r)
{
    struct nk_prefix_head head;
    size_t before = r->box->body_count;
    uint32_t flags = 0;
    // The payload of a concatenated image is not its own.
    bool small = r->entry->payload.size <= NK_MEMO_LARGEST && !(r->entry->image.flags & NK_IMAGE_CONCATENATED);
    if (image_of(r)->kind != NK_KIND_CUBIN) return read_ptx(r);
    if (small && recall(r)) return 0;
    if (nk_prefix_kernels(&r->tools->partial, r->entry, add_kernel, r, &head)) return -1;
    if (head.relocatable) flags |= NK_IMAGE_RELOCATABLE;
    if (head.abi8) flags |= NK_IMAGE_ABI8;
    image_of(r)->flags |= flags;
    if (small) remember(r, before, flags);
    return 0;
}

// False when that was not possible.
static bool read_whole(struct reading *r)
{
    struct nk_image *image = image_of(r);
    struct nk_err err = {0};
    struct nk_cubin cubin;
    int result = nk_image_kernels(r->entry, &r->tools->memory, 0, add_kernel, r, &err);
    if (image->kind == NK_KIND_CUBIN) r->tools->whole++;
    if (result) {
        r->box->unread = true;
        if (result < 0 && err.code == NK_ERR_BAD_INPUT) image->flags |= NK_IMAGE_DAMAGED;
        return false;
    }
    if (image->kind != NK_KIND_CUBIN || nk_cubin_open(&cubin, r->tools->memory.bytes, NULL)) return true;
    if (cubin.relocatable) image->flags |= NK_IMAGE_RELOCATABLE;
    if (cubin.abi8) image->flags |= NK_IMAGE_ABI8;
    return true;
}

// Reads the kernels in some quick way, and whole if that fails or has to be checked.
static void read_image(struct reading *r, int (*quickly)(struct reading *r))
{
    size_t before = r->box->body_count;
    bool quick = !quickly(r), good = quick;
    if (!quick || r->tools->how->verify) {
        uint64_t said = take_back(r, before);
        good = read_whole(r);
        size_t after = r->box->body_count;
        r->tools->mismatch += quick && take_back(r, before) != said;
        r->box->body_count = after;
    }
    if (good) image_of(r)->kernels = (uint32_t)(r->box->body_count - before);
}

// ---- PTX that waits

// The cubin of the box for the same target, if its kernels are known; or -1.
static int64_t twin_of(const struct nk_box *box, const struct nk_image *ptx)
{
    for (size_t i = 0; i < box->image_count; i++) {
        const struct nk_image *image = &box->images[i];
        bool same = image->kind == NK_KIND_CUBIN && image->arch == ptx->arch;
        // Often compute_120 comes with sm_120f or sm_120a.
        if (same && (!ptx->suffix || ptx->suffix == image->suffix) && image->kernels != UINT32_MAX) return (int64_t)i;
    }
    return -1;
}

// Takes the PTX to hold what the cubin for its target holds. 0, or -1: there is none.
static int read_twin(struct reading *r)
{
    struct nk_box *box = r->box;
    int64_t twin = twin_of(box, image_of(r));
    if (twin < 0) return -1;
    for (size_t i = 0, n = box->body_count; i < n; i++) {
        struct nk_box_body body = box->bodies[i];
        if (body.image == twin && !add_body(box, (struct nk_box_body){body.kernel, r->number, body.size})) return -1;
    }
    return 0;
}

// Would a GPU compile this PTX? The driver looks at PTX only where no cubin can be taken.
static bool compiled_for(const struct nk_box *box, const struct nk_image *ptx, const struct nk_target *gpu)
{
    if (nk_rule_fits(ptx, gpu).runs != NK_RUNS_JIT) return false;
    for (size_t i = 0; i < box->image_count; i++) {
        struct nk_rule fits = nk_rule_fits(&box->images[i], gpu);
        if (fits.runs == NK_RUNS_NATIVE && nk_rule_loads(&box->images[i], gpu, fits).runs == NK_RUNS_NATIVE)
            return false;
    }
    return true;
}

static bool wanted(const struct reading *r)
{
    const struct nk_scan_how *how = r->tools->how;
    const struct nk_image *ptx = image_of(r);
    if (how->all || ptx->flags & NK_IMAGE_DAMAGED) return true;
    for (size_t i = 0; how->gpus && i < how->gpus->count; i++)
        if (compiled_for(r->box, ptx, &how->gpus->gpu[i].target)) return true;
    return false;
}

// Puts PTX aside. False when it has to be read now.
static bool put_aside(struct reading *r)
{
    struct nk_box *box = r->box;
    struct nk_bytes *payload = &r->entry->payload;
    if (r->entry->image.kind != NK_KIND_PTX || r->entry->image.flags & (NK_IMAGE_CONCATENATED | NK_IMAGE_BARE))
        return false;
    if (r->tools->passing && payload->size > LATE_BYTES - box->late_bytes) return false;
    struct nk_box_late *late = nk_scan_grow(box->late, box->late_count, &box->late_room, sizeof *late);
    if (!late) return false;
    box->late = late;
    late += box->late_count;
    *late = (struct nk_box_late){.entry = *r->entry, .image = r->number};
    if (r->tools->passing) {
        if (!(late->copy = malloc(payload->size + 1))) return false;
        memcpy(late->copy, payload->data, payload->size);
        late->entry.payload = nk_bytes(late->copy, payload->size);
        box->late_bytes += payload->size;
    }
    box->late_count++;
    return true;
}

// The header of PTX in zstd, which no toolkit before CUDA 12.8 writes, is believed until the text is read.
static bool believed(const struct nk_entry_view *entry)
{
    return entry->image.codec == NK_CODEC_ZSTD && !(entry->image.flags & (NK_IMAGE_CONCATENATED | NK_IMAGE_BARE));
}

static void check_target(struct reading *r)
{
    struct nk_image *image = image_of(r);
    struct nk_image before = *image;
    nk_image_check_target(r->entry, NULL);
    *image = r->entry->image;
    // Who takes headers for right should know when one is not.
    r->tools->mismatch += r->tools->how->verify && (image->arch != before.arch || image->suffix != before.suffix);
}

void nk_bodies_late(struct nk_box *box, struct nk_box_tools *tools)
{
    for (size_t i = 0; i < box->late_count; i++) {
        struct reading r = {box, &box->late[i].entry, tools, box->late[i].image};
        bool read = wanted(&r) || twin_of(box, image_of(&r)) < 0;
        if (believed(r.entry) && (read || tools->how->verify)) check_target(&r);
        read_image(&r, read ? read_ptx : read_twin);
        free(box->late[i].copy);
    }
    box->late_count = box->late_bytes = 0;
}

// ---- which images

// Input of a linker: it holds no kernel that the driver could load.
static bool loadable(const struct nk_box *box, const struct nk_image *image)
{
    bool code = image->kind == NK_KIND_CUBIN || image->kind == NK_KIND_PTX || image->kind == NK_KIND_PTX_LINK;
    return code && !(box->flags & NK_FOUND_RELOCATABLE);
}

void nk_bodies_read(struct nk_box *box, struct nk_entry_view *entry, struct nk_box_tools *tools)
{
    struct reading r = {box, entry, tools, (uint32_t)box->image_count - 1};
    bool readable = loadable(box, &entry->image);
    if (!tools->how->kernels) return;
    if (readable && box->image_count <= NK_BOX_IMAGES) {
        if (put_aside(&r)) return;
        if (entry->image.kind == NK_KIND_PTX && believed(entry)) check_target(&r);
        read_image(&r, read_beginning);
    } else if (readable || entry->image.kind == NK_KIND_UNKNOWN) {
        box->unread = true;
    }
}

void nk_bodies_target(struct nk_entry_view *entry, const struct nk_box_tools *tools)
{
    bool later = believed(entry) && (entry->image.kind == NK_KIND_PTX || !tools->how->kernels);
    if (entry->image.kind != NK_KIND_CUBIN && !later) nk_image_check_target(entry, NULL);
}

void nk_box_tools_free(struct nk_box_tools *tools)
{
    nk_unpack_free(&tools->memory);
    nk_partial_free(&tools->partial);
    nk_memo_free(&tools->memo);
    nk_buf_free(&tools->note);
}
