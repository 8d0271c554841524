// settings.h - the NOKERNEL_* environment variables, read once.
#ifndef NK_BASE_SETTINGS_H
#define NK_BASE_SETTINGS_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct nk_settings {
#define NK_SETTING(member, name, value, allowed, help) const char *member;
#include "base/settings.def"
#undef NK_SETTING
};

// Fills `out` from an environment (as `environ`): the strings are borrowed from it, or static defaults. A value that is
// not allowed is replaced by the default, and a sentence about it (and about unknown NOKERNEL_ names) is added to
// `complaints` (may be NULL), one a line.
void nk_settings_read(struct nk_settings *out, char *const *environment, struct nk_buf *complaints);

#endif
