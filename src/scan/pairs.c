// pairs.c - the libraries of two scans, matched; the kernels of two libraries, compared.
#define _GNU_SOURCE
#include "scan/pairs.h"
#include "image/kernels.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// ---- which library is which

char *nk_scan_plain_path(const char *path)
{
    char *out = strdup(path), *to = out;
    for (const char *at = path; out && *at;) {
        size_t hex = *at == '-' ? strspn(at + 1, "0123456789abcdef") : 0;
        if (hex >= 8 && at[1 + hex] == '.') {
            at += 1 + hex;
        } else if (!strncmp(at, ".so.", 4)) {
            memcpy(to, ".so", 3);
            to += 3;
            at += 3 + strcspn(at + 3, "/");
        } else {
            *to++ = *at++;
        }
    }
    if (out) *to = 0;
    return out;
}

static bool same_library(const struct nk_scan_item *a, const struct nk_scan_library *x, const struct nk_scan_item *b,
                         const struct nk_scan_library *y)
{
    if (strcmp(a->package.name, b->package.name)) return false;
    char *p = nk_scan_plain_path(x->path), *q = nk_scan_plain_path(y->path);
    bool same = p && q && !strcmp(p, q);
    free(p);
    free(q);
    return same;
}

static size_t libraries(const struct nk_scan *scan)
{
    size_t count = 0;
    for (size_t i = 0; i < scan->count; i++) count += scan->items[i]->count;
    return count;
}

// Finds the library of the old scan that nobody has yet.
static bool find_old(const struct nk_scan *old, struct nk_scan_pair *pair, const bool *taken, size_t *number)
{
    *number = 0;
    for (size_t i = 0; i < old->count; i++)
        for (size_t k = 0; k < old->items[i]->count; k++, ++*number) {
            const struct nk_scan_item *item = old->items[i];
            if (taken[*number] || !same_library(item, item->libraries[k], pair->new_item, pair->new_library)) continue;
            pair->old_item = item;
            pair->old_library = item->libraries[k];
            return true;
        }
    return false;
}

static size_t add_gone(const struct nk_scan *old, const bool *taken, struct nk_scan_pair *pairs, size_t count)
{
    size_t number = 0;
    for (size_t i = 0; i < old->count; i++)
        for (size_t k = 0; k < old->items[i]->count; k++)
            if (!taken[number++])
                pairs[count++] =
                    (struct nk_scan_pair){.old_item = old->items[i], .old_library = old->items[i]->libraries[k]};
    return count;
}

struct nk_scan_pair *nk_scan_pairs(const struct nk_scan *old, const struct nk_scan *new_one, size_t *count)
{
    size_t olds = libraries(old), news = libraries(new_one), number;
    bool *taken = calloc(olds + 1, sizeof *taken), single = olds == 1 && news == 1;
    struct nk_scan_pair *pairs = calloc(olds + news + 1, sizeof *pairs);
    *count = 0;
    for (size_t i = 0; taken && pairs && i < new_one->count; i++)
        for (size_t k = 0; k < new_one->items[i]->count; k++) {
            struct nk_scan_pair *pair = &pairs[(*count)++];
            pair->new_item = new_one->items[i];
            pair->new_library = new_one->items[i]->libraries[k];
            if (find_old(old, pair, taken, &number)) taken[number] = true;
            if (single && !pair->old_item) {
                for (size_t o = 0; o < old->count; o++)
                    if (old->items[o]->count) pair->old_item = old->items[o];
                pair->old_library = pair->old_item->libraries[0];
                taken[0] = true;
            }
        }
    if (taken && pairs) *count = add_gone(old, taken, pairs, *count);
    if (!taken) {
        free(pairs);
        pairs = NULL;
    }
    free(taken);
    return pairs;
}

// ---- kernels

// A name, and the targets that hold it, as bits by their place in `target`.
struct named {
    const char *name;
    uint64_t targets;
};

static int bit_of(struct nk_scan_changes *changes, const struct nk_image *image)
{
    for (size_t i = 0; i < changes->targets; i++) {
        const struct nk_scan_arch *arch = &changes->target[i].arch;
        if (arch->kind == image->kind && arch->arch == image->arch && arch->suffix == image->suffix) return (int)i;
    }
    if (changes->targets == NK_SCAN_TARGETS) return -1;
    changes->target[changes->targets].arch =
        (struct nk_scan_arch){.kind = image->kind, .arch = image->arch, .suffix = image->suffix};
    return (int)changes->targets++;
}

static uint64_t bits_of(struct nk_scan_changes *changes, const struct nk_scan_library *library, size_t shape)
{
    const struct nk_scan_shape *s = &library->shapes[shape];
    uint64_t bits = 0;
    for (size_t i = s->first; i < s->first + s->images; i++) {
        int bit = library->holds[i] == NK_KERNEL_PRESENT || library->holds[i] == NK_KERNEL_HOLLOW
                      ? bit_of(changes, &library->shape_images[i])
                      : -1;
        if (bit >= 0) bits |= 1ull << bit;
    }
    return bits;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

// All names of a library, sorted, each once. NULL when memory is short.
static struct named *names_of(struct nk_scan_changes *changes, const struct nk_scan_library *library, size_t *count)
{
    size_t n = library ? library->kernel_count : 0, kept = 0;
    struct named *names = calloc(n + 1, sizeof *names);
    uint64_t *bits = calloc(library ? library->shape_count + 1 : 1, sizeof *bits);
    for (size_t i = 0; bits && library && i < library->shape_count; i++) bits[i] = bits_of(changes, library, i);
    for (size_t i = 0; names && bits && i < n; i++)
        names[i] = (struct named){nk_scan_text(library, library->kernels[i].name), bits[library->kernels[i].shape]};
    if (names && bits) {
        qsort(names, n, sizeof *names, by_name);
        for (size_t i = 0; i < n; i++) {
            if (kept && !strcmp(names[kept - 1].name, names[i].name))
                names[kept - 1].targets |= names[i].targets;
            else
                names[kept++] = names[i];
        }
    } else {
        changes->failed = true;
    }
    free(bits);
    *count = kept;
    return names;
}

static void list(struct nk_scan_changes *changes, bool gained, const char *name)
{
    const char ***names = gained ? &changes->gained : &changes->lost;
    size_t *count = gained ? &changes->gained_count : &changes->lost_count;
    const char **more =
        nk_scan_grow(*names, *count, gained ? &changes->gained_room : &changes->lost_room, sizeof *more);
    if (!more) {
        changes->failed = true;
        return;
    }
    *names = more;
    more[(*count)++] = name;
}

static void count_bits(struct nk_scan_changes *changes, uint64_t old, uint64_t new_one)
{
    for (size_t i = 0; i < changes->targets; i++) {
        bool before = old >> i & 1, after = new_one >> i & 1;
        changes->target[i].gained += after && !before;
        changes->target[i].lost += before && !after;
    }
}

static void note_images(struct nk_scan_changes *changes, const struct nk_scan_library *library, bool is_old)
{
    for (size_t b = 0; library && b < library->box_count; b++) {
        const struct nk_scan_box *box = &library->boxes[b];
        if (box->flags & NK_FOUND_RELOCATABLE) continue;
        for (size_t i = box->first_image; i < box->first_image + box->images; i++) {
            int bit = bit_of(changes, &library->images[i]);
            if (bit >= 0) *(is_old ? &changes->target[bit].in_old : &changes->target[bit].in_new) = true;
        }
    }
}

static int by_target(const void *a, const void *b)
{
    const struct nk_scan_arch *x = &((const struct nk_scan_change *)a)->arch,
                              *y = &((const struct nk_scan_change *)b)->arch;
    if (x->kind != y->kind) return x->kind == NK_KIND_CUBIN ? -1 : y->kind == NK_KIND_CUBIN ? 1 : x->kind - y->kind;
    return x->arch != y->arch ? x->arch - y->arch : x->suffix - y->suffix;
}

void nk_scan_compare(const struct nk_scan_library *old, const struct nk_scan_library *new_one,
                     struct nk_scan_changes *changes)
{
    size_t olds, news, i = 0, k = 0;
    *changes = (struct nk_scan_changes){0};
    note_images(changes, old, true);
    note_images(changes, new_one, false);
    struct named *before = names_of(changes, old, &olds), *after = names_of(changes, new_one, &news);
    while (!changes->failed && (i < olds || k < news)) {
        int order = i == olds ? 1 : k == news ? -1 : strcmp(before[i].name, after[k].name);
        if (order < 0) {
            list(changes, false, before[i++].name);
        } else if (order > 0) {
            list(changes, true, after[k++].name);
        } else {
            count_bits(changes, before[i++].targets, after[k++].targets);
        }
    }
    free(before);
    free(after);
    // Only now: until here their places are bits.
    qsort(changes->target, changes->targets, sizeof *changes->target, by_target);
}

void nk_scan_changes_free(struct nk_scan_changes *changes)
{
    free(changes->gained);
    free(changes->lost);
    *changes = (struct nk_scan_changes){0};
}
