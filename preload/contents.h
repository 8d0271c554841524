// contents.h - the bytes of an image that a program handed to the driver.
#ifndef NK_PRELOAD_CONTENTS_H
#define NK_PRELOAD_CONTENTS_H

#include "base/bytes.h"
#include "base/file.h"
#include "objects.h"

struct nk_contents {
    struct nk_bytes bytes; // from the container header, the ELF header, or the first character of PTX
    void *owned;           // a copy to free, or NULL
    struct nk_file file;   // a mapping to close
};

// Copies `size` bytes from an address that may be unmapped: never faults. Returns how many were read (0: none). Costs
// one system call; where that call is forbidden nothing can be read.
size_t nk_memory_read(const void *address, void *out, size_t size);

// The bytes behind a container while they live: 0, or -1 when they are gone or cannot be read. What lies in a loaded
// library is used in place, all else is copied (at most 256 MiB), because the program may free it at any time.
int nk_contents_open(const struct nk_container *container, struct nk_contents *out);
void nk_contents_close(struct nk_contents *contents);

// Names the code by its content or, for a wrapper of nvcc's in a library, by its address: what is equal has one key.
uint64_t nk_contents_key(const void *code, const char *path);

#endif
