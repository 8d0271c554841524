// prefix.c - the kernels of a cubin from its first bytes.
//
// Two layouts exist. Of ptxas: header, .shstrtab at 64, .strtab, .symtab, all else, section headers somewhere behind.
// The ends of the three are not written before the section headers, so they are found by what stands in them: .strtab
// begins with the same section names as .shstrtab, and no name has a control byte, which the first symbols have. Of
// linkers: section headers right behind the header, which then say everything.
#include "scan/prefix.h"
#include "image/cubin.h"
#include "scan/hash.h"

#include <stdlib.h>
#include <string.h>

#define STEP        4096u
#define SYMBOL      24u
#define STO_ENTRY   0x10u
#define SHN_RESERVE 0xff00u
enum {
    MOST_SHIFTS = 8
}; // short strings that may come before the section names in .strtab (relocatable images: 1 to 7)

static const char constant[] = ".nv.constant0.";

struct symbol {
    uint32_t name;
    bool local;
    uint64_t size;
};

struct search {
    struct nk_partial *p;
    uint64_t names_end; // of .shstrtab; zeros may follow up to .strtab
    uint64_t strtab, symtab;
    uint64_t n, sum; // names of .nv.constant0 sections: how many, and the sum of their hashes
    uint16_t sections;
    struct symbol *kernels;
};

static bool more(struct search *s, uint64_t to)
{
    return nk_partial_more(s->p, to) || nk_partial_more(s->p, s->p->size);
}

// ---- .shstrtab

// The end (its NUL) of the string at `at`; false when the image ends before.
static bool string_end(struct search *s, uint64_t at, uint64_t *end)
{
    for (uint64_t from = at;;) {
        const uint8_t *nul = from < s->p->have ? memchr(s->p->data + from, 0, s->p->have - (size_t)from) : NULL;
        if (nul) {
            *end = (uint64_t)(nul - s->p->data);
            return true;
        }
        from = s->p->have;
        if (s->p->have >= s->p->size || !nk_partial_more(s->p, from + STEP < s->p->size ? from + STEP : s->p->size))
            return false;
    }
}

// Reads section names up to the place where they begin again.
static bool read_names(struct search *s)
{
    uint64_t end;
    for (uint64_t at = 65; string_end(s, at, &end); at = end + 1) {
        const char *text = (const char *)s->p->data + at;
        size_t size = (size_t)(end - at);
        if (size == 9 && at > 65 && !memcmp(text, ".shstrtab", 9)) {
            s->strtab = at - 1;
            return true;
        }
        if (size) s->names_end = end;
        if (size > sizeof constant - 1 && !memcmp(text, constant, sizeof constant - 1)) {
            s->n++;
            s->sum += nk_scan_hash(text + sizeof constant - 1, size - sizeof constant + 1);
        }
    }
    return false;
}

// ---- .symtab

// Is one of the 64 bytes at `at` one from 1 to 31? (Compilers make vectors of it.)
static bool has_control(const uint8_t *at)
{
    uint8_t hit = 0;
    for (int i = 0; i < 64; i++) hit = (uint8_t)(hit | ((uint8_t)(at[i] - 1) < 31));
    return hit;
}

// The first byte from 1 to 31 at or after `at`, or what is decoded so far.
static uint64_t next_control(const struct nk_partial *p, uint64_t at)
{
    while (at + 64 <= p->have && !has_control(p->data + at)) at += 64;
    while (at < p->have && (!p->data[at] || p->data[at] >= 32)) at++;
    return at;
}

// The first control byte behind half of .shstrtab's size lies in symbol 1. (A whole one would be too much: .strtab
// of CUDA 13 lacks some of the section names.)
static bool find_symbols(struct search *s)
{
    uint64_t at = s->strtab + (s->names_end - 64) / 2;
    while ((at = next_control(s->p, at)) >= s->p->have)
        if (!nk_partial_more(s->p, at + STEP < s->p->size ? at + STEP : s->p->size) || at >= s->p->size) return false;
    uint64_t first = at & ~7ull;
    if (first < s->strtab + SYMBOL) return false;
    s->symtab = first - SYMBOL;
    for (uint64_t i = s->symtab; i < first; i++)
        if (s->p->data[i]) return false; // symbol 0 is all zeros
    return true;
}

// Reads symbols until all kernels were met.
static bool read_symbols(struct search *s)
{
    uint64_t found = 0, strings = s->symtab - s->strtab;
    for (uint64_t at = s->symtab + SYMBOL; found < s->n; at += SYMBOL) {
        uint32_t name = 0;
        uint16_t section = 0;
        uint8_t info = 0, other = 0;
        uint64_t size = 0;
        if (at + SYMBOL > s->p->have && !more(s, at + STEP)) {
            if (at + SYMBOL > s->p->have) return false;
        }
        struct nk_bytes view = nk_bytes(s->p->data, s->p->have);
        if (!nk_bytes_u32(view, at, &name) || !nk_bytes_u8(view, at + 4, &info) || !nk_bytes_u8(view, at + 5, &other) ||
            !nk_bytes_u16(view, at + 6, &section) || !nk_bytes_u64(view, at + 16, &size))
            return false;
        // The string table may begin a little earlier than is known here.
        if (name >= strings + 256 || (section >= s->sections && section < SHN_RESERVE)) return false;
        if ((info & 15) != NK_STT_FUNC || !(other & STO_ENTRY) || !section) continue;
        s->kernels[found++] = (struct symbol){name, info >> 4 == 0, size};
    }
    return true;
}

// Do the names of the kernels, with .strtab beginning at `start`, agree with those of the sections?
static bool agree(const struct search *s, uint64_t start)
{
    uint64_t sum = 0;
    struct nk_bytes strings = nk_bytes(s->p->data + start, (size_t)(s->symtab - start)), name;
    for (uint64_t i = 0; i < s->n; i++) {
        if (!nk_bytes_string(strings, s->kernels[i].name, &name) || !name.size) return false;
        sum += nk_scan_hash(name.data, name.size);
    }
    return sum == s->sum;
}

static bool find_strings(struct search *s)
{
    for (int shift = 0; shift <= MOST_SHIFTS; shift++) {
        if (agree(s, s->strtab)) return true;
        uint64_t at = s->strtab;
        while (--at > 64 && s->p->data[at]) continue;
        if (at <= 64) return false;
        s->strtab = at;
    }
    return false;
}

static int hand_out(const struct search *s, nk_kernel_fn each, void *user)
{
    int stop = 0;
    struct nk_bytes strings = nk_bytes(s->p->data + s->strtab, (size_t)(s->symtab - s->strtab)), name;
    for (uint64_t i = 0; !stop && i < s->n; i++)
        if (nk_bytes_string(strings, s->kernels[i].name, &name))
            stop = each(
                &(struct nk_kernel_view){.name = name, .body = s->kernels[i].size, .local = s->kernels[i].local}, user);
    return stop;
}

static int by_contents(struct search *s, nk_kernel_fn each, void *user)
{
    if (!read_names(s)) return -1;
    if (!s->n) return 0;
    s->kernels = calloc(s->n, sizeof *s->kernels);
    bool good = s->kernels && find_symbols(s) && read_symbols(s) && find_strings(s);
    int result = good ? hand_out(s, each, user) : -1;
    free(s->kernels);
    return result;
}

// ---- section headers first

static int by_headers(struct search *s, nk_kernel_fn each, void *user)
{
    struct nk_elf elf;
    struct nk_elf_section symbols, strings;
    struct nk_cubin cubin;
    struct nk_cubin_kernels walk;
    struct nk_cubin_kernel kernel;
    int result, stop = 0;
    if (!nk_partial_more(s->p, 64 + 64ull * s->sections)) return -1;
    if (nk_elf_open(&elf, nk_bytes(s->p->data, s->p->have), NULL) || !nk_elf_find_type(&elf, NK_SHT_SYMTAB, &symbols) ||
        !nk_elf_section(&elf, symbols.link, &strings))
        return -1;
    if (symbols.size > s->p->size || strings.size > s->p->size ||
        !nk_partial_more(s->p, symbols.offset + symbols.size) || !nk_partial_more(s->p, strings.offset + strings.size))
        return -1;
    struct nk_bytes view = nk_bytes(s->p->data, s->p->have);
    // Twice: nothing may be handed out that turns out to be damaged.
    for (int round = 0; round < 2; round++) {
        if (nk_cubin_open(&cubin, view, NULL) || nk_cubin_kernels_begin(&cubin, &walk, NULL)) return -1;
        while (!stop && (result = nk_cubin_kernels_next(&walk, &kernel, NULL)) != 0) {
            if (result < 0) return -1;
            if (round)
                stop = each(&(struct nk_kernel_view){.name = kernel.name, .body = kernel.size, .local = kernel.local},
                            user);
        }
    }
    return stop;
}

int nk_prefix_kernels(struct nk_partial *partial, const struct nk_entry_view *entry, nk_kernel_fn each, void *user,
                      struct nk_prefix_head *head)
{
    struct search s = {.p = partial};
    struct nk_cubin cubin;
    uint64_t table = 0;
    if (entry->image.kind != NK_KIND_CUBIN || !nk_partial_begin(partial, entry) || !nk_partial_more(partial, 128))
        return -1;
    struct nk_bytes view = nk_bytes(partial->data, 64);
    if (nk_cubin_open(&cubin, view, NULL) || !nk_bytes_u64(view, 40, &table) || !nk_bytes_u16(view, 60, &s.sections))
        return -1;
    *head = (struct nk_prefix_head){cubin.relocatable, cubin.abi8};
    return table == 64 ? by_headers(&s, each, user) : by_contents(&s, each, user);
}
