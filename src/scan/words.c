// words.c - words that several formats of a scan share.
#include "scan/words.h"
#include "base/demangle.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void nk_scan_number(struct nk_buf *out, uint64_t number)
{
    char digits[24];
    int size = snprintf(digits, sizeof digits, "%" PRIu64, number);
    for (int i = 0; i < size; i++) {
        if (i && (size - i) % 3 == 0) nk_buf_text(out, ",");
        nk_buf_add(out, digits + i, 1);
    }
}

void nk_scan_count(struct nk_buf *out, uint64_t number, const char *one, const char *many)
{
    nk_scan_number(out, number);
    nk_buf_format(out, " %s", number == 1 ? one : many);
}

// Bytes of the UTF-8 character that the text starts with; 0 when it is none, or a control character.
static size_t character(const unsigned char *c)
{
    size_t size = *c < 0x80                 ? 1
                  : *c >= 0xc2 && *c < 0xe0 ? 2
                  : *c >= 0xe0 && *c < 0xf0 ? 3
                  : *c >= 0xf0 && *c < 0xf5 ? 4
                                            : 0;
    for (size_t i = 1; i < size; i++)
        if ((c[i] & 0xc0) != 0x80) return 0;
    bool control = *c < ' ' || *c == 127 || (*c == 0xc2 && c[1] < 0xa0);
    bool overlong = (*c == 0xe0 && c[1] < 0xa0) || (*c == 0xf0 && c[1] < 0x90);
    bool no_code = (*c == 0xed && c[1] >= 0xa0) || (*c == 0xf4 && c[1] >= 0x90);
    return control || overlong || no_code ? 0 : size;
}

void nk_scan_clean(struct nk_buf *out, const char *text)
{
    while (*text) {
        size_t size = character((const unsigned char *)text);
        nk_buf_add(out, size ? text : "?", size ? size : 1);
        text += size ? size : 1;
    }
}

void nk_scan_kernel_name(struct nk_buf *out, const char *name)
{
    struct nk_buf whole = {0};
    nk_demangle(name, &whole);
    nk_scan_clean(out, whole.data ? whole.data : "");
    if (whole.failed) out->failed = true;
    nk_buf_free(&whole);
}

void nk_scan_shown(struct nk_buf *out, const char *path, bool full)
{
    const char *home = getenv("HOME");
    size_t size = home ? strlen(home) : 0;
    if (!full && size > 1 && !strncmp(path, home, size) && (path[size] == '/' || !path[size])) {
        nk_buf_text(out, "~");
        path += size;
    }
    nk_scan_clean(out, path);
}

void nk_scan_title(struct nk_buf *out, const struct nk_scan_item *item, bool full)
{
    if (!*item->package.name)
        nk_scan_shown(out, item->path, full);
    else
        nk_scan_clean(out, item->package.name);
    if (!*item->package.name || !*item->package.version) return;
    nk_buf_text(out, " ");
    nk_scan_clean(out, item->package.version);
}

void nk_scan_title_change(struct nk_buf *out, const struct nk_scan_item *old, const struct nk_scan_item *new_item,
                          bool full)
{
    if (old) nk_scan_title(out, old, full);
    if (old && new_item) nk_buf_text(out, " -> ");
    if (new_item) nk_scan_title(out, new_item, full);
}

void nk_scan_short_verdict(struct nk_buf *out, const struct nk_scan_library *library, const struct nk_target *gpu)
{
    struct nk_scan_counts counts;
    if (!library) {
        nk_buf_text(out, "absent");
        return;
    }
    enum nk_scan_word word = nk_scan_judge(library, gpu, &counts);
    nk_buf_text(out, nk_scan_word(word));
    bool missing = word == NK_SCAN_PARTLY, empty = counts.hollow && word != NK_SCAN_HOLLOW;
    if (!missing && !empty) return;
    nk_buf_text(out, " (");
    if (missing) nk_scan_number(out, counts.none);
    if (missing) nk_buf_text(out, empty ? " missing, " : " missing");
    if (empty) nk_scan_number(out, counts.hollow);
    nk_buf_text(out, empty ? " empty)" : ")");
}

static bool in_list(const struct nk_scan_arch *arch, uint16_t kind, bool relocatable)
{
    return arch->kind == kind && (arch->where == NK_SCAN_RELOCATABLE) == relocatable;
}

static int by_target(const struct nk_scan_arch *a, const struct nk_scan_arch *b)
{
    if (a->arch != b->arch) return a->arch - b->arch;
    if (a->suffix != b->suffix) return a->suffix - b->suffix;
    return a->isa_major * 256 + a->isa_minor - b->isa_major * 256 - b->isa_minor;
}

// The next target behind `last` (NULL: the first), wherever its images lie; NULL at the end. *images: of all places.
static const struct nk_scan_arch *next_target(const struct nk_scan_sum *sum, uint16_t kind, bool relocatable,
                                              const struct nk_scan_arch *last, uint64_t *images)
{
    const struct nk_scan_arch *next = NULL;
    *images = 0;
    for (size_t i = 0; i < sum->arch_count; i++) {
        const struct nk_scan_arch *arch = &sum->archs[i];
        if (!in_list(arch, kind, relocatable) || (last && by_target(arch, last) <= 0)) continue;
        int order = next ? by_target(arch, next) : -1;
        if (order < 0) *images = 0;
        if (order <= 0) *images += arch->images;
        if (order < 0) next = arch;
    }
    return next;
}

void nk_scan_archs(struct nk_buf *out, const struct nk_scan_sum *sum, uint16_t kind, bool relocatable)
{
    uint64_t most = 0, images;
    for (const struct nk_scan_arch *arch = NULL; (arch = next_target(sum, kind, relocatable, arch, &images));)
        if (images > most) most = images;
    for (const struct nk_scan_arch *arch = NULL, *last;
         (last = arch, arch = next_target(sum, kind, relocatable, arch, &images));) {
        struct nk_scan_arch named = *arch;
        if (last) nk_buf_text(out, " ");
        // Which kind it is stands before the list.
        named.kind = kind == NK_KIND_PTX || kind == NK_KIND_PTX_LINK ? NK_KIND_PTX : NK_KIND_CUBIN;
        nk_scan_arch_text(out, &named, true);
        if (images < most) nk_buf_format(out, "(%" PRIu64 ")", images);
    }
}

void nk_scan_codecs(struct nk_buf *out, const struct nk_scan_sum *sum)
{
    static const char *const names[] = {"stored", "lz4", "zstd", "a codec that is not known"};
    bool any = false;
    for (int i = 0; i < 4; i++) {
        if (!sum->codecs[i]) continue;
        nk_buf_format(out, "%s%s", any ? ", " : "", names[i]);
        any = true;
    }
}

static void part(struct nk_buf *out, uint64_t some, uint64_t all)
{
    if (some == all) {
        nk_buf_text(out, all == 1 ? "the " : "all ");
    } else {
        nk_scan_number(out, some);
        nk_buf_text(out, " of ");
    }
    if (all == 1 && some == 1)
        nk_buf_text(out, "only kernel");
    else
        nk_scan_count(out, all, "kernel", "kernels");
}

static void also(struct nk_buf *out, uint64_t kernels, const char *words)
{
    if (!kernels) return;
    nk_buf_text(out, "; ");
    nk_scan_number(out, kernels);
    nk_buf_format(out, " %s", words);
}

void nk_scan_detail(struct nk_buf *out, enum nk_scan_word word, const struct nk_scan_counts *c)
{
    uint64_t all = c->native + c->jit + c->hollow + c->none + c->unknown;
    const char *why = nk_reason_sentence(c->reason);
    if (!all) {
        nk_buf_text(out, word == NK_SCAN_EMPTY ? "no kernel in it" : "its images could not be read");
        return;
    }
    switch (word) {
    case NK_SCAN_PARTLY:
    case NK_SCAN_NONE:
        part(out, c->none, all);
        if (word == NK_SCAN_PARTLY && c->none == all) nk_buf_text(out, " that could be read");
        nk_buf_format(out, " %s not run: %s", all == 1 ? "does" : "do", why);
        // A library that picks its kernels by GPU has one copy a GPU, each in a container of its own.
        if (!c->names_none) nk_buf_text(out, " (kernels of the same names in other containers do)");
        break;
    case NK_SCAN_JIT:
        part(out, c->jit, all);
        nk_buf_text(out, " compiled from PTX at the first use");
        break;
    case NK_SCAN_UNKNOWN:
        if (c->unknown) part(out, c->unknown, all);
        nk_buf_format(out, "%s%s", c->unknown ? ": " : "",
                      c->unknown ? why : "not all of it could be read, and it may hold more kernels");
        break;
    case NK_SCAN_HOLLOW:
        part(out, c->hollow, all);
        nk_buf_text(out, " present but empty");
        return;
    default:
        part(out, c->native, all);
    }
    if (word == NK_SCAN_PARTLY) also(out, c->jit, "compiled from PTX at the first use");
    if (word == NK_SCAN_PARTLY) also(out, c->unknown, "unknown");
    also(out, c->hollow, "present but empty");
}

void nk_scan_not_native(struct nk_buf *out, const struct nk_scan_library *library, const struct nk_target *gpu,
                        nk_scan_kernel_fn write)
{
    static const enum nk_runs order[] = {NK_RUNS_NONE, NK_RUNS_UNKNOWN, NK_RUNS_HOLLOW, NK_RUNS_JIT};
    enum nk_runs *runs = calloc(library->shape_count + 1, sizeof *runs);
    for (size_t i = 0; runs && i < library->shape_count; i++) runs[i] = nk_scan_judge_shape(library, i, gpu).runs;
    for (size_t k = 0; runs && k < sizeof order / sizeof *order; k++)
        for (size_t i = 0; i < library->kernel_count; i++) {
            const struct nk_scan_kernel *kernel = &library->kernels[i];
            if (runs[kernel->shape] == order[k])
                write(out, nk_runs_word(order[k]), nk_scan_text(library, kernel->name));
        }
    if (!runs) out->failed = true;
    free(runs);
}

void nk_scan_sections(struct nk_buf *out, const struct nk_scan_library *library)
{
    const char *before[16] = {0};
    size_t count = 0;
    for (size_t i = 0; i < library->box_count && count < 16; i++) {
        const struct nk_scan_box *box = &library->boxes[i];
        const char *name = nk_scan_text(library, box->section);
        bool known = !(box->flags & NK_FOUND_OUTSIDE) || !*name;
        for (size_t k = 0; k < count; k++) known |= !strcmp(before[k], name);
        if (known) continue;
        if (count) nk_buf_text(out, " ");
        nk_scan_clean(out, name);
        before[count++] = name;
    }
}
