// fuzz.h - what the fuzz targets share: reading every byte that a reader promised, so that a sanitizer sees it.
//
// Each target is one file with LLVMFuzzerTestOneInput; `make fuzz` runs them all. By hand, with clang:
//     clang -std=c11 -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude tests/fuzz/fuzz_X.c src/image/*.c
//     src/base/*.c
//         -llz4 -lzstd -o fuzz_X
//     ./fuzz_X -max_total_time=60 CORPUS SEEDS      (what is found new goes to the first folder)
// Without clang: gcc, no "fuzzer" among the sanitizers, and tests/fuzz/replay.c added; the same command line.
// tests/fuzz/seeds.c writes honest inputs to start from.
#ifndef NK_TEST_FUZZ_H
#define NK_TEST_FUZZ_H

#include "base/bytes.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint8_t fuzz_sink;

static inline void touch(struct nk_bytes bytes)
{
    for (size_t i = 0; i < bytes.size; i++) fuzz_sink ^= bytes.data[i];
}

// For views that may overlap many times: their ends, so that the work stays in proportion to the input.
static inline void touch_ends(struct nk_bytes bytes)
{
    if (bytes.size) fuzz_sink ^= bytes.data[0] ^ bytes.data[bytes.size - 1];
}

#endif
