// find.h - every place in a file where device code lies.
//
// Host ELF files (libraries, programs, objects), archives of them, .fatbin and .cubin files, PTX text, and any other
// file that holds containers somewhere (a Windows DLL). Nothing is allocated; views are valid as long as the file's
// bytes.
#ifndef NK_IMAGE_FIND_H
#define NK_IMAGE_FIND_H

#include "base/bytes.h"
#include "base/err.h"

#include <stdbool.h>

enum nk_found_kind { NK_FOUND_CONTAINER, NK_FOUND_CUBIN, NK_FOUND_PTX };

// The values of NK_CONTAINER_* in a recording, to the bit.
enum {
    NK_FOUND_OUTSIDE = 1,     // not in the section where the CUDA runtime keeps its containers
    NK_FOUND_RELOCATABLE = 2, // in __nv_relfatbin: input of the device linker, never loaded by itself
    NK_FOUND_DAMAGED = 4,     // not whole; or bytes between containers that are none
};

enum {
    // Only .nv_fatbin and __nv_relfatbin, by their headers: touches few pages, for use inside a foreign process. Finds
    // nothing in files without section headers, and nothing that is kept elsewhere (cuFFT, cuBLASLt keep much there).
    NK_FIND_SECTIONS_ONLY = 1,
};

struct nk_found {
    struct nk_bytes
        bytes;       // give it to nk_fatbin_begin: it takes all three kinds (it refuses bytes that are no container)
    uint64_t offset; // in the file (in the archive)
    enum nk_found_kind kind;
    uint32_t flags;                  // NK_FOUND_*
    struct nk_bytes section, member; // names; empty when there are none
};

// 0 goes on, a positive number ends the search.
typedef int (*nk_found_fn)(const struct nk_found *found, void *user);

// Calls `each` for all that is found. Inside .nv_fatbin in the order of the file; sections first, then what lies
// elsewhere. Returns 0, the positive number of `each`, or -1 with a sentence when the file is an ELF file or an archive
// that cannot be read (32-bit, cut short); what was found before that was handed out.
int nk_find_images(struct nk_bytes file, unsigned options, nk_found_fn each, void *user, struct nk_err *err);

// The same from headers alone, as far as that is possible; `file` is a mapped one, of which few pages are read: an ELF
// file is searched in .nv_fatbin and __nv_relfatbin, in sections that begin with a container, and in .cask_resource (of
// cuBLAS and cuDNN); in all of it only if nothing lies there. Any other file is searched whole. `unsearched` becomes
// the number of bytes that were left: there may be code in them (cuSPARSE and onnxruntime keep some in .rodata beside
// their .nv_fatbin).
int nk_find_quickly(struct nk_bytes file, nk_found_fn each, void *user, uint64_t *unsearched, struct nk_err *err);

#endif
