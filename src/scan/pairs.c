// pairs.c - the libraries of two scans, matched; the kernels of two libraries, compared.
#define _GNU_SOURCE
#include "scan/pairs.h"
#include "image/kernels.h"
#include "scan/hash.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// ---- which library is which

char *nk_scan_plain_path(const char *path)
{
    char *out = strdup(path), *to = out;
    for (const char *at = path; out && *at;) {
        size_t hex = *at == '-' || *at == '.' ? strspn(at + 1, "0123456789abcdef") : 0;
        if (hex >= 8 && (*at == '-' ? at[1 + hex] == '.' : !strncmp(at + 1 + hex, ".so", 3))) {
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

// A library of the old scan. Those of the same package and plain path are a chain: a package may hold two versions.
struct old {
    const struct nk_scan_item *item;
    const struct nk_scan_library *library;
    char *plain;
    size_t next; // number + 1 of the next in the chain; 0 at its end
    bool taken;
};

struct olds {
    struct old *list;
    size_t count;
    struct nk_table by_path; // number + 1 of the first in the chain
};

static uint64_t key_of(const struct nk_scan_item *item, const char *plain)
{
    uint64_t package = nk_scan_hash(item->package.name, strlen(item->package.name));
    return nk_hash_u64(package ^ nk_hash_u64(nk_scan_hash(plain, strlen(plain))));
}

static size_t libraries(const struct nk_scan *scan)
{
    size_t count = 0;
    for (size_t i = 0; i < scan->count; i++) count += scan->items[i]->count;
    return count;
}

static void olds_free(struct olds *olds)
{
    for (size_t i = 0; olds->list && i < olds->count; i++) free(olds->list[i].plain);
    free(olds->list);
    nk_table_free(&olds->by_path);
}

// 0, or -1 when memory is short. Last to first, so that each chain is in the order of the scan.
static int olds_make(struct olds *olds, const struct nk_scan *scan)
{
    size_t number = olds->count = libraries(scan);
    olds->list = calloc(olds->count + 1, sizeof *olds->list);
    for (size_t i = scan->count; olds->list && i-- > 0;)
        for (size_t k = scan->items[i]->count; k-- > 0;) {
            struct old *old = &olds->list[--number];
            *old = (struct old){.item = scan->items[i], .library = scan->items[i]->libraries[k]};
            if (!(old->plain = nk_scan_plain_path(old->library->path))) return -1;
            uint64_t key = key_of(old->item, old->plain);
            old->next = (size_t)(uintptr_t)nk_table_get(&olds->by_path, key);
            if (nk_table_put(&olds->by_path, key, (void *)(uintptr_t)(number + 1))) return -1;
        }
    return olds->list ? 0 : -1;
}

// One path is the end of the other: a package was looked at from above, or from inside.
static bool same_end(const char *a, const char *b)
{
    size_t m = strlen(a), n = strlen(b);
    if (m < n) return same_end(b, a);
    return m > n && a[m - n - 1] == '/' && !strcmp(a + m - n, b);
}

static struct old *find_old(const struct olds *olds, const struct nk_scan_pair *pair, bool by_end)
{
    struct old *found = NULL;
    const char *package = pair->new_item->package.name;
    char *plain = nk_scan_plain_path(pair->new_library->path);
    size_t number =
        plain && !by_end ? (size_t)(uintptr_t)nk_table_get(&olds->by_path, key_of(pair->new_item, plain)) : 0;
    for (; number && olds->list[number - 1].taken; number = olds->list[number - 1].next) continue;
    if (number) found = &olds->list[number - 1];
    for (size_t i = 0; plain && by_end && *package && !found && i < olds->count; i++) {
        struct old *old = &olds->list[i];
        if (!old->taken && !strcmp(old->item->package.name, package) && same_end(old->plain, plain)) found = old;
    }
    free(plain);
    return found;
}

static void match(const struct olds *olds, struct nk_scan_pair *pairs, size_t count)
{
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < count; i++) {
            struct nk_scan_pair *pair = &pairs[i];
            struct old *old = pair->old_library ? NULL : find_old(olds, pair, round == 1);
            // Two files that were named are compared, whatever they are called.
            if (!old && !pair->old_library && round == 1 && count == 1 && olds->count == 1) old = olds->list;
            if (!old) continue;
            old->taken = true;
            pair->old_item = old->item;
            pair->old_library = old->library;
        }
}

struct nk_scan_pair *nk_scan_pairs(const struct nk_scan *old, const struct nk_scan *new_one, size_t *count)
{
    struct olds olds = {0};
    struct nk_scan_pair *pairs = calloc(libraries(old) + libraries(new_one) + 1, sizeof *pairs);
    *count = 0;
    if (pairs && !olds_make(&olds, old)) {
        for (size_t i = 0; i < new_one->count; i++)
            for (size_t k = 0; k < new_one->items[i]->count; k++)
                pairs[(*count)++] = (struct nk_scan_pair){.new_item = new_one->items[i],
                                                          .new_library = new_one->items[i]->libraries[k]};
        match(&olds, pairs, *count);
        for (size_t i = 0; i < olds.count; i++)
            if (!olds.list[i].taken)
                pairs[(*count)++] =
                    (struct nk_scan_pair){.old_item = olds.list[i].item, .old_library = olds.list[i].library};
    } else {
        free(pairs);
        pairs = NULL;
    }
    olds_free(&olds);
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
