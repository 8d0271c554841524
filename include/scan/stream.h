// stream.h - device code in a file that passes by once, in bounded memory.
//
// For members of archives that are larger than memory should be. Containers are found by the bytes that start them and
// read image by image: memory holds the largest image and a few MB. The section headers, which say where a container
// lies, stand at the end of the file; they are read when they pass.
#ifndef NK_SCAN_STREAM_H
#define NK_SCAN_STREAM_H

#include "scan/read.h"

// Puts up to `size` bytes (more than 0) into `into`. Returns how many there were, 0 at the end, -1 with a sentence.
typedef int64_t (*nk_stream_read)(void *user, void *into, size_t size, struct nk_err *err);

// A larger image is not read: its container counts as damaged.
#define NK_STREAM_IMAGE (128u << 20)

struct nk_worker; // scan/crew.h

// As nk_scan_bytes, in the caller's thread, which is `worker` of a crew that may do some of it; NULL: all alone. 0, or
// -1 with a sentence (of `read`, or about the file); the library, which has what came before, is then marked as
// incomplete.
int nk_scan_stream(struct nk_scan_library *library, nk_stream_read read, void *user, const struct nk_scan_how *how,
                   const struct nk_worker *worker, struct nk_err *err);

#endif
