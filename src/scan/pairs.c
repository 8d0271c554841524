// pairs.c - the libraries of two scans, matched; the kernels of two libraries, compared.
#define _GNU_SOURCE
#include "scan/pairs.h"
#include "image/kernels.h"
#include "scan/hash.h"
#include "scan/words.h"

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

// A name, and the targets that hold it, as bits by their place in `target`: at all, with an empty body, with a body
// that is certainly not empty.
struct named {
    const char *name;
    uint64_t targets, hollow, real;
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

// What a shape says about its kernels: the place of each image, -1 for those without them.
static void places_of(struct nk_scan_changes *changes, const struct nk_scan_library *library, size_t shape,
                      signed char *places)
{
    const struct nk_scan_shape *s = &library->shapes[shape];
    for (size_t i = s->first; i < s->first + s->images; i++) {
        bool held = library->holds[i] == NK_KERNEL_PRESENT || library->holds[i] == NK_KERNEL_HOLLOW;
        places[i] = (signed char)(held ? bit_of(changes, &library->shape_images[i]) : -1);
    }
}

static struct named named_as(const struct nk_scan_library *library, const struct nk_scan_kernel *kernel,
                             const signed char *places)
{
    const struct nk_scan_shape *s = &library->shapes[kernel->shape];
    struct named named = {.name = nk_scan_text(library, kernel->name)};
    for (size_t i = 0; i < s->images; i++) {
        if (places[s->first + i] < 0) continue;
        uint64_t bit = 1ull << places[s->first + i];
        named.targets |= bit;
        if (library->holds[s->first + i] == NK_KERNEL_HOLLOW)
            named.hollow |= bit;
        else if (i < 64 && kernel->real >> i & 1)
            named.real |= bit;
    }
    return named;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

static void add_named(struct named *to, const struct named *more)
{
    to->targets |= more->targets;
    to->hollow |= more->hollow;
    to->real |= more->real;
}

// All names of a library, sorted, each once. NULL when memory is short.
static struct named *names_of(struct nk_scan_changes *changes, const struct nk_scan_library *library, size_t *count)
{
    size_t n = library ? library->kernel_count : 0, kept = 0;
    struct named *names = calloc(n + 1, sizeof *names);
    signed char *places = malloc(library ? library->shape_image_count + 1 : 1);
    for (size_t i = 0; places && library && i < library->shape_count; i++) places_of(changes, library, i, places);
    for (size_t i = 0; names && places && i < n; i++) names[i] = named_as(library, &library->kernels[i], places);
    if (names && places) {
        qsort(names, n, sizeof *names, by_name);
        for (size_t i = 0; i < n; i++) {
            if (kept && !strcmp(names[kept - 1].name, names[i].name))
                add_named(&names[kept - 1], &names[i]);
            else
                names[kept++] = names[i];
        }
    } else {
        changes->failed = true;
    }
    free(places);
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

static void note_turn(struct nk_scan_changes *changes, enum nk_scan_turn turn, const char *name, uint64_t targets)
{
    size_t *count = &changes->turned_count[turn];
    if (!targets) return;
    struct nk_scan_turned *more =
        nk_scan_grow(changes->turned[turn], *count, &changes->turned_room[turn], sizeof *more);
    if (!more) {
        changes->failed = true;
        return;
    }
    changes->turned[turn] = more;
    more[(*count)++] = (struct nk_scan_turned){name, targets};
    for (size_t i = 0; i < changes->targets; i++) changes->target[i].turned[turn] += targets >> i & 1;
}

// A name of both.
static void compare_bits(struct nk_scan_changes *changes, const struct named *old, const struct named *new_one)
{
    for (size_t i = 0; i < changes->targets; i++) {
        bool before = old->targets >> i & 1, after = new_one->targets >> i & 1;
        changes->target[i].gained += after && !before;
        changes->target[i].lost += before && !after;
    }
    // Copies of one name in several containers that differ say nothing.
    uint64_t was_real = old->real & ~old->hollow, was_empty = old->hollow & ~old->real;
    note_turn(changes, NK_SCAN_EMPTIED, new_one->name, was_real & new_one->hollow & ~new_one->real);
    note_turn(changes, NK_SCAN_FILLED, new_one->name, was_empty & new_one->real & ~new_one->hollow);
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
            compare_bits(changes, &before[i++], &after[k++]);
        }
    }
    free(before);
    free(after);
    for (unsigned bit = 0; bit < changes->targets; bit++) changes->target[bit].bit = bit;
    // Only now: until here their places are bits.
    qsort(changes->target, changes->targets, sizeof *changes->target, by_target);
}

const char *nk_scan_turn_words(enum nk_scan_turn turn)
{
    return turn == NK_SCAN_EMPTIED ? "now empty on " : "no longer empty on ";
}

void nk_scan_turned_text(struct nk_buf *out, const struct nk_scan_changes *changes, enum nk_scan_turn turn, size_t i)
{
    const struct nk_scan_turned *turned = &changes->turned[turn][i];
    const char *before = nk_scan_turn_words(turn);
    for (size_t k = 0; k < changes->targets; k++) {
        if (!(turned->targets >> changes->target[k].bit & 1)) continue;
        nk_buf_text(out, before);
        nk_scan_arch_text(out, &changes->target[k].arch, false);
        before = " ";
    }
    nk_buf_text(out, ": ");
    nk_scan_kernel_name(out, turned->name);
}

void nk_scan_changes_free(struct nk_scan_changes *changes)
{
    free(changes->gained);
    free(changes->lost);
    for (int turn = 0; turn < NK_SCAN_TURNS; turn++) free(changes->turned[turn]);
    *changes = (struct nk_scan_changes){0};
}
