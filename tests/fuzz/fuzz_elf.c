// fuzz_elf.c - any bytes as an ELF file, a cubin, an archive.
#include "fuzz.h"

#include "image/archive.h"
#include "image/cubin.h"

static void sections(struct nk_bytes bytes)
{
    struct nk_elf elf;
    struct nk_elf_section section;
    struct nk_elf_segment segment;
    struct nk_bytes contents;
    struct nk_err err;
    char id[NK_BUILD_ID_TEXT];
    nk_elf_extent(bytes);
    if (nk_elf_open(&elf, bytes, &err)) return;
    for (uint32_t i = 0; i < elf.sections; i++)
        if (nk_elf_section(&elf, i, &section)) {
            touch(section.name);
            if (nk_elf_contents(&elf, &section, &contents)) touch_ends(contents);
        }
    for (uint32_t i = 0; i < elf.segments; i++) nk_elf_segment(&elf, i, &segment);
    if (nk_elf_build_id(&elf, id)) touch(nk_bytes(id, strlen(id) + 1));
    for (uint32_t type = NK_SHT_SYMTAB; type <= NK_SHT_DYNSYM; type += NK_SHT_DYNSYM - NK_SHT_SYMTAB) {
        struct nk_elf_symbols walk;
        struct nk_elf_symbol symbol;
        if (nk_elf_symbols_begin(&elf, type, &walk, &err)) continue;
        uint64_t addresses[] = {0, 64, 4096, UINT64_MAX};
        struct nk_elf_symbol found[4] = {{.size = 0}};
        nk_elf_symbols_cover(&walk, addresses, 4, found);
        for (int i = 0; i < 4; i++)
            if (found[i].size) touch_ends(found[i].name);
        while (nk_elf_symbols_next(&walk, &symbol)) touch_ends(symbol.name);
    }
}

static void kernels(struct nk_bytes bytes)
{
    struct nk_cubin cubin;
    struct nk_cubin_kernels walk;
    struct nk_cubin_kernel kernel;
    struct nk_err err;
    if (nk_cubin_open(&cubin, bytes, &err) || nk_cubin_kernels_begin(&cubin, &walk, &err)) return;
    while (nk_cubin_kernels_next(&walk, &kernel, &err) == 1) touch_ends(kernel.name);
}

static void members(struct nk_bytes bytes)
{
    struct nk_archive walk;
    struct nk_archive_member member;
    struct nk_err err;
    if (nk_archive_begin(&walk, bytes, &err)) return;
    while (nk_archive_next(&walk, &member, &err) == 1) {
        touch(member.name);
        touch_ends(member.bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nk_bytes bytes = nk_bytes(data, size);
    sections(bytes);
    kernels(bytes);
    members(bytes);
    return 0;
}
