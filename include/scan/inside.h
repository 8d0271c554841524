// inside.h - what is in a member of an archive, and in the archives in it.
#ifndef NK_SCAN_INSIDE_H
#define NK_SCAN_INSIDE_H

#include "scan/crew.h"
#include "scan/part.h"
#include "scan/walk.h"
#include "scan/zip.h"

#include <pthread.h>
#include <stdatomic.h>

struct archive; // of libarchive

#define NK_ARCHIVE_CUT "it was cut short: the directory at its end is missing"

// The archive that was asked for, with everything nested in it. Several threads read parts of it.
struct nk_outer {
    const struct nk_scan_options *options;
    struct nk_scan_how how; // of one thread: the others read other members
    const char *path;
    uint64_t size, limit; // of the file; bytes that may come out of it
    bool asked;           // for it by name
    bool cut;             // a zip file without the directory at its end
    struct archive *file; // NULL: a zip file, read by scan/zip.h
    atomic_bool stopped;  // too much came out of it
    pthread_mutex_t lock; // of the progress:
    uint64_t passed;      // bytes of the zip file that were read
};

// What one thread reads: a member of a zip file, or everything of another archive.
struct nk_reading {
    struct nk_outer *outer;
    const struct nk_worker *worker;
    struct nk_part part; // what it has found
    bool left;           // too much came out of it alone
};

// Reads a member, named `name`, that `reader` was begun on. `size`: unpacked, as announced.
void nk_inside_zipped(struct nk_reading *r, struct nk_zip_reader *reader, const char *name, uint64_t size);
// Reads every member of the archive by libarchive, and sets outer->file: give that to nk_inside_close, which takes
// NULL.
void nk_inside_all(struct nk_reading *r);
void nk_inside_close(struct archive *file);

#endif
