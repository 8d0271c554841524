// text.h - the report as text: the same bytes at the end of the watched program and from `nokernel report`.
//
// Made to run inside a foreign process too: no stdio streams, no locale, no exit; it allocates and gives all back.
#ifndef NK_REPORT_TEXT_H
#define NK_REPORT_TEXT_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct nk_text_options {
    int columns;     // 0: 80
    bool colour;     // escape sequences for a terminal
    bool full_paths; // home directories are not replaced by "~"
    int gpu;         // 0: the recorded ones; else what would have been missing on this SM (120)
    int driver;      // with `gpu`: its driver, as cuDriverGetVersion (13000); 0: the recorded one
    // For the JSON, which they become a member of; or NULL. Borrowed.
    const struct nk_exercised *exercised;
    const struct nk_everywhere *everywhere;
};

// Appends the report of `count` recordings to `out`. 0; -1 with a sentence when one cannot be read: the sentence is
// about the first such, the others are in `out` all the same.
int nk_report_text(const char *const *paths, size_t count, const struct nk_text_options *options, struct nk_buf *out,
                   struct nk_err *err);

#endif
