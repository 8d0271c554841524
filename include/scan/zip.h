// zip.h - the members of an ordinary zip file (a wheel), by a fast inflate, several at once if several threads read.
//
// For files that are as they should be: every member stored or deflated, none encrypted, one behind the other as the
// directory at the end of the file says. Whatever else there is (other methods, several disks, members that overlap,
// a file that was cut) is not for this reader: libarchive then reads it, or says what is wrong.
#ifndef NK_SCAN_ZIP_H
#define NK_SCAN_ZIP_H

#include "base/bytes.h"
#include "base/err.h"

// Bytes of the file: exactly `size` from `at` on, into `into`. False when that is not possible. Called by every thread
// that reads.
typedef bool (*nk_zip_read_at)(void *user, uint64_t at, void *into, size_t size);

struct nk_zip_member {
    struct nk_bytes name; // without a NUL; valid until the zip is closed
    uint64_t size;        // unpacked, as the directory says
    uint64_t packed;      // bytes of it in the file
    uint64_t header;      // where its local header lies
    uint32_t crc;
    uint16_t method;
    bool regular; // no folder, no link
};

// Is there the end of a directory near the end of the file? A zip file without one was cut short. (In every build.)
bool nk_zip_has_end(nk_zip_read_at read_at, void *user, uint64_t size);

struct nk_zip;
// NULL when the file is not for this reader, or this build has no fast inflate.
struct nk_zip *nk_zip_open(nk_zip_read_at read_at, void *user, uint64_t size);
void nk_zip_close(struct nk_zip *zip);
// True and the next member of the directory; false at its end.
bool nk_zip_next(struct nk_zip *zip, struct nk_zip_member *member);

// What reads one member after another; a thread needs one of its own. NULL when memory is short.
struct nk_zip_reader;
struct nk_zip_reader *nk_zip_reader_new(const struct nk_zip *zip);
void nk_zip_reader_free(struct nk_zip_reader *reader);
// Starts on a member; what is left of the one before is skipped, at no cost.
void nk_zip_reader_begin(struct nk_zip_reader *reader, const struct nk_zip_member *member);
// As nk_stream_read, of this member: -1 also when it turns out to be larger than announced, and at its end when its
// size or checksum is wrong. All bytes before the damage come first.
int64_t nk_zip_read(void *reader, void *into, size_t size, struct nk_err *err);
// Reads packed bytes of the member that nk_zip_read will want next: for another thread that has nothing else to do. It
// may be called at any time from the return of nk_zip_reader_begin up to its next call. False when there is nothing to
// read now, or it cannot be read, which nk_zip_read then says.
bool nk_zip_prepare(struct nk_zip_reader *reader);
// Packed bytes of this member that were decoded so far, or are being decoded.
uint64_t nk_zip_passed(const struct nk_zip_reader *reader);

#endif
