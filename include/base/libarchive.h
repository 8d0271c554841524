// libarchive.h - libarchive, opened when the first archive is read.
//
// It brings ten more libraries along (libxml2 and ICU among them). Linked, they would be loaded by every run of the
// command: for longer than it takes to list what a library of 500 MB holds. Its own headers declare the functions; only
// the way to them is ours.
#ifndef NK_BASE_LIBARCHIVE_H
#define NK_BASE_LIBARCHIVE_H

#include "base/err.h"

#include <archive.h>
#include <archive_entry.h>

#define NK_LIBARCHIVE(X)                                                                                               \
    X(archive_entry_filetype)                                                                                          \
    X(archive_entry_hardlink)                                                                                          \
    X(archive_entry_is_data_encrypted)                                                                                 \
    X(archive_entry_pathname)                                                                                          \
    X(archive_entry_pathname_utf8)                                                                                     \
    X(archive_entry_size)                                                                                              \
    X(archive_entry_size_is_set)                                                                                       \
    X(archive_error_string)                                                                                            \
    X(archive_filter_bytes)                                                                                            \
    X(archive_filter_count)                                                                                            \
    X(archive_format)                                                                                                  \
    X(archive_read_data_block)                                                                                         \
    X(archive_read_free)                                                                                               \
    X(archive_read_new)                                                                                                \
    X(archive_read_next_header)                                                                                        \
    X(archive_read_open)                                                                                               \
    X(archive_read_open_filename)                                                                                      \
    X(archive_read_open_memory)                                                                                        \
    X(archive_read_support_filter_all)                                                                                 \
    X(archive_read_support_format_7zip)                                                                                \
    X(archive_read_support_format_ar)                                                                                  \
    X(archive_read_support_format_cpio)                                                                                \
    X(archive_read_support_format_gnutar)                                                                              \
    X(archive_read_support_format_raw)                                                                                 \
    X(archive_read_support_format_tar)                                                                                 \
    X(archive_read_support_format_zip_seekable)                                                                        \
    X(archive_read_support_format_zip_streamable)                                                                      \
    X(archive_set_error)

struct nk_libarchive {
#define X(name) __typeof__(name) *name;
    NK_LIBARCHIVE(X)
#undef X
};

// Its functions; they stay for the life of the process, and any thread may ask. NULL with a sentence when it is not
// installed or lacks one of them.
const struct nk_libarchive *nk_libarchive(struct nk_err *err);

#endif
