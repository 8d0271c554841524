// cubin.c - compiled device code: which architecture, which kernels.
#include "image/cubin.h"

#include <stdio.h>
#include <string.h>

// LLVM's BinaryFormat/ELF.h names these EF_CUDA_*; which toolkit sets which was measured on cubins of 11.8 to 13.5.
#define ABI8              8
#define FLAGS_SM_7(flags) ((flags)&0xff)
#define FLAGS_SM_8(flags) (((flags) >> 8) & 0xff)
#define FLAG_SPECIFIC_7   0x800u // 'a': CUDA 12.1 to 12.9
#define FLAG_SPECIFIC_8   0x8u   // 'a': CUDA 12.8 and 12.9; CUDA 13 says it in .nv.compat only
#define COMPAT_SPECIFIC   0x09
#define STO_ENTRY         0x10 // a kernel: of all functions only those that can be launched have it
#define SHN_UNDEF         0

// .nv.compat is a list of {u8 format, u8 attribute, ...}: formats 1 to 3 have a value of 16 bits, format 4 a length of
// 16 bits and as many bytes.
static bool compat_says_specific(struct nk_bytes list)
{
    uint8_t format, attribute;
    uint16_t value;
    for (uint64_t at = 0;
         nk_bytes_u8(list, at, &format) && nk_bytes_u8(list, at + 1, &attribute) && nk_bytes_u16(list, at + 2, &value);
         at += 4 + (format == 4 ? value : 0u))
        if (attribute == COMPAT_SPECIFIC && format != 4) return (value & 0xff) == 1;
    return false;
}

// Nothing but the note of the tools tells an 'f' cubin from a base one: "-arch sm_120f".
static bool note_says_family(struct nk_bytes note, uint16_t arch)
{
    char text[24];
    int size = snprintf(text, sizeof text, "-arch sm_%uf", arch);
    return nk_bytes_find(note, 0, text, (size_t)size) >= 0;
}

static uint8_t suffix_of(const struct nk_cubin *cubin)
{
    struct nk_elf_section section;
    struct nk_bytes contents;
    if (cubin->elf.flags & (cubin->abi8 ? FLAG_SPECIFIC_8 : FLAG_SPECIFIC_7)) return 'a';
    if (!cubin->abi8) return 0;
    if (nk_elf_find_name(&cubin->elf, ".nv.compat", &section) && nk_elf_contents(&cubin->elf, &section, &contents) &&
        compat_says_specific(contents))
        return 'a';
    if (nk_elf_find_name(&cubin->elf, ".note.nv.tkinfo", &section) &&
        nk_elf_contents(&cubin->elf, &section, &contents) && note_says_family(contents, cubin->arch))
        return 'f';
    return 0;
}

int nk_cubin_open(struct nk_cubin *cubin, struct nk_bytes view, struct nk_err *err)
{
    *cubin = (struct nk_cubin){0};
    if (nk_elf_open(&cubin->elf, view, err)) return -1;
    if (cubin->elf.machine != NK_EM_CUDA)
        return nk_fail(err, NK_ERR_BAD_INPUT, "a cubin (ELF machine 190) was expected, this is machine %u",
                       cubin->elf.machine);
    uint32_t flags = cubin->elf.flags;
    cubin->abi8 = cubin->elf.abi_version >= ABI8;
    cubin->arch = (uint16_t)(cubin->abi8 ? FLAGS_SM_8(flags) : FLAGS_SM_7(flags));
    cubin->relocatable = cubin->elf.type == NK_ET_REL;
    cubin->suffix = suffix_of(cubin);
    return 0;
}

int nk_cubin_image(struct nk_bytes view, struct nk_image *image, struct nk_err *err)
{
    struct nk_cubin cubin;
    if (nk_cubin_open(&cubin, view, err)) return -1;
    *image = (struct nk_image){
        .kind = NK_KIND_CUBIN, .arch = cubin.arch, .suffix = cubin.suffix, .kernels = UINT32_MAX, .size = view.size};
    if (cubin.relocatable) image->flags |= NK_IMAGE_RELOCATABLE;
    if (cubin.abi8) image->flags |= NK_IMAGE_ABI8;
    return 0;
}

int nk_cubin_kernels_begin(const struct nk_cubin *cubin, struct nk_cubin_kernels *walk, struct nk_err *err)
{
    return nk_elf_symbols_begin(&cubin->elf, NK_SHT_SYMTAB, &walk->symbols, err);
}

int nk_cubin_kernels_next(struct nk_cubin_kernels *walk, struct nk_cubin_kernel *out, struct nk_err *err)
{
    struct nk_elf_symbol symbol;
    while (nk_elf_symbols_next(&walk->symbols, &symbol)) {
        if (symbol.type != NK_STT_FUNC || !(symbol.other & STO_ENTRY) || symbol.section == SHN_UNDEF) continue;
        if (!symbol.name.size)
            return nk_fail(err, NK_ERR_BAD_INPUT, "symbol %llu is a kernel, but its name lies outside the string table",
                           (unsigned long long)symbol.index);
        *out = (struct nk_cubin_kernel){symbol.name, symbol.size, symbol.binding == 0};
        return 1;
    }
    return 0;
}
