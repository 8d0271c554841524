// fuzz_ptx_names.c - any bytes as PTX text; names that were found without reading all of it are those that are there.
#include "fuzz.h"

#include "image/ptx.h"
#include "scan/ptx_names.h"

#include <stdlib.h>

static int take(const struct nk_kernel_view *kernel, void *user)
{
    const struct nk_bytes *text = user;
    // A name is a view into the text.
    if (kernel->name.data < text->data || kernel->name.data + kernel->name.size > text->data + text->size) abort();
    touch(kernel->name);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nk_bytes text = nk_bytes(data, size);
    nk_ptx_names(text, take, &text);
    return 0;
}
