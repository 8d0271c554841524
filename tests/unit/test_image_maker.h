// test_image_maker.h - device code made by hand: ELF files, cubins, containers, and bytes with nothing behind them.
#ifndef NK_TEST_IMAGE_MAKER_H
#define NK_TEST_IMAGE_MAKER_H

#define _GNU_SOURCE
#include "base/buf.h"
#include "base/bytes.h"
#include "base/err.h"

#include <lz4.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include <cmocka.h>

// ---- numbers

static inline void put(struct nk_buf *buf, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++, value >>= 8) nk_buf_fill(buf, (char)value, 1);
}

static inline void patch(struct nk_buf *buf, size_t at, uint64_t value, size_t size)
{
    assert_true(at + size <= buf->size);
    for (size_t i = 0; i < size; i++) buf->data[at + i] = (char)(value >> (8 * i));
}

static inline void pad_to(struct nk_buf *buf, size_t multiple)
{
    while (buf->size % multiple) nk_buf_fill(buf, 0, 1);
}

static inline struct nk_bytes view_of(const struct nk_buf *buf) { return nk_bytes(buf->data, buf->size); }
static inline struct nk_bytes text_of(const char *text) { return nk_bytes(text, strlen(text)); }

static inline void assert_text(struct nk_bytes view, const char *text)
{
    assert_int_equal(view.size, strlen(text));
    assert_memory_equal(view.data, text, view.size);
}

static inline void assert_says(const struct nk_err *err, const char *words)
{
    if (!strstr(err->text, words)) fail_msg("\"%s\" does not say \"%s\"", err->text, words);
}

// ---- bytes that end where the readable memory ends: one byte too many is a crash, with or without a sanitizer

struct guarded {
    uint8_t *map;
    size_t map_size;
    struct nk_bytes bytes;
};

static inline struct guarded guard(const void *data, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), body = (size + page - 1) / page * page;
    struct guarded guarded = {.map_size = body + page};
    guarded.map = mmap(NULL, guarded.map_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(guarded.map != MAP_FAILED);
    assert_int_equal(mprotect(guarded.map + body, page, PROT_NONE), 0);
    if (size) memcpy(guarded.map + body - size, data, size);
    guarded.bytes = nk_bytes(guarded.map + body - size, size);
    return guarded;
}

static inline void unguard(struct guarded *guarded) { munmap(guarded->map, guarded->map_size); }

// Runs `each` on all beginnings of the bytes (the whole included), and on the bytes with every single bit turned over.
static inline void for_all_cuts(const struct nk_buf *buf, void (*each)(struct nk_bytes))
{
    for (size_t size = 0; size <= buf->size; size++) {
        struct guarded cut = guard(buf->data, size);
        each(cut.bytes);
        unguard(&cut);
    }
}

static inline void for_all_flips(const struct nk_buf *buf, void (*each)(struct nk_bytes))
{
    struct guarded copy = guard(buf->data, buf->size);
    uint8_t *bytes = (uint8_t *)(uintptr_t)copy.bytes.data;
    for (size_t bit = 0; bit < buf->size * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        each(copy.bytes);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    unguard(&copy);
}

// ---- ELF files

struct made_section {
    const char *name;
    uint32_t type;
    const void *data;
    size_t size;
    uint32_t link, info;
    uint64_t entry_size, flags;
};

struct made_elf {
    uint16_t type, machine;
    uint8_t os_abi, abi_version;
    uint32_t version, flags;
    struct made_section sections[24]; // up to the first without a name
    uint32_t note_segment;            // index + 1 of a section that PT_NOTE covers too
};

#define ELF_SHNUM    60
#define ELF_SHOFF    40
#define ELF_SHSTRNDX 62

// Header, contents, program header (if any), .shstrtab, section headers. Section 0 is the null section.
static inline void make_elf(struct nk_buf *out, const struct made_elf *made)
{
    size_t base = out->size, offsets[24], names_at, headers, n = 0, name_at = 1;
    nk_buf_add(out, "\177ELF\2\1\1", 7);
    put(out, made->os_abi, 1);
    put(out, made->abi_version, 1);
    nk_buf_fill(out, 0, 7);
    put(out, made->type, 2);
    put(out, made->machine, 2);
    put(out, made->version, 4);
    nk_buf_fill(out, 0, 8 + 8 + 8);
    put(out, made->flags, 4);
    put(out, 64, 2);
    put(out, 56, 2);
    put(out, made->note_segment ? 1 : 0, 2);
    put(out, 64, 2);
    nk_buf_fill(out, 0, 4);
    for (; made->sections[n].name; n++) {
        pad_to(out, 8);
        offsets[n] = out->size - base;
        if (made->sections[n].type != 8) nk_buf_add(out, made->sections[n].data, made->sections[n].size);
    }
    pad_to(out, 8);
    if (made->note_segment) {
        patch(out, base + 32, out->size - base, 8);
        put(out, 4, 4);
        put(out, 4, 4);
        put(out, offsets[made->note_segment - 1], 8);
        put(out, 0, 16);
        put(out, made->sections[made->note_segment - 1].size, 8);
        put(out, 0, 16);
    }
    names_at = out->size - base;
    nk_buf_fill(out, 0, 1);
    for (size_t i = 0; i < n; i++) nk_buf_add(out, made->sections[i].name, strlen(made->sections[i].name) + 1);
    size_t names_size = out->size - base - names_at;
    pad_to(out, 8);
    headers = out->size - base;
    patch(out, base + ELF_SHOFF, headers, 8);
    patch(out, base + ELF_SHNUM, n + 2, 2);
    patch(out, base + ELF_SHSTRNDX, n + 1, 2);
    nk_buf_fill(out, 0, 64);
    for (size_t i = 0; i <= n; i++) {
        const struct made_section *section = &made->sections[i];
        put(out, i < n ? name_at : 0, 4);
        put(out, i < n ? section->type : 3, 4);
        put(out, i < n ? section->flags : 0, 8);
        put(out, 0, 8);
        put(out, i < n ? offsets[i] : names_at, 8);
        put(out, i < n ? section->size : names_size, 8);
        put(out, i < n ? section->link : 0, 4);
        put(out, i < n ? section->info : 0, 4);
        put(out, 8, 8);
        put(out, i < n ? section->entry_size : 0, 8);
        if (i < n) name_at += strlen(section->name) + 1;
    }
}

// ---- cubins

struct made_kernel {
    const char *name;
    uint64_t size;
    uint8_t info, other; // 0: STB_GLOBAL | STT_FUNC, and a kernel (0x10)
    uint16_t section;    // 0: 1
};

struct made_cubin {
    uint16_t sm;
    bool abi8, relocatable;
    uint32_t more_flags;
    struct made_kernel kernels[8]; // up to the first without a name
    struct made_section extra;
};

static inline void make_cubin(struct nk_buf *out, const struct made_cubin *made)
{
    struct nk_buf strings = {0}, symbols = {0};
    nk_buf_fill(&strings, 0, 1);
    nk_buf_fill(&symbols, 0, 24);
    for (const struct made_kernel *kernel = made->kernels; kernel->name; kernel++) {
        put(&symbols, strings.size, 4);
        put(&symbols, kernel->info ? kernel->info : 0x12, 1);
        put(&symbols, kernel->other ? kernel->other : 0x10, 1);
        put(&symbols, kernel->section ? kernel->section : 1, 2);
        put(&symbols, 0, 8);
        put(&symbols, kernel->size, 8);
        nk_buf_add(&strings, kernel->name, strlen(kernel->name) + 1);
    }
    struct made_elf elf = {.type = made->relocatable ? 1 : 2,
                           .machine = 190,
                           .os_abi = made->abi8 ? 0x41 : 0x33,
                           .abi_version = made->abi8 ? 8 : 7,
                           .version = made->abi8 ? 1 : 126,
                           .flags =
                               made->more_flags | (uint32_t)(made->abi8 ? made->sm << 8 : made->sm << 16 | made->sm),
                           .sections = {{".strtab", 3, strings.data, strings.size, 0, 0, 0, 0},
                                        {".symtab", 2, symbols.data, symbols.size, 1, 0, 24, 0},
                                        made->extra}};
    make_elf(out, &elf);
    nk_buf_free(&strings);
    nk_buf_free(&symbols);
}

// One member of an `ar` archive, header and all.
static inline void make_member(struct nk_buf *out, const char *name, const void *bytes, size_t size)
{
    nk_buf_format(out, "%-16s%-12s%-6s%-6s%-8s%-10zu`\n", name, "0", "0", "0", "644", size);
    nk_buf_add(out, bytes, size);
    if (size % 2) nk_buf_text(out, "\n");
}

// ---- containers

enum { MAKE_STORED = 0, MAKE_LZ4 = 0x2000, MAKE_ZSTD = 0x8000 };

struct made_entry {
    uint16_t kind;
    uint32_t arch;
    uint16_t major, minor;
    uint64_t flags; // 0x11 is added
    uint32_t codec; // MAKE_*
    struct nk_bytes payload;
    const char *name, *options;
    struct nk_bytes list; // the option record of a concatenated entry
};

// Returns where the entry starts.
static inline size_t make_entry(struct nk_buf *out, const struct made_entry *made)
{
    struct nk_buf packed = {0}, texts = {0};
    struct nk_bytes stored = made->payload;
    uint32_t name_at = 0, record_at = 0;
    if (made->codec) {
        packed.data = malloc(stored.size * 2 + 1024);
        assert_non_null(packed.data);
        packed.size = made->codec == MAKE_LZ4
                          ? (size_t)LZ4_compress_default((const char *)stored.data, packed.data, (int)stored.size,
                                                         (int)stored.size * 2 + 1024)
                          : ZSTD_compress(packed.data, stored.size * 2 + 1024, stored.data, stored.size, 3);
        stored = nk_bytes(packed.data, packed.size);
    }
    if (made->name) {
        name_at = 64;
        nk_buf_add(&texts, made->name, strlen(made->name) + 1);
        pad_to(&texts, 8);
    }
    if (made->options || made->list.size) {
        record_at = (uint32_t)(64 + texts.size);
        if (made->options) {
            put(&texts, record_at + 8, 4);
            put(&texts, strlen(made->options), 4);
            nk_buf_add(&texts, made->options, strlen(made->options) + 1);
        }
        nk_buf_add(&texts, made->list.data, made->list.size);
        pad_to(&texts, 8);
    }
    size_t at = out->size, padded = (stored.size + 7) / 8 * 8;
    put(out, made->kind, 2);
    put(out, 0x0101, 2);
    put(out, 64 + texts.size, 4);
    put(out, padded, 8);
    put(out, made->codec ? stored.size : 0, 4);
    put(out, record_at, 4);
    put(out, made->minor, 2);
    put(out, made->major, 2);
    put(out, made->arch, 4);
    put(out, name_at, 4);
    put(out, made->name ? strlen(made->name) : 0, 4);
    put(out, made->flags | 0x11 | made->codec, 8);
    put(out, 0, 8);
    put(out, made->codec ? made->payload.size : 0, 8);
    nk_buf_add(out, texts.data, texts.size);
    nk_buf_add(out, stored.data, stored.size);
    nk_buf_fill(out, 0, padded - stored.size);
    free(packed.data);
    nk_buf_free(&texts);
    return at;
}

static inline size_t begin_container(struct nk_buf *out)
{
    size_t at = out->size;
    nk_buf_add(out, "\x50\xed\x55\xba\x01\x00\x10\x00\0\0\0\0\0\0\0\0", 16);
    return at;
}

static inline void end_container(struct nk_buf *out, size_t at) { patch(out, at + 8, out->size - at - 16, 8); }

// One part of the list of a concatenated entry. `options` NULL: none.
static inline void make_part(struct nk_buf *list, uint16_t kind, uint32_t arch, uint64_t flags, uint32_t offset,
                             uint64_t size, const char *options)
{
    put(list, kind, 2);
    put(list, 0x0101, 2);
    put(list, offset, 4);
    put(list, size, 8);
    put(list, 0, 4);
    put(list, options ? 64 : 0, 4);
    put(list, 0, 2);
    put(list, 9, 2);
    put(list, arch, 4);
    put(list, 0, 8);
    put(list, flags | 0x11, 8);
    put(list, 0, 16);
    if (!options) return;
    size_t start = list->size;
    put(list, 72, 4);
    put(list, strlen(options), 4);
    nk_buf_add(list, options, strlen(options) + 1);
    while ((list->size - start) % 8) nk_buf_fill(list, 0, 1);
}

#define PTX_HEAD(isa, target)                                                                                          \
    "//\n// Generated by NVIDIA NVVM Compiler\n//\n\n.version " isa "\n.target " target "\n.address_size 64\n"

#endif
