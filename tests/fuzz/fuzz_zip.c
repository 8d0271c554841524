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
    for (size_t members = 0; zip && nk_zip_next(zip, &member); members++) {
        if (members > size || nk_zip_passed(zip) > size) abort();
        touch(nk_bytes(member.name, strlen(member.name)));
        int64_t got;
        for (int i = 0; i < 64 && (got = nk_zip_read(zip, bytes, sizeof bytes, &err)) > 0; i++)
            touch_ends(nk_bytes(bytes, (size_t)got));
    }
    nk_zip_close(zip);
    return 0;
}
