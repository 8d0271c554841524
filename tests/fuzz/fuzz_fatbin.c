// fuzz_fatbin.c - any bytes as what a program hands to the driver: a container, a cubin, PTX; decoded and all.
#include "fuzz.h"

#include "image/holdings.h"
#include "image/target.h"

#define LIMIT (1u << 20) // of decoded bytes: keeps a run short

static int take(const struct nk_kernel_view *kernel, void *user)
{
    (void)user;
    touch_ends(kernel->name);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nk_bytes bytes = nk_bytes(data, size);
    struct nk_unpacked memory = {0};
    struct nk_entry_view entry;
    struct nk_fatbin walk;
    struct nk_err err;
    unsigned char holds[8];
    if (nk_fatbin_begin(&walk, bytes, &err)) return 0;
    for (unsigned n = 0; n < 64 && nk_fatbin_next(&walk, &entry, &err) == 1; n++) {
        touch(entry.name);
        touch(entry.options);
        touch_ends(entry.payload);
        if (entry.unpacked > LIMIT) continue;
        nk_image_check_target(&entry, &err);
        nk_image_kernels(&entry, &memory, LIMIT, take, NULL, &err);
    }
    nk_unpack_free(&memory);
    if (size < 4096) nk_container_holds(bytes, "k", holds, sizeof holds, &err);
    return 0;
}
