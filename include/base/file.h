// file.h - a file mapped for reading, or read.
//
// nk_file_open maps a regular file privately and read-only; nk_file_close unmaps it. A file that shrinks while it is
// mapped makes a read of the lost pages raise SIGBUS: only map files that nobody rewrites in place (installed
// libraries).
#ifndef NK_BASE_FILE_H
#define NK_BASE_FILE_H

#include "base/bytes.h"
#include "base/err.h"

#include <stdint.h>

struct nk_file {
    struct nk_bytes bytes; // an empty view for an empty file
    uint64_t device, inode;
    int64_t modified; // seconds since 1970
};

// 0, or -1 with a sentence that names the path: it does not exist, is no regular file, cannot be read or mapped.
int nk_file_open(struct nk_file *file, const char *path, struct nk_err *err);
// The same, but the bytes are read into memory: for files that somebody may still write, cut or take away, and where a
// page that cannot be read (a file server that is gone) must be an error and no signal. What is lost meanwhile is
// zeros. One that is larger than NK_FILE_MOST_READ bytes is mapped all the same.
enum { NK_FILE_MOST_READ = 64 << 20 };
int nk_file_read(struct nk_file *file, const char *path, struct nk_err *err);
// Tells the system that few pages, far apart, will be read: it then does not read ahead.
void nk_file_scattered(const struct nk_file *file);
void nk_file_close(struct nk_file *file);

// Tells the system how a part of a mapped file will be read: here and there (read no more than what is asked for), or
// all of it. Without effect on what the bytes are.
enum nk_file_use { NK_FILE_HERE_AND_THERE, NK_FILE_ALL };
void nk_file_expect(struct nk_bytes part, enum nk_file_use use);

#endif
