// fuzz_ptx_names.c - any bytes as PTX text; names that were found without reading all of it are those that are there.
#include "fuzz.h"

#include "image/ptx.h"
#include "scan/ptx_names.h"

#include <stdlib.h>

struct seen {
    struct nk_bytes text;
    size_t names;
};

static int take(const struct nk_kernel_view *kernel, void *user)
{
    struct seen *seen = user;
    const uint8_t *end = seen->text.data + seen->text.size;
    // A name is a view into the text.
    if (kernel->name.data < seen->text.data || kernel->name.data + kernel->name.size > end) abort();
    touch(kernel->name);
    seen->names++;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct seen seen = {.text = nk_bytes(data, size)};
    if (nk_ptx_names(seen.text, take, &seen) < 0 && seen.names) abort(); // "nothing was handed out"
    return 0;
}
