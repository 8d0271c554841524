// elf.c - 64-bit little-endian ELF files: header, sections, segments, symbols, build-id.
#include "image/elf.h"

#include <string.h>

// The layouts of the ELF specification (System V gABI, chapter 4), read by copy because input need not be aligned.
struct raw_header {
    uint8_t ident[16];
    uint16_t type, machine;
    uint32_t version;
    uint64_t entry, segment_table, section_table;
    uint32_t flags;
    uint16_t size, segment_size, segments, section_size, sections, names;
};

struct raw_section {
    uint32_t name, type;
    uint64_t flags, address, offset, size;
    uint32_t link, info;
    uint64_t align, entry_size;
};

struct raw_segment {
    uint32_t type, flags;
    uint64_t offset, address, physical, file_size, memory_size, align;
};

struct raw_symbol {
    uint32_t name;
    uint8_t info, other;
    uint16_t section;
    uint64_t value, size;
};

_Static_assert(sizeof(struct raw_header) == 64, "layout");
_Static_assert(sizeof(struct raw_section) == 64, "layout");
_Static_assert(sizeof(struct raw_segment) == 56, "layout");
_Static_assert(sizeof(struct raw_symbol) == 24, "layout");

#define SHT_STRTAB     3
#define SHT_NOTE       7
#define SHN_XINDEX     0xffff
#define PN_XNUM        0xffff
#define PT_NOTE        4
#define NT_GNU_BUILDID 3

// Names are cut at this length: a string table without a single NUL must not be searched to its end for each of a
// million symbols. Real names (mangled templates) have a few KB.
#define LONGEST_NAME 65536u

static void read_name(struct nk_bytes strings, uint32_t offset, struct nk_bytes *out)
{
    struct nk_bytes rest;
    if (!nk_bytes_from(strings, offset, &rest)) return;
    if (rest.size > LONGEST_NAME) rest.size = LONGEST_NAME;
    nk_bytes_string(rest, 0, out);
}

static int check_ident(const struct raw_header *raw, struct nk_err *err)
{
    if (memcmp(raw->ident, "\177ELF", 4) != 0)
        return nk_fail(err, NK_ERR_BAD_INPUT, "an ELF file was expected, it starts with %02x %02x %02x %02x",
                       raw->ident[0], raw->ident[1], raw->ident[2], raw->ident[3]);
    if (raw->ident[4] == 1)
        return nk_fail(err, NK_ERR_UNSUPPORTED, "a 64-bit ELF file was expected, this one is 32-bit");
    if (raw->ident[4] != 2)
        return nk_fail(err, NK_ERR_BAD_INPUT, "a 64-bit ELF file was expected, its class is %u", raw->ident[4]);
    if (raw->ident[5] == 2)
        return nk_fail(err, NK_ERR_UNSUPPORTED, "a little-endian ELF file was expected, this one is big-endian");
    if (raw->ident[5] != 1)
        return nk_fail(err, NK_ERR_BAD_INPUT, "a little-endian ELF file was expected, its byte order is %u",
                       raw->ident[5]);
    return 0;
}

// How many of `count` headers of `size` bytes at `offset` lie wholly inside the file.
static uint32_t headers_inside(struct nk_bytes file, uint64_t offset, uint32_t size, uint64_t count, size_t least)
{
    if (size < least || offset > file.size) return 0;
    uint64_t fit = (file.size - offset) / size;
    uint64_t inside = count < fit ? count : fit;
    return inside < UINT32_MAX ? (uint32_t)inside : UINT32_MAX;
}

// Counts that do not fit their 16 bits stand in section 0: gABI, "e_shnum", "e_phnum", "e_shstrndx".
static void open_tables(struct nk_elf *elf, const struct raw_header *raw)
{
    struct raw_section first = {0};
    uint64_t sections = raw->sections, segments = raw->segments, names = raw->names;
    if (elf->section_table && nk_bytes_copy(elf->file, elf->section_table, &first, sizeof first)) {
        if (!sections) sections = first.size;
        if (segments == PN_XNUM) segments = first.info;
        if (names == SHN_XINDEX) names = first.link;
    }
    if (elf->section_table) { // 0: there are none, whatever their count says
        elf->sections = headers_inside(elf->file, elf->section_table, elf->section_size, sections, sizeof first);
        elf->sections_lost = elf->sections < sections;
    }
    elf->segments =
        headers_inside(elf->file, elf->segment_table, elf->segment_size, segments, sizeof(struct raw_segment));
    elf->segments_lost = elf->segments < segments;
    struct nk_elf_section strings;
    if (names < elf->sections && nk_elf_section(elf, (uint32_t)names, &strings) && strings.type == SHT_STRTAB)
        if (!nk_elf_contents(elf, &strings, &elf->names)) elf->names = nk_bytes(NULL, 0);
}

int nk_elf_open(struct nk_elf *elf, struct nk_bytes file, struct nk_err *err)
{
    struct raw_header raw;
    *elf = (struct nk_elf){.file = file};
    if (!nk_bytes_copy(file, 0, &raw, sizeof raw))
        return nk_fail(err, NK_ERR_BAD_INPUT, "an ELF header of 64 bytes was expected, only %zu bytes are there",
                       file.size);
    if (check_ident(&raw, err)) return -1;
    elf->type = raw.type;
    elf->machine = raw.machine;
    elf->os_abi = raw.ident[7];
    elf->abi_version = raw.ident[8];
    elf->version = raw.version;
    elf->flags = raw.flags;
    elf->section_table = raw.section_table;
    elf->section_size = raw.section_size;
    elf->segment_table = raw.segment_table;
    elf->segment_size = raw.segment_size;
    open_tables(elf, &raw);
    return 0;
}

bool nk_elf_section(const struct nk_elf *elf, uint32_t index, struct nk_elf_section *out)
{
    struct raw_section raw;
    if (index >= elf->sections) return false;
    if (!nk_bytes_copy(elf->file, elf->section_table + (uint64_t)index * elf->section_size, &raw, sizeof raw))
        return false;
    *out = (struct nk_elf_section){.index = index,
                                   .type = raw.type,
                                   .link = raw.link,
                                   .info = raw.info,
                                   .flags = raw.flags,
                                   .address = raw.address,
                                   .offset = raw.offset,
                                   .size = raw.size,
                                   .entry_size = raw.entry_size};
    read_name(elf->names, raw.name, &out->name);
    return true;
}

bool nk_elf_segment(const struct nk_elf *elf, uint32_t index, struct nk_elf_segment *out)
{
    struct raw_segment raw;
    if (index >= elf->segments) return false;
    if (!nk_bytes_copy(elf->file, elf->segment_table + (uint64_t)index * elf->segment_size, &raw, sizeof raw))
        return false;
    *out = (struct nk_elf_segment){raw.type, raw.flags, raw.offset, raw.address, raw.file_size, raw.memory_size};
    return true;
}

bool nk_elf_find_name(const struct nk_elf *elf, const char *name, struct nk_elf_section *out)
{
    struct nk_bytes wanted = nk_bytes(name, strlen(name));
    for (uint32_t i = 0; i < elf->sections; i++)
        if (nk_elf_section(elf, i, out) && nk_bytes_equal(out->name, wanted)) return true;
    return false;
}

bool nk_elf_find_type(const struct nk_elf *elf, uint32_t type, struct nk_elf_section *out)
{
    for (uint32_t i = 0; i < elf->sections; i++)
        if (nk_elf_section(elf, i, out) && out->type == type) return true;
    return false;
}

bool nk_elf_contents(const struct nk_elf *elf, const struct nk_elf_section *section, struct nk_bytes *out)
{
    if (section->type == NK_SHT_NOBITS) {
        *out = nk_bytes(NULL, 0);
        return true;
    }
    return nk_bytes_part(elf->file, section->offset, section->size, out);
}

// ---- build-id

static uint64_t align4(uint64_t n) { return (n + 3) & ~3ull; }

static bool write_hex(struct nk_bytes id, char out[NK_BUILD_ID_TEXT])
{
    if (!id.size || id.size > (NK_BUILD_ID_TEXT - 1) / 2) return false;
    for (size_t i = 0; i < id.size; i++) {
        out[2 * i] = "0123456789abcdef"[id.data[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[id.data[i] & 15];
    }
    out[2 * id.size] = 0;
    return true;
}

// Notes are {u32 name size, u32 size, u32 type, name, contents}, both padded to 4 bytes.
static bool build_id_in(struct nk_bytes notes, char out[NK_BUILD_ID_TEXT])
{
    uint32_t name_size, size, type;
    for (uint64_t at = 0; nk_bytes_u32(notes, at, &name_size) && nk_bytes_u32(notes, at + 4, &size) &&
                          nk_bytes_u32(notes, at + 8, &type);
         at += 12 + align4(name_size) + align4(size)) {
        struct nk_bytes name, contents;
        if (type != NT_GNU_BUILDID || !nk_bytes_part(notes, at + 12, name_size, &name)) continue;
        if (!nk_bytes_equal(name, nk_bytes("GNU", 4))) continue;
        if (nk_bytes_part(notes, at + 12 + align4(name_size), size, &contents)) return write_hex(contents, out);
    }
    return false;
}

bool nk_elf_build_id(const struct nk_elf *elf, char out[NK_BUILD_ID_TEXT])
{
    struct nk_elf_segment segment;
    struct nk_elf_section section;
    struct nk_bytes notes;
    out[0] = 0;
    for (uint32_t i = 0; i < elf->segments; i++)
        if (nk_elf_segment(elf, i, &segment) && segment.type == PT_NOTE &&
            nk_bytes_part(elf->file, segment.offset, segment.file_size, &notes) && build_id_in(notes, out))
            return true;
    for (uint32_t i = 0; i < elf->sections; i++)
        if (nk_elf_section(elf, i, &section) && section.type == SHT_NOTE && nk_elf_contents(elf, &section, &notes) &&
            build_id_in(notes, out))
            return true;
    out[0] = 0;
    return false;
}

// ---- symbols

int nk_elf_symbols_begin(const struct nk_elf *elf, uint32_t type, struct nk_elf_symbols *walk, struct nk_err *err)
{
    struct nk_elf_section symbols, strings;
    *walk = (struct nk_elf_symbols){0};
    if (!nk_elf_find_type(elf, type, &symbols))
        return nk_fail(err, NK_ERR_BAD_INPUT, "a symbol table was expected, none of the %u sections is one%s",
                       elf->sections, elf->sections_lost ? " (section headers lie outside the file)" : "");
    if (!nk_elf_contents(elf, &symbols, &walk->table))
        return nk_fail(err, NK_ERR_BAD_INPUT,
                       "the symbol table (0x%llx bytes at 0x%llx) lies outside the file of %zu bytes",
                       (unsigned long long)symbols.size, (unsigned long long)symbols.offset, elf->file.size);
    if (symbols.entry_size < sizeof(struct raw_symbol))
        return nk_fail(err, NK_ERR_BAD_INPUT, "symbols of 24 bytes were expected, the table says %llu",
                       (unsigned long long)symbols.entry_size);
    if (!nk_elf_section(elf, symbols.link, &strings) || strings.type != SHT_STRTAB ||
        !nk_elf_contents(elf, &strings, &walk->strings))
        return nk_fail(err, NK_ERR_BAD_INPUT,
                       "the symbol table names section %u as its strings, which is no string table", symbols.link);
    walk->entry_size = symbols.entry_size;
    return 0;
}

bool nk_elf_symbols_next(struct nk_elf_symbols *walk, struct nk_elf_symbol *out)
{
    struct raw_symbol raw;
    if (!nk_bytes_copy(walk->table, walk->at, &raw, sizeof raw)) return false;
    *out = (struct nk_elf_symbol){.type = raw.info & 15,
                                  .binding = raw.info >> 4,
                                  .other = raw.other,
                                  .section = raw.section,
                                  .value = raw.value,
                                  .size = raw.size,
                                  .index = walk->at / walk->entry_size};
    read_name(walk->strings, raw.name, &out->name);
    // An entry size near 2^64 must end the walk, not wrap it.
    walk->at = walk->entry_size < walk->table.size - walk->at ? walk->at + walk->entry_size : walk->table.size;
    return true;
}

void nk_elf_symbols_cover(const struct nk_elf_symbols *table, const uint64_t *addresses, size_t count,
                          struct nk_elf_symbol *found)
{
    struct raw_symbol raw;
    uint64_t lowest = UINT64_MAX, highest = 0;
    for (size_t i = 0; i < count; i++) {
        if (addresses[i] < lowest) lowest = addresses[i];
        if (addresses[i] > highest) highest = addresses[i];
    }
    struct nk_elf_symbols walk = *table;
    for (walk.at = 0; nk_bytes_copy(table->table, walk.at, &raw, sizeof raw); walk.at += walk.entry_size) {
        bool function = (raw.info & 15) == NK_STT_FUNC && raw.section && raw.size;
        if (function && raw.value <= highest && (lowest < raw.value || lowest - raw.value < raw.size))
            for (size_t i = 0; i < count; i++)
                if (!found[i].size && addresses[i] >= raw.value && addresses[i] - raw.value < raw.size) {
                    struct nk_elf_symbols here = walk;
                    nk_elf_symbols_next(&here, &found[i]);
                }
        if (walk.entry_size >= table->table.size - walk.at) break;
    }
}

// ---- extent

static void reach(uint64_t *end, uint64_t offset, uint64_t size)
{
    if (size <= UINT64_MAX - offset && offset + size > *end) *end = offset + size;
}

uint64_t nk_elf_extent(struct nk_bytes view)
{
    struct nk_elf elf;
    struct raw_header raw;
    if (nk_elf_open(&elf, view, NULL) || !nk_bytes_copy(view, 0, &raw, sizeof raw)) return 0;
    uint64_t end = sizeof raw;
    if (raw.section_table)
        reach(&end, raw.section_table, (uint64_t)(raw.sections ? raw.sections : 1) * raw.section_size);
    if (raw.segment_table) reach(&end, raw.segment_table, (uint64_t)raw.segments * raw.segment_size);
    if (elf.sections) reach(&end, elf.section_table, (uint64_t)elf.sections * elf.section_size);
    for (uint32_t i = 0; i < elf.sections; i++) {
        struct nk_elf_section section;
        if (nk_elf_section(&elf, i, &section) && section.type && section.type != NK_SHT_NOBITS)
            reach(&end, section.offset, section.size);
    }
    for (uint32_t i = 0; i < elf.segments; i++) {
        struct nk_elf_segment segment;
        if (nk_elf_segment(&elf, i, &segment)) reach(&end, segment.offset, segment.file_size);
    }
    return end;
}
