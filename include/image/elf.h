// elf.h - 64-bit little-endian ELF files: header, sections, segments, symbols, build-id.
//
// Host libraries and cubins alike. A reader is a view: it owns nothing, allocates nothing and is valid as long as the
// bytes behind it. Every offset, count and link in the file is checked where it is used, so a damaged file costs what
// is damaged and no more. The `sh_link` of relocation sections is never looked at (ptxas 12.0 to 12.2 wrote a wrong
// one).
#ifndef NK_IMAGE_ELF_H
#define NK_IMAGE_ELF_H

#include "base/bytes.h"
#include "base/err.h"

#define NK_EM_CUDA       190
#define NK_ET_REL        1
#define NK_SHT_PROGBITS  1
#define NK_SHT_SYMTAB    2
#define NK_SHT_NOBITS    8
#define NK_SHT_DYNSYM    11
#define NK_SHF_EXECINSTR 4
#define NK_PT_LOAD       1
#define NK_STT_FUNC      2
#define NK_BUILD_ID_TEXT 129 // hex of up to 64 bytes, and the NUL

struct nk_elf {
    struct nk_bytes file;
    uint16_t type, machine;
    uint8_t os_abi, abi_version;
    uint32_t version, flags;
    uint64_t section_table, segment_table; // file offsets
    uint32_t section_size, segment_size;   // bytes of one header
    uint32_t sections, segments;           // headers that lie inside the file
    bool sections_lost, segments_lost;     // the ELF header promises more of them than are there
    struct nk_bytes names;                 // section names; empty when there are none
};

struct nk_elf_section {
    struct nk_bytes name; // empty when it cannot be read, or has more than 64 KB
    uint32_t index, type, link, info;
    uint64_t flags, address, offset, size, entry_size;
};

struct nk_elf_segment {
    uint32_t type, flags;
    uint64_t offset, address, file_size, memory_size;
};

struct nk_elf_symbol {
    struct nk_bytes name; // .data is NULL when the name lies outside the string table, or has more than 64 KB
    uint8_t type, binding, other;
    uint16_t section;
    uint64_t value, size;
    uint64_t index;
};

struct nk_elf_symbols {
    struct nk_bytes table, strings;
    uint64_t at, entry_size;
};

// 0, or -1 with a sentence: too short, no ELF, 32-bit, big-endian. Lost tables are no error here (see the two flags).
int nk_elf_open(struct nk_elf *elf, struct nk_bytes file, struct nk_err *err);

// False when there is no section (segment) of that index.
bool nk_elf_section(const struct nk_elf *elf, uint32_t index, struct nk_elf_section *out);
bool nk_elf_segment(const struct nk_elf *elf, uint32_t index, struct nk_elf_segment *out);
// The first section of that name (type); false when there is none.
bool nk_elf_find_name(const struct nk_elf *elf, const char *name, struct nk_elf_section *out);
bool nk_elf_find_type(const struct nk_elf *elf, uint32_t type, struct nk_elf_section *out);
// The bytes of a section (none for NOBITS); false when they do not lie inside the file.
bool nk_elf_contents(const struct nk_elf *elf, const struct nk_elf_section *section, struct nk_bytes *out);

// Build-id as hex text; false (and an empty text) when the file has none.
bool nk_elf_build_id(const struct nk_elf *elf, char out[NK_BUILD_ID_TEXT]);

// Starts a walk over the symbols of the first section of `type` (NK_SHT_SYMTAB or NK_SHT_DYNSYM).
// 0, or -1 with a sentence: no such section, it lies outside the file, its link leads to no string table.
int nk_elf_symbols_begin(const struct nk_elf *elf, uint32_t type, struct nk_elf_symbols *walk, struct nk_err *err);
bool nk_elf_symbols_next(struct nk_elf_symbols *walk, struct nk_elf_symbol *out);
// The function of the table that covers each address, in one pass that reads no names but theirs. `found` has `count`
// elements; one with size 0 is filled when there is such a function, the others are left alone.
void nk_elf_symbols_cover(const struct nk_elf_symbols *table, const uint64_t *addresses, size_t count,
                          struct nk_elf_symbol *found);

// How many bytes the ELF file that starts at `view` spans, as far as its headers inside `view` tell; 0 when it is none.
// May be more than view.size. For an image of unknown length in memory: ask again with a view of that many bytes until
// the answer no longer grows.
uint64_t nk_elf_extent(struct nk_bytes view);

#endif
