// archive.h - wheels, conda and Debian packages, zip and tar files: their members one after another, never unpacked to
// disk.
#ifndef NK_SCAN_ARCHIVE_H
#define NK_SCAN_ARCHIVE_H

#include "scan/walk.h"

// Members up to these sizes are read whole; larger ones pass through a window (scan/stream.h). That is quicker, and all
// the same to an ELF file; of an archive of objects and of PTX text it cannot say everything.
#define NK_ARCHIVE_WHOLE     (48u << 20)
#define NK_ARCHIVE_WHOLE_ELF (1u << 20)
// A well-made archive holds up to so many times its own size. Beyond that, and beyond NK_ARCHIVE_FREE, it is taken for
// a bomb and left. Measured on 29 wheels of PyPI with GPU code: 1.4 to 5.8 times, and no single member of a MB or more
// above 45 (a header of tables).
#define NK_ARCHIVE_RATIO 200u
#define NK_ARCHIVE_FREE  (1ull << 30)

// Reads the archive and adds an item with its libraries; the package is what its metadata says. What cannot be read
// (a damaged or encrypted member, a cut archive, a bomb) becomes a problem of the scan; a compressed file that is no
// archive only if it was `asked` for by name.
void nk_scan_archive(struct nk_scan *scan, const char *path, bool asked, const struct nk_scan_options *options);

#endif
