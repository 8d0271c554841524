// sum.c - what a library has, counted.
#include "scan/sum.h"
#include "image/kernels.h"
#include "verdict/arch.h"

#include <stdlib.h>
#include <string.h>

static enum nk_scan_where where_is(const struct nk_scan_box *box)
{
    if (box->flags & NK_FOUND_RELOCATABLE) return NK_SCAN_RELOCATABLE;
    return box->flags & NK_FOUND_OUTSIDE ? NK_SCAN_OUTSIDE : NK_SCAN_HERE;
}

static int rank(uint16_t kind) { return kind == NK_KIND_CUBIN ? 0 : kind == NK_KIND_PTX ? 1 : 2 + kind; }

static int by_target(const void *a, const void *b)
{
    const struct nk_scan_arch *x = a, *y = b;
    if (x->where != y->where) return (int)x->where - (int)y->where;
    if (x->kind != y->kind) return rank(x->kind) - rank(y->kind);
    if (x->arch != y->arch) return x->arch - y->arch;
    if (x->suffix != y->suffix) return x->suffix - y->suffix;
    return x->isa_major * 256 + x->isa_minor - y->isa_major * 256 - y->isa_minor;
}

static struct nk_scan_arch *find(struct nk_scan_sum *sum, const struct nk_image *image, enum nk_scan_where where)
{
    bool ptx = image->kind == NK_KIND_PTX || image->kind == NK_KIND_PTX_LINK;
    struct nk_scan_arch wanted = {.where = where, .kind = image->kind, .arch = image->arch, .suffix = image->suffix};
    if (ptx) wanted.isa_major = image->isa_major, wanted.isa_minor = image->isa_minor;
    for (size_t i = 0; i < sum->arch_count; i++)
        if (!by_target(&sum->archs[i], &wanted)) return &sum->archs[i];
    struct nk_scan_arch *archs = nk_scan_grow(sum->archs, sum->arch_count, &sum->arch_room, sizeof *archs);
    if (!archs) {
        sum->failed = true;
        return NULL;
    }
    sum->archs = archs;
    archs[sum->arch_count] = wanted;
    return &archs[sum->arch_count++];
}

static void count_image(struct nk_scan_sum *sum, const struct nk_image *image, enum nk_scan_where where)
{
    struct nk_scan_arch *arch = find(sum, image, where);
    if (arch) arch->images++;
    if (arch && image->flags & NK_IMAGE_TARGET_LIED) arch->lied++;
    if (image->flags & NK_IMAGE_CONCATENATED) sum->concatenated++;
    if (image->flags & NK_IMAGE_DEBUG) sum->debug++;
    if (image->kind == NK_KIND_CUBIN && image->flags & NK_IMAGE_RELOCATABLE) sum->relocatable_cubins++;
    if (!(image->flags & NK_IMAGE_BARE)) sum->codecs[image->codec <= NK_CODEC_UNKNOWN ? image->codec : 3]++;
}

static void count_box(struct nk_scan_sum *sum, const struct nk_scan_library *library, const struct nk_scan_box *box)
{
    enum nk_scan_where where = where_is(box);
    bool container = box->kind == NK_FOUND_CONTAINER;
    sum->containers += container;
    sum->bare += !container;
    sum->outside += where == NK_SCAN_OUTSIDE;
    sum->relocatable += where == NK_SCAN_RELOCATABLE;
    sum->damaged += (box->flags & NK_FOUND_DAMAGED) != 0;
    sum->unread += box->unread;
    sum->empty += container && !box->images;
    sum->without_kernels +=
        library->kernels_read && box->images && !box->kernels && !box->unread && where != NK_SCAN_RELOCATABLE;
    for (size_t i = 0; i < box->images; i++) count_image(sum, &library->images[box->first_image + i], where);
}

// Kernels empty in images of a target: from the shapes, whose images do not say where they lay. Nearly always it is one
// place a library; with several the first one that has the target counts.
static void count_hollow(struct nk_scan_sum *sum, const struct nk_scan_library *library)
{
    for (size_t s = 0; s < library->shape_count; s++) {
        const struct nk_scan_shape *shape = &library->shapes[s];
        for (size_t i = shape->first; i < shape->first + shape->images; i++) {
            if (library->holds[i] != NK_KERNEL_HOLLOW) continue;
            const struct nk_image *image = &library->shape_images[i];
            for (size_t a = 0; a < sum->arch_count; a++) {
                struct nk_scan_arch *arch = &sum->archs[a];
                if (arch->kind != image->kind || arch->arch != image->arch || arch->suffix != image->suffix) continue;
                arch->hollow += shape->kernels;
                break;
            }
        }
    }
}

static uint64_t count_names(const struct nk_scan_library *library, struct nk_scan_sum *sum)
{
    uint64_t count = 0;
    bool *seen = calloc(library->name_count + 1, sizeof *seen);
    if (!seen) sum->failed = true;
    for (size_t i = 0; seen && i < library->kernel_count; i++) {
        bool *name = &seen[library->kernels[i].number];
        count += !*name;
        *name = true;
    }
    free(seen);
    return count;
}

void nk_scan_sum(const struct nk_scan_library *library, struct nk_scan_sum *sum)
{
    *sum = (struct nk_scan_sum){.failed = library->failed, .kernels = library->kernel_count};
    for (size_t i = 0; i < library->box_count; i++) count_box(sum, library, &library->boxes[i]);
    if (sum->arch_count) qsort(sum->archs, sum->arch_count, sizeof *sum->archs, by_target);
    count_hollow(sum, library);
    sum->names = count_names(library, sum);
}

void nk_scan_sum_add(struct nk_scan_sum *into, const struct nk_scan_sum *from)
{
    for (size_t i = 0; i < from->arch_count; i++) {
        const struct nk_scan_arch *a = &from->archs[i];
        struct nk_image image = {.kind = a->kind,
                                 .arch = a->arch,
                                 .suffix = a->suffix,
                                 .isa_major = a->isa_major,
                                 .isa_minor = a->isa_minor};
        struct nk_scan_arch *sum = find(into, &image, a->where);
        if (!sum) continue;
        sum->images += a->images;
        sum->lied += a->lied;
        sum->hollow += a->hollow;
    }
    into->containers += from->containers;
    into->bare += from->bare;
    into->damaged += from->damaged;
    into->unread += from->unread;
    into->kernels += from->kernels;
    into->names += from->names;
    into->failed |= from->failed;
    if (into->arch_count) qsort(into->archs, into->arch_count, sizeof *into->archs, by_target);
}

void nk_scan_sum_free(struct nk_scan_sum *sum)
{
    free(sum->archs);
    *sum = (struct nk_scan_sum){0};
}

void nk_scan_arch_text(struct nk_buf *out, const struct nk_scan_arch *arch, bool isa)
{
    char name[NK_ARCH_TEXT];
    bool ptx = arch->kind == NK_KIND_PTX || arch->kind == NK_KIND_PTX_LINK;
    if (arch->kind == NK_KIND_LTO) nk_buf_text(out, "LTO ");
    if (arch->kind == NK_KIND_PTX_LINK) nk_buf_text(out, "relocatable ");
    if (arch->kind == NK_KIND_UNKNOWN) nk_buf_text(out, "unknown ");
    nk_buf_text(out, nk_arch_text(name, (struct nk_arch){arch->arch, (char)arch->suffix, ptx}));
    if (ptx && isa) nk_buf_format(out, "@%u.%u", arch->isa_major, arch->isa_minor);
}

// ---- for a GPU

struct nk_verdict nk_scan_judge_shape(const struct nk_scan_library *library, size_t shape, const struct nk_target *gpu)
{
    const struct nk_scan_shape *s = &library->shapes[shape];
    return nk_judge(library->shape_images + s->first, s->images, library->holds + s->first, gpu);
}

static enum nk_scan_word word_of(const struct nk_scan_counts *c, bool unread)
{
    uint64_t runs = c->native + c->jit;
    if (!runs && !c->hollow && !c->none && !c->unknown) return unread ? NK_SCAN_UNKNOWN : NK_SCAN_EMPTY;
    if (!runs && !c->unknown && !unread) return c->none ? NK_SCAN_NONE : NK_SCAN_HOLLOW;
    if (!runs && !c->none) return NK_SCAN_UNKNOWN;
    if (c->none) return NK_SCAN_PARTLY;
    if (c->unknown || unread) return NK_SCAN_UNKNOWN;
    return c->jit ? NK_SCAN_JIT : NK_SCAN_NATIVE;
}

// Which verdict of a kernel decides the word.
static bool decides(enum nk_scan_word word, enum nk_runs runs)
{
    switch (word) {
    case NK_SCAN_NATIVE:
        return runs == NK_RUNS_NATIVE;
    case NK_SCAN_JIT:
        return runs == NK_RUNS_JIT;
    case NK_SCAN_PARTLY:
    case NK_SCAN_NONE:
        return runs == NK_RUNS_NONE;
    case NK_SCAN_HOLLOW:
        return runs == NK_RUNS_HOLLOW;
    default:
        return runs == NK_RUNS_UNKNOWN;
    }
}

static void count(struct nk_scan_counts *counts, enum nk_runs runs, uint64_t kernels)
{
    uint64_t *const places[] = {&counts->native, &counts->jit, &counts->hollow, &counts->none, &counts->unknown};
    *places[runs <= NK_RUNS_UNKNOWN ? runs : NK_RUNS_UNKNOWN] += kernels;
}

// Names of which every copy has the verdict "none". runs[]: by shape.
static uint64_t lost_names(const struct nk_scan_library *library, const enum nk_runs *runs)
{
    enum { UNMET, LOST, LIVING };
    unsigned char *names = calloc(library->name_count + 1, 1);
    uint64_t count = 0;
    for (size_t i = 0; names && i < library->kernel_count; i++) {
        unsigned char *name = &names[library->kernels[i].number];
        if (runs[library->kernels[i].shape] != NK_RUNS_NONE)
            *name = LIVING;
        else if (*name == UNMET)
            *name = LOST;
    }
    for (size_t i = 0; names && i < library->name_count; i++) count += names[i] == LOST;
    free(names);
    return count;
}

enum nk_scan_word nk_scan_judge(const struct nk_scan_library *library, const struct nk_target *gpu,
                                struct nk_scan_counts *counts)
{
    uint64_t reasons[NK_RUNS_UNKNOWN + 1][NK_REASON_COUNT] = {{0}};
    bool unread = library->incomplete;
    enum nk_runs *all = calloc(library->shape_count + 1, sizeof *all);
    *counts = (struct nk_scan_counts){0};
    for (size_t i = 0; i < library->shape_count; i++) {
        struct nk_verdict v = nk_scan_judge_shape(library, i, gpu);
        if (all) all[i] = v.runs;
        count(counts, v.runs, library->shapes[i].kernels);
        reasons[v.runs][v.reason] += library->shapes[i].kernels;
    }
    if (all && counts->none) counts->names_none = lost_names(library, all);
    free(all);
    // Kernels that nobody could count.
    for (size_t i = 0; i < library->box_count; i++) {
        const struct nk_scan_box *box = &library->boxes[i];
        unread |= (box->unread && !box->kernels) || box->flags & NK_FOUND_DAMAGED;
    }
    enum nk_scan_word word = word_of(counts, unread);
    uint64_t most = 0;
    for (int runs = 0; runs <= NK_RUNS_UNKNOWN; runs++)
        for (int reason = 0; reason < NK_REASON_COUNT; reason++)
            if (decides(word, (enum nk_runs)runs) && reasons[runs][reason] > most) {
                most = reasons[runs][reason];
                counts->reason = (enum nk_reason)reason;
            }
    return word;
}

const char *nk_scan_word(enum nk_scan_word word)
{
    static const char *const words[] = {"empty", "native", "jit", "partly", "hollow", "none", "unknown"};
    return words[word];
}
