// cubin.h - compiled device code: an ELF file of machine 190.
//
// Two layouts of e_flags exist, told apart by EI_ABIVERSION: up to 7 the SM number stands in bits 0-7, from 8 in bits
// 8-15 (CUDA 13; CUDA 12.8 and 12.9 for sm_100 and up). Views own nothing.
#ifndef NK_IMAGE_CUBIN_H
#define NK_IMAGE_CUBIN_H

#include "image/elf.h"
#include "image/image.h"

struct nk_cubin {
    struct nk_elf elf;
    uint16_t arch;
    uint8_t suffix; // 'a' when the file says so, 'f' when its tool note says so, else 0. In a container the entry knows
                    // better
    bool relocatable, abi8;
};

struct nk_cubin_kernel {
    struct nk_bytes name;
    uint64_t size; // bytes of machine code
    bool local;    // static or in an anonymous namespace
};

struct nk_cubin_kernels {
    struct nk_elf_symbols symbols;
};

// 0, or -1 with a sentence: no ELF file of the right kind, or another machine. 64 bytes are enough; sections that are
// missing then only cost the suffix.
int nk_cubin_open(struct nk_cubin *cubin, struct nk_bytes view, struct nk_err *err);
// The same as an image without container. `image.kernels` is UINT32_MAX, its code version 0.0.
int nk_cubin_image(struct nk_bytes view, struct nk_image *image, struct nk_err *err);

// Starts a walk over the kernels. 0, or -1 with a sentence (no symbol table, or a damaged one).
int nk_cubin_kernels_begin(const struct nk_cubin *cubin, struct nk_cubin_kernels *walk, struct nk_err *err);
// 1 and the next kernel; 0 at the end; -1 with a sentence when a kernel's name cannot be read.
int nk_cubin_kernels_next(struct nk_cubin_kernels *walk, struct nk_cubin_kernel *out, struct nk_err *err);

#endif
