// files.h - a file that holds device code, wherever its name came from.
#ifndef NK_SCAN_FILES_H
#define NK_SCAN_FILES_H

#include "scan/walk.h"

// Where what is found will stand.
struct nk_scan_place {
    const char *item;  // path of the item
    const char *shown; // path of the library in it
};

// Reads `path`, a regular file that is no archive, and adds it under `place` when it holds device code and was not read
// already. `named` is the path by which its package is found.
void nk_scan_file_seen(struct nk_scan *scan, const struct nk_scan_place *place, const char *path, const char *named,
                       const struct nk_scan_options *options);

#endif
