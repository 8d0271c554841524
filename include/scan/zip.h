// zip.h - the members of an ordinary zip file (a wheel), one after another, each by a fast inflate.
//
// For files that are as they should be: every member stored or deflated, none encrypted, one behind the other as the
// directory at the end of the file says. Whatever else there is (other methods, several disks, members that overlap,
// a file that was cut) is not for this reader: libarchive then reads it, or says what is wrong.
#ifndef NK_SCAN_ZIP_H
#define NK_SCAN_ZIP_H

#include "base/bytes.h"
#include "base/err.h"

// Bytes of the file: exactly `size` from `at` on, into `into`. False when that is not possible.
typedef bool (*nk_zip_read_at)(void *user, uint64_t at, void *into, size_t size);

struct nk_zip;

struct nk_zip_member {
    const char *name; // valid until the next member
    uint64_t size;    // unpacked, as the directory says
    bool regular;     // no folder, no link
};

// NULL when the file is not for this reader, or this build has no fast inflate.
struct nk_zip *nk_zip_open(nk_zip_read_at read_at, void *user, uint64_t size);
void nk_zip_close(struct nk_zip *zip);
// True and the next member; false at the end. What is left of the one before is skipped, at no cost.
bool nk_zip_next(struct nk_zip *zip, struct nk_zip_member *member);
// As nk_stream_read, of this member: -1 also at its end, when its size or checksum is wrong.
int64_t nk_zip_read(void *zip, void *into, size_t size, struct nk_err *err);
// Bytes of the file that were passed so far.
uint64_t nk_zip_passed(const struct nk_zip *zip);

#endif
