// read.h - all device code of one file, or of one member of an archive.
#ifndef NK_SCAN_READ_H
#define NK_SCAN_READ_H

#include "scan/model.h"

struct nk_scan_gpus; // scan/gpus.h

// Without `kernels` the header of PTX that is compressed with zstd is believed: to see its text a block of it would
// have to be decoded.
struct nk_scan_how {
    bool kernels; // read the kernels in the images, not only the headers
    bool verify;  // decode every image whole, and compare with what its beginning says
    int threads;  // in all, with the caller's own; 0 and 1: that one alone
    bool all;     // read all kernels of all PTX, whether or not a verdict needs them
    bool mapped;  // without `kernels`: the bytes lie in a file on disk, of which few pages should be touched
    const struct nk_scan_gpus *gpus; // that verdicts are wanted about, or NULL
};

// Adds every container in `file` to the library. 0, or -1 with a sentence when the file is an ELF file or an archive
// that cannot be read, or when `verify` found a difference; what was found before that is in the library, which is then
// marked as incomplete.
int nk_scan_bytes(struct nk_scan_library *library, struct nk_bytes file, const struct nk_scan_how *how,
                  struct nk_err *err);

// What the first bytes of a file say about it.
enum nk_scan_type {
    NK_SCAN_OTHER,   // nothing that holds device code
    NK_SCAN_CODE,    // a library, an object, an archive of objects, a container, a cubin, PTX text, a Windows DLL
    NK_SCAN_ARCHIVE, // zip, tar, deb, or something compressed
};
// 512 bytes are enough; fewer when the file is shorter.
enum nk_scan_type nk_scan_type(struct nk_bytes first);

#endif
