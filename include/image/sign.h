// sign.h - the bytes that device code begins with, wherever it lies: one search for all of them at once.
//
// What is found may be none after all (a few bytes in a compiler's own code look alike): who reads it says so.
#ifndef NK_IMAGE_SIGN_H
#define NK_IMAGE_SIGN_H

#include "base/bytes.h"

enum nk_sign {
    NK_SIGN_NONE = 0,
    NK_SIGN_CONTAINER = 1, // NK_FATBIN_KEY
    NK_SIGN_CUBIN = 2,     // the identification of a 64-bit little-endian ELF file, and the machine CUDA
    NK_SIGN_NAME = 4,      // "fatbin" and its NUL: the end of the name of a section of containers
};

// How many bytes a sign needs to be known: one that begins later than so many bytes before the end of what is there so
// far may be missed.
#define NK_SIGN_BYTES 20u

// The place in [from, end) where the first of the `wanted` signs (several, combined by |) begins; `end` when there is
// none. The sign itself may reach beyond `end`, up to the end of the view.
uint64_t nk_sign_next(struct nk_bytes view, uint64_t from, uint64_t end, unsigned wanted, enum nk_sign *sign);

#endif
