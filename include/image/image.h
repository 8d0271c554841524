// image.h - what is known about one image of device code before it is decoded.
//
// Filled from an entry header of a container (image/fatbin.h), from the ELF header of a bare cubin, or from the first
// lines of PTX text. The same fields, to the bit, stand in a recording (nk_rec_image).
#ifndef NK_IMAGE_IMAGE_H
#define NK_IMAGE_IMAGE_H

#include <stdint.h>

enum nk_image_kind {
    NK_KIND_UNKNOWN = 0, // a kind that this build does not know: never to be counted as "none"
    NK_KIND_PTX = 1,
    NK_KIND_CUBIN = 2,
    NK_KIND_LTO = 8,              // LTO-IR: input of nvlink/nvJitLink, not loadable
    NK_KIND_PTX_LINK = 0x40,      // relocatable PTX put in by -reloc-ptx: can only be JIT-linked
    NK_KIND_CONCATENATED = 0x100, // never handed out: its images are
};

enum nk_codec { NK_CODEC_NONE = 0, NK_CODEC_LZ4 = 1, NK_CODEC_ZSTD = 2, NK_CODEC_UNKNOWN = 3 };

enum {
    NK_IMAGE_DEBUG = 1,        // compiled with -G
    NK_IMAGE_RELOCATABLE = 2,  // an ET_REL cubin
    NK_IMAGE_TARGET_LIED = 4,  // PTX whose text has another target than its header; arch and suffix are the text's
    NK_IMAGE_CONCATENATED = 8, // came out of a concatenated entry
    NK_IMAGE_BARE = 16,        // no container around it
    NK_IMAGE_SCRAMBLED = 32,   // LTO-IR: cannot be decoded
    NK_IMAGE_DAMAGED = 64,     // its payload could not be decoded
    NK_IMAGE_ABI8 = 128,       // cubin of the CUDA 13 ABI (EI_ABIVERSION 8)
};

struct nk_image {
    uint16_t kind;                // enum nk_image_kind
    uint16_t arch;                // decimal SM number: 90 for sm_90 or compute_90; 0 unknown
    uint8_t suffix;               // 0, 'a' (architecture-specific) or 'f' (family-specific)
    uint8_t codec;                // enum nk_codec
    uint8_t isa_major, isa_minor; // PTX: its ISA version (8.7). Cubin: the entry's code version (1.7, 1.8); 0.0 bare
    uint32_t flags;               // NK_IMAGE_*
    uint32_t kernels;             // how many kernels it holds, UINT32_MAX while not decoded
    uint64_t size;                // stored payload bytes
};

#endif
