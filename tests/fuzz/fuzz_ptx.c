// fuzz_ptx.c - any bytes as PTX text.
#include "fuzz.h"

#include "image/ptx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nk_bytes text = nk_bytes(data, size);
    struct nk_ptx_head head;
    struct nk_ptx_entries walk;
    struct nk_ptx_entry entry;
    struct nk_image image;
    struct nk_err err;
    nk_ptx_looks(text);
    nk_ptx_read_head(text, &head, &err);
    nk_ptx_image(text, &image, &err);
    nk_ptx_entries_begin(&walk, text);
    while (nk_ptx_entries_next(&walk, &entry)) {
        touch(entry.name);
        touch(entry.body);
    }
    return 0;
}
