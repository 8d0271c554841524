// files.h - small reads of the examined file system. Paths are as seen inside `root`.
#ifndef NK_DOCTOR_FILES_H
#define NK_DOCTOR_FILES_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

// Fills `out` with the path as the system opens it. Returns its text, "" when it is too long or memory is short.
const char *nk_doctor_path(struct nk_buf *out, const char *root, const char *path);
bool nk_doctor_exists(const char *root, const char *path);
bool nk_doctor_is_folder(const char *root, const char *path);
// Seconds since 1970 of the last change; 0 when it is not there.
int64_t nk_doctor_changed(const char *root, const char *path);
// Where links lead, as seen inside root, into `out` (of `size` bytes). False when it is not there or leads out of root.
bool nk_doctor_real(const char *root, const char *path, char *out, size_t size);
// The first bytes of a file (at most 1 MB; also of /proc, which tells no size), appended. False when it cannot be read.
bool nk_doctor_read(const char *root, const char *path, struct nk_buf *out);
// True when the file `name` can be found in a folder of `list` (separated by ":"); its path in `out`.
bool nk_doctor_which(const char *root, const char *list, const char *name, char *out, size_t size);

#endif
