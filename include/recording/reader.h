// reader.h - walks the records of a recording and gives its interned texts and counters.
//
// Everything read is input that may be cut off, damaged or hostile: lengths are checked, ids must come in order, and
// memory is bounded by a small multiple of the size of the file. The reader owns its index, not the bytes.
#ifndef NK_RECORDING_READER_H
#define NK_RECORDING_READER_H

#include "base/bytes.h"
#include "base/err.h"
#include "recording/event.h"

struct nk_record {
    uint16_t type;        // enum nk_record_type, or one that this build does not know
    struct nk_bytes head; // the fixed part, as long as its writer made it
    struct nk_bytes tail; // arrays or text, with up to 7 bytes of padding
    uint64_t offset;      // of the record in the file
};

struct nk_reader {
    struct nk_bytes bytes;
    uint64_t at;      // offset of the next record
    bool copied;      // counters were copied to the file: one of a process that was killed may be behind
    bool cut;         // the walk ended before the end of the file, at bytes that are no whole record
    uint32_t strings; // texts met so far
    uint32_t blocks;  // blocks of counters met so far
    uint32_t skipped; // records that contradict the format: ids out of order, arrays longer than their record
    uint32_t strings_room, blocks_room;
    struct nk_reader_text {
        uint64_t offset;
        uint32_t size;
    } * string;
    struct nk_rec_counters *block;
};

// Checks the file header. 0; -1 with a sentence when this is no recording, or one of a format that is not known.
// `name` (a path) begins the sentence.
int nk_reader_open(struct nk_reader *reader, struct nk_bytes bytes, const char *name, struct nk_err *err);
// The next record, in the order of writing; STRING and COUNTERS records are taken in on the way and handed out too.
// False at the end.
bool nk_reader_next(struct nk_reader *reader, struct nk_record *record);
// Starts the walk again; what was taken in stays known.
void nk_reader_rewind(struct nk_reader *reader);
// An interned text (not NUL-terminated); empty for 0 and for an id that was not met.
struct nk_bytes nk_reader_text(const struct nk_reader *reader, uint32_t id);
// The value of a counter; false when its block was not met.
bool nk_reader_counter(const struct nk_reader *reader, uint32_t index, uint64_t *value);
void nk_reader_close(struct nk_reader *reader);

// Copies a fixed part into a struct; members that the writer did not know are zero.
void nk_record_head(const struct nk_record *record, void *out, size_t size);
// True when the tail holds at least `count` elements of `size` bytes.
bool nk_record_holds(const struct nk_record *record, uint64_t count, size_t size);

#endif
