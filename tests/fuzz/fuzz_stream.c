// fuzz_stream.c - any bytes as a member of an archive that passes by in pieces; what is whole says the same as in
// memory.
#include "fuzz.h"

#include "scan/stream.h"

#include <stdlib.h>

struct source {
    struct nk_bytes bytes;
    size_t at, step;
};

static int64_t give(void *user, void *into, size_t size, struct nk_err *err)
{
    struct source *source = user;
    size_t left = source->bytes.size - source->at;
    (void)err;
    if (size > source->step) size = source->step;
    if (size > left) size = left;
    if (size) memcpy(into, source->bytes.data + source->at, size);
    source->at += size;
    return (int64_t)size;
}

// Everything that a report would show must be there to be read.
static bool whole(const struct nk_scan_library *library)
{
    bool good = !library->failed;
    for (size_t i = 0; i < library->box_count; i++) {
        const struct nk_scan_box *box = &library->boxes[i];
        if (box->first_image + box->images > library->image_count) abort();
        if (box->first_kernel + box->kernels > library->kernel_count) abort();
        good &= !(box->flags & NK_FOUND_DAMAGED) && !box->unread;
    }
    for (size_t i = 0; i < library->kernel_count; i++) {
        const char *name = nk_scan_text(library, library->kernels[i].name);
        touch(nk_bytes(name, strlen(name)));
        if (library->kernels[i].shape >= library->shape_count) abort();
    }
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct source source = {nk_bytes(data, size), 0, size ? 1 + 31u * data[size - 1] : 1};
    struct nk_scan_how how = {.kernels = true, .verify = size & 1};
    struct nk_scan_library *streamed = nk_scan_library_new("streamed"), *mapped = nk_scan_library_new("mapped");
    struct nk_err err;
    if (streamed && mapped) {
        int one = nk_scan_stream(streamed, give, &source, &how, NULL, &err);
        int other = nk_scan_bytes(mapped, nk_bytes(data, size), &how, &err);
        bool same = streamed->box_count == mapped->box_count && streamed->kernel_count == mapped->kernel_count;
        bool elf = size > 4 && !memcmp(data, "\177ELF", 4); // text and archives of objects are read in memory only
        if (whole(streamed) && whole(mapped) && elf && !one && !other && !same) abort();
    }
    nk_scan_library_free(streamed);
    nk_scan_library_free(mapped);
    return 0;
}
