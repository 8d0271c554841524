// read.h - all device code of one file, or of one member of an archive.
#ifndef NK_SCAN_READ_H
#define NK_SCAN_READ_H

#include "scan/model.h"

// Adds every container in `file` to the library; with `kernels` also the kernels in them. 0, or -1 with a sentence when
// the file is an ELF file or an archive that cannot be read; what was found before that is in the library.
int nk_scan_bytes(struct nk_scan_library *library, struct nk_bytes file, bool kernels, struct nk_err *err);

// What the first bytes of a file say about it.
enum nk_scan_type {
    NK_SCAN_OTHER,   // nothing that holds device code
    NK_SCAN_CODE,    // a library, an object, an archive of objects, a container, a cubin, PTX text, a Windows DLL
    NK_SCAN_ARCHIVE, // zip, tar, deb, or something compressed
};
// 512 bytes are enough; fewer when the file is shorter.
enum nk_scan_type nk_scan_type(struct nk_bytes first);

#endif
