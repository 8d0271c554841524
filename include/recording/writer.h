// writer.h - writes a recording.
//
// Made for use inside a foreign process: no stdio, no lock (the caller holds one), errno is kept, one write(2) a
// record, and the first failure (disk full, quota, a size limit) closes the file for good: every later call does
// nothing and the sentence is in `lost`. A host that closes descriptors which it does not own is recognised: nothing is
// ever written to a file that is not ours. Memory: only the table of interned texts.
#ifndef NK_RECORDING_WRITER_H
#define NK_RECORDING_WRITER_H

#include "base/buf.h"
#include "base/err.h"
#include "base/table.h"
#include "recording/event.h"

#include <stdbool.h>

#define NK_WRITER_BLOCKS 64

// Counters that lie together in the file and in memory.
struct nk_writer_block {
    uint64_t *at;    // the mapping
    size_t size;     // its bytes
    uint64_t offset; // of the counters in the file
    bool shared;     // false: ordinary memory, which nk_writer_copy, nk_writer_close and each record copy to the file
};

struct nk_writer {
    int fd;                 // -1: closed or lost
    uint64_t device, inode; // of the file, to know it again
    uint64_t end;           // file offset of the next record
    uint32_t strings;       // texts interned
    struct nk_table by_hash;
    struct nk_buf scratch;
    struct nk_err lost;    // code NK_ERR_NONE while all is well
    uint32_t counters;     // counters given out
    uint32_t counter_room; // counters in the blocks so far
    uint32_t blocks;       // blocks in use
    bool copies;           // some of them are not mapped from the file
    uint64_t copied_at;    // nanoseconds, when they were last copied into it
    struct nk_writer_block block[NK_WRITER_BLOCKS];
};

// Creates `path` (O_EXCL, mode 0600). 0, or -1 with a sentence; then nothing is left behind.
int nk_writer_open(struct nk_writer *writer, const char *path, struct nk_err *err);
// The same without a path: the recording lives in memory (memfd_create), until its last descriptor is closed.
int nk_writer_open_memory(struct nk_writer *writer, struct nk_err *err);
// The id of a text, writing it when it is new. 0 for NULL, for an empty text, and when the file is lost.
uint32_t nk_writer_text(struct nk_writer *writer, const char *text);
uint32_t nk_writer_text_n(struct nk_writer *writer, const char *text, size_t size);
// One record: fixed part, then tail (may be NULL with size 0).
void nk_writer_add(struct nk_writer *writer, enum nk_record_type type, const void *head, size_t head_size,
                   const void *tail, size_t tail_size);
// A new counter, 0 at first: *id is its number, the pointer lives until the process ends (the mapping is never undone,
// also after close). When the file is lost or must not be mapped, the counter lies in ordinary memory. Never NULL: when
// even that fails all counters share one static word and *id is NK_NONE.
uint64_t *nk_writer_counter(struct nk_writer *writer, uint32_t *id);
// For a forked child: forgets the file without touching it and makes the mapped counters private, so that the child
// cannot change its parent's recording. The writer can then be opened again.
void nk_writer_forget(struct nk_writer *writer);
// Counters that are not mapped from the file: copies them into it, when the last time is a second ago. With the records
// FAILURE and EXIT this happens at once.
void nk_writer_copy(struct nk_writer *writer);
void nk_writer_close(struct nk_writer *writer);

#endif
