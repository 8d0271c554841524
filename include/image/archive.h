// archive.h - the members of an `ar` archive (libX.a), GNU and BSD flavour.
//
// A view: owns nothing, valid as long as the archive's bytes.
#ifndef NK_IMAGE_ARCHIVE_H
#define NK_IMAGE_ARCHIVE_H

#include "base/bytes.h"
#include "base/err.h"

struct nk_archive {
    struct nk_bytes file, long_names;
    uint64_t at;
};

struct nk_archive_member {
    struct nk_bytes name, bytes;
    uint64_t offset; // of the bytes in the archive
};

bool nk_archive_looks(struct nk_bytes file);
// 0, or -1 with a sentence: no archive, or a thin one (its members are other files).
int nk_archive_begin(struct nk_archive *walk, struct nk_bytes file, struct nk_err *err);
// 1 and the next member (symbol and name tables are left out); 0 at the end; -1 with a sentence where it is damaged.
int nk_archive_next(struct nk_archive *walk, struct nk_archive_member *member, struct nk_err *err);

#endif
