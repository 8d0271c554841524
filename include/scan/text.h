// text.h - a scan as text for people, as Markdown, as CSV.
//
// All of them append to a buffer and fail only as nk_buf does.
#ifndef NK_SCAN_TEXT_H
#define NK_SCAN_TEXT_H

#include "scan/gpus.h"

struct nk_scan_show {
    const struct nk_scan_gpus *gpus;
    bool names;      // of kernels
    bool full_paths; // home directories are not replaced by ~
};

void nk_scan_write_text(struct nk_buf *out, const struct nk_scan *scan, const struct nk_scan_show *show);
void nk_scan_write_markdown(struct nk_buf *out, const struct nk_scan *scan, const struct nk_scan_show *show);
// What could not be read, as a list of Markdown; nothing if there is nothing.
void nk_scan_unread_markdown(struct nk_buf *out, const struct nk_scan *scan, const struct nk_scan_show *show);
// One row a library (and GPU), with a header.
void nk_scan_write_csv(struct nk_buf *out, const struct nk_scan *scan, const struct nk_scan_show *show);

#endif
