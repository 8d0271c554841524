// fuzz_zip.c - any bytes as a zip file.
#include "fuzz.h"

#include "scan/zip.h"

#include <stdlib.h>

static bool read_at(void *user, uint64_t at, void *into, size_t size)
{
    return nk_bytes_copy(*(struct nk_bytes *)user, at, into, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nk_bytes file = nk_bytes(data, size);
    struct nk_zip_member member;
    struct nk_err err;
    uint8_t bytes[4096];
    struct nk_zip *zip = nk_zip_open(read_at, &file, size);
    struct nk_zip_reader *reader = zip ? nk_zip_reader_new(zip) : NULL;
    for (size_t members = 0; reader && nk_zip_next(zip, &member); members++) {
        if (members > size) abort();
        touch(member.name);
        nk_zip_reader_begin(reader, &member);
        int64_t got, all = 0;
        for (int i = 0; i < 64 && (got = nk_zip_read(reader, bytes, sizeof bytes, &err)) > 0; i++, all += got) {
            touch_ends(nk_bytes(bytes, (size_t)got));
            if (i % 3) nk_zip_prepare(reader);
        }
        if ((uint64_t)all > member.size || nk_zip_passed(reader) > size) abort();
    }
    nk_zip_reader_free(reader);
    nk_zip_close(zip);
    return 0;
}
