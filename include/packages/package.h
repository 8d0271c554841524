// package.h - which installed package a library file belongs to.
#ifndef NK_PACKAGES_PACKAGE_H
#define NK_PACKAGES_PACKAGE_H

#include "base/err.h"

struct nk_package {
    char name[128];     // "torch"; "" when unknown
    char version[128];  // "2.4.1+cu121"
    char source[8];     // "pip", "conda", "deb"; "folder": no list names the file, but it lies in the package's folder;
                        // "name": of no package, the version is that in the file's own name
    char installer[16]; // of a Python package, as INSTALLER says: "pip", "uv", ...; "" when unknown
    // Where a Python package came from when that was no index: "git+https://...@COMMIT", "https://.../x.whl",
    // "file:/home/u/x", or "editable:/home/u/x" for a source tree that is used in place; "" else. Without passwords and
    // without what follows "?" in a URL.
    char origin[256];
};

// Finds the owner of `path` (absolute) by reading package metadata near it: *.dist-info/RECORD in the site-packages
// above it, conda-meta, dpkg's lists. Nothing is executed or imported. 0 when found; 1 when no package owns it (then
// *out is all empty, but for the version of a file whose own name, behind links, has one); -1 when `path` is not
// absolute or too long, or memory is short. Metadata that cannot be read counts as absent. Allocates and opens files,
// so never call it on a path that must not block.
int nk_package_find(const char *path, struct nk_package *out, struct nk_err *err);

#endif
