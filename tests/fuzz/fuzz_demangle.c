// fuzz_demangle.c - any text as the name of a kernel: shown whole, and at the width that its first byte says.
#include "base/demangle.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size) return 0;
    size_t columns = 16 + data[0];
    char *name = malloc(size);
    if (!name) return 0;
    memcpy(name, data + 1, size - 1);
    name[size - 1] = 0;
    struct nk_buf whole = {0}, line = {0};
    nk_demangle(name, &whole);
    nk_demangle_short(name, columns, &line);
    if (line.size > columns || (line.size == 0) != (name[0] == 0)) abort();
    nk_buf_free(&whole);
    nk_buf_free(&line);
    free(name);
    return 0;
}
