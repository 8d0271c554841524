// members.h - what the small files of an archive say about the package in it.
#ifndef NK_SCAN_MEMBERS_H
#define NK_SCAN_MEMBERS_H

#include "base/buf.h"
#include "base/bytes.h"
#include "packages/package.h"

// Starts from {0}. Give nk_members_free what was noticed.
struct nk_members {
    struct nk_package package;
    struct nk_buf version_file; // text of torch/version.py and its kin
    char version_folder[64];    // "torch"
};

// Does a member of that name say something about the package?
bool nk_members_wanted(const char *name);
void nk_members_notice(struct nk_members *members, const char *name, struct nk_bytes text);
// The package, as far as it is known. PyPI's torch calls itself 2.1.2; which CUDA it is for stands in version.py.
void nk_members_package(struct nk_members *members, struct nk_package *package);
// Adds what `more`, of later members, has noticed; `more` is empty then.
void nk_members_add(struct nk_members *members, struct nk_members *more);
void nk_members_free(struct nk_members *members);

#endif
