// verdict.h - short words for the tests of the verdict room: images from a text, and what is said of them.
#ifndef NK_TESTS_VERDICT_H
#define NK_TESTS_VERDICT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recording/event.h"
#include "verdict/arch.h"
#include "verdict/judge.h"
#include "verdict/text.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_IMAGES = 32 };

// One word: "sm_90a" is a cubin, "compute_80" PTX of ISA 7.0, "compute_90@8.3" PTX of another, "lto_80" LTO-IR,
// "kind_16" an unknown kind; then "/zstd", "/lz4", "/codec9", "/abi8", "/damaged", "/lied", "/reloc" (relocatable PTX),
// "/empty".
static inline struct nk_image image_of(const char *word)
{
    struct nk_image image = {.kind = NK_KIND_CUBIN, .isa_major = 1, .isa_minor = 7, .kernels = 1};
    char copy[64], *options, *at;
    assert_true(strlen(word) < sizeof copy);
    strcpy(copy, word);
    if ((options = strchr(copy, '/'))) *options++ = 0;
    if ((at = strchr(copy, '@'))) *at++ = 0;
    if (!strncmp(copy, "kind_", 5)) {
        image.kind = (uint16_t)atoi(copy + 5);
    } else {
        struct nk_arch arch;
        bool lto = !strncmp(copy, "lto_", 4);
        assert_int_equal(nk_arch_parse(lto ? copy + 4 : copy, &arch, NULL), 0);
        image.kind = lto ? NK_KIND_LTO : arch.virtual ? NK_KIND_PTX : NK_KIND_CUBIN;
        image.arch = (uint16_t)arch.sm;
        image.suffix = (uint8_t)arch.suffix;
        if (arch.virtual) image.isa_major = 7, image.isa_minor = 0;
    }
    if (at) image.isa_major = (uint8_t)atoi(at), image.isa_minor = (uint8_t)atoi(strchr(at, '.') + 1);
    if (options) {
        if (strstr(options, "zstd")) image.codec = NK_CODEC_ZSTD;
        if (strstr(options, "lz4")) image.codec = NK_CODEC_LZ4;
        if (strstr(options, "codec9")) image.codec = 9;
        if (strstr(options, "abi8")) image.flags |= NK_IMAGE_ABI8;
        if (strstr(options, "damaged")) image.flags |= NK_IMAGE_DAMAGED;
        if (strstr(options, "lied")) image.flags |= NK_IMAGE_TARGET_LIED;
        if (strstr(options, "reloc")) image.kind = NK_KIND_PTX_LINK;
        if (strstr(options, "empty")) image.kernels = 0;
    }
    return image;
}

// Words with one space between them; returns how many.
static inline size_t images_of(const char *words, struct nk_image images[MAX_IMAGES])
{
    size_t n = 0;
    char copy[512], *rest = copy;
    assert_true(strlen(words) < sizeof copy);
    strcpy(copy, words);
    for (char *word; (word = strsep(&rest, " "));)
        if (*word) {
            assert_true(n < MAX_IMAGES);
            images[n++] = image_of(word);
        }
    return n;
}

// `holds`: one letter an image: p present, a absent, h hollow, u unknown; NULL: not asked about a kernel.
static inline struct nk_verdict judge_on(const char *words, const char *holds, struct nk_target target)
{
    struct nk_image images[MAX_IMAGES];
    unsigned char bytes[MAX_IMAGES] = {0};
    size_t n = images_of(words, images);
    for (size_t i = 0; holds && i < n; i++) bytes[i] = (unsigned char)(strchr("aphu", holds[i]) - "aphu");
    return nk_judge(images, n, holds ? bytes : NULL, &target);
}

static inline struct nk_verdict judge(const char *words, int sm)
{
    return judge_on(words, NULL, (struct nk_target){.sm = sm});
}

static inline void assert_verdict(struct nk_verdict v, enum nk_runs runs, enum nk_reason reason)
{
    assert_string_equal(nk_reason_key(v.reason), nk_reason_key(reason));
    assert_string_equal(nk_runs_word(v.runs), nk_runs_word(runs));
}

#define NATIVE(v, reason)  assert_verdict(v, NK_RUNS_NATIVE, NK_REASON_##reason)
#define JIT(v)             assert_verdict(v, NK_RUNS_JIT, NK_REASON_PTX)
#define NONE(v, reason)    assert_verdict(v, NK_RUNS_NONE, NK_REASON_##reason)
#define UNKNOWN(v, reason) assert_verdict(v, NK_RUNS_UNKNOWN, NK_REASON_##reason)

#endif
