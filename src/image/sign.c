// sign.c - the bytes that device code begins with, searched for at the speed of memory.
#include "image/sign.h"
#include "image/elf.h"
#include "image/fatbin.h"

#include <string.h>

// What begins at `at`.
static enum nk_sign sign_at(struct nk_bytes view, uint64_t at, unsigned wanted)
{
    static const char name[] = "fatbin"; // with its NUL
    struct nk_bytes rest;
    uint16_t machine;
    if (!nk_bytes_from(view, at, &rest)) return NK_SIGN_NONE;
    if (wanted & NK_SIGN_CONTAINER && nk_bytes_starts(rest, NK_FATBIN_KEY, NK_FATBIN_KEY_SIZE))
        return NK_SIGN_CONTAINER;
    if (wanted & NK_SIGN_NAME && nk_bytes_starts(rest, name, sizeof name)) return NK_SIGN_NAME;
    bool cubin = wanted & NK_SIGN_CUBIN && nk_bytes_starts(rest, "\177ELF\2\1\1", 7);
    return cubin && nk_bytes_u16(rest, 18, &machine) && machine == NK_EM_CUDA ? NK_SIGN_CUBIN : NK_SIGN_NONE;
}

typedef uint8_t sixteen __attribute__((vector_size(16)));

static sixteen load(const uint8_t *at)
{
    sixteen bytes;
    memcpy(&bytes, at, sizeof bytes);
    return bytes;
}

// Where in the 16 bytes at `at` a sign may begin (19 have to be there): two bytes of each are compared.
static inline sixteen candidates(const uint8_t *at, bool names)
{
    sixteen first = load(at), fourth = load(at + 3);
    sixteen hits = (sixteen)(((first == 0x50) & (fourth == 0xba)) | ((first == 0x7f) & (fourth == 'F')));
    return names ? hits | (sixteen)((first == 'f') & (fourth == 'b')) : hits;
}

static bool any(sixteen hits)
{
    uint64_t half[2];
    memcpy(half, &hits, sizeof half);
    return half[0] | half[1];
}

// Passes over stretches in which nothing can begin. The answer is at or before the next sign, or `end`. `names` is a
// constant where this is called: a sign less is a quarter of the time less.
static inline __attribute__((always_inline)) uint64_t pass_over(struct nk_bytes view, uint64_t at, uint64_t end,
                                                                bool names)
{
    for (; at + 64 <= end && at + 67 <= view.size; at += 64) {
        const uint8_t *p = view.data + at;
        if (any(candidates(p, names) | candidates(p + 16, names) | candidates(p + 32, names) |
                candidates(p + 48, names)))
            break;
    }
    for (; at + 16 <= end && at + 19 <= view.size; at += 16)
        if (any(candidates(view.data + at, names))) break;
    return at;
}

uint64_t nk_sign_next(struct nk_bytes view, uint64_t from, uint64_t end, unsigned wanted, enum nk_sign *sign)
{
    if (end > view.size) end = view.size;
    for (uint64_t at = from; at < end;) {
        // Containers lie back to back: what is wanted is mostly right here.
        if ((*sign = sign_at(view, at, wanted))) return at;
        at = wanted & NK_SIGN_NAME ? pass_over(view, at + 1, end, true) : pass_over(view, at + 1, end, false);
        for (uint64_t stop = at + 16; at < end && at < stop; at++)
            if ((*sign = sign_at(view, at, wanted))) return at;
    }
    *sign = NK_SIGN_NONE;
    return end;
}
