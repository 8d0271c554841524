// loader.h - where the dynamic loader would find a library: RPATH, LD_LIBRARY_PATH, RUNPATH, ld.so.cache, /lib.
//
// As ld.so(8) of glibc does it for a process that is started in this environment; nothing is loaded. Subfolders of
// hardware capabilities (glibc-hwcaps) are looked into for the cache only, which lists them.
#ifndef NK_DOCTOR_LOADER_H
#define NK_DOCTOR_LOADER_H

#include "base/bytes.h"
#include "doctor/model.h"

// What the dynamic section of a library says.
struct nk_dynamic {
    struct nk_bytes needed[64]; // names; views into the file
    size_t count;
    struct nk_bytes soname, rpath, runpath;
};
// False when it is no 64-bit ELF file with a dynamic section.
bool nk_dynamic_read(struct nk_bytes file, struct nk_dynamic *out);

struct nk_loaded {
    char path[NK_DOCTOR_PATH]; // as seen inside root
    const char *how;           // "RPATH", "LD_LIBRARY_PATH", "RUNPATH", "cache", "default"
};
// The chain of libraries that asks, innermost first: their RPATHs count too.
struct nk_asker {
    const char *path;
    const struct nk_dynamic *dynamic;
    const struct nk_asker *by;
};
// `asker` may be NULL (dlopen by a program without RPATH). False when it is found nowhere.
bool nk_loader_find(struct nk_doctor *doctor, const struct nk_asker *asker, const char *name, struct nk_loaded *out);
// The command that takes the folder of that library out of LD_LIBRARY_PATH. Kept.
const char *nk_loader_without(struct nk_doctor *doctor, const char *library);

#endif
