// archive.c - the members of wheels, packages and archives, one after another: of ordinary zip files through
// scan/zip.h, of all others through libarchive.
#define _GNU_SOURCE
#include "scan/archive.h"
#include "base/libarchive.h"
#include "scan/ahead.h"
#include "scan/members.h"
#include "scan/read.h"
#include "scan/stream.h"
#include "scan/zip.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK      (256u << 10)
#define SMALL_FILE (1u << 20) // of what the small files say, not more is read
#define PEEK       512u
#define PEEK_ELF   4096u               // the note with the build-id lies there, unless a tool has moved it
static const struct nk_libarchive *la; // since the first reader was made
enum { DEEPEST = 4 };                  // a tar in a package in a folder of packages in an archive

// The archive that was asked for, with everything nested in it.
struct outer {
    struct nk_scan *scan;
    const struct nk_scan_options *options;
    const char *path;
    uint64_t size, limit; // of the file; bytes that may come out of it
    uint64_t out;
    struct nk_scan_item found; // libraries, until the package is known
    struct nk_members members;
    struct archive *file; // the outermost, for the progress; or else
    struct nk_zip *zip;
    bool stopped, encrypted;
};

// The member that is being read.
struct member {
    struct outer *outer;
    struct archive *from; // NULL: outer->zip
    char *name;           // with the archives around it
    uint8_t first[PEEK_ELF];
    size_t peeked, given; // bytes in `first`; of these handed out
    uint8_t *block;       // for an archive in it
    bool failed;
    struct nk_err err;
};

static void problem(struct outer *outer, const char *member, const char *text)
{
    struct nk_buf path = {0};
    nk_buf_format(&path, "%s%s%s", outer->path, *member ? ": " : "", member);
    nk_scan_problem_add(outer->scan, path.failed ? outer->path : path.data, text);
    nk_buf_free(&path);
}

// libarchive's words, without the noise of its file names.
static const char *words(struct archive *from)
{
    const char *text = la->archive_error_string(from);
    return text ? text : "cannot be read";
}

// ---- bytes of a member

// Bytes of the file that were read; bytes that came out of its outermost compression.
static uint64_t bytes_in(const struct outer *outer)
{
    return outer->zip ? nk_zip_passed(outer->zip) : (uint64_t)la->archive_filter_bytes(outer->file, -1);
}

static uint64_t bytes_out(const struct outer *outer)
{
    return outer->zip ? 0 : (uint64_t)la->archive_filter_bytes(outer->file, 0);
}

static bool within_limit(struct outer *outer, uint64_t bytes)
{
    outer->out += bytes;
    if (outer->stopped || (outer->out <= outer->limit && bytes_out(outer) <= outer->limit)) return !outer->stopped;
    char text[128];
    snprintf(text, sizeof text, "more than %u times its own size comes out of it: it was left", NK_ARCHIVE_RATIO);
    problem(outer, "", text);
    outer->stopped = true;
    return false;
}

// Some bytes of the member that were not read yet. -1 with a sentence in m->err.
static int64_t read_some(struct member *m, void *into, size_t size)
{
    if (m->failed || m->outer->stopped) return -1;
    if (!m->from) return nk_zip_read(m->outer->zip, into, size, &m->err);
    la_ssize_t got = la->archive_read_data(m->from, into, size);
    return got < 0 ? nk_fail(&m->err, NK_ERR_BAD_INPUT, "%s", words(m->from)) : got;
}

// As nk_stream_read.
static int64_t pull(void *user, void *into, size_t size, struct nk_err *err)
{
    struct member *m = user;
    if (m->given < m->peeked) {
        size_t n = m->peeked - m->given < size ? m->peeked - m->given : size;
        memcpy(into, m->first + m->given, n);
        m->given += n;
        return (int64_t)n;
    }
    int64_t got = read_some(m, into, size);
    if (got < 0) {
        m->failed = true;
        if (err != &m->err) nk_fail(err, m->err.code, "%s", m->err.text);
        return -1;
    }
    const struct nk_scan_options *options = m->outer->options;
    if (options->progress) options->progress(options->user, m->name, bytes_in(m->outer), m->outer->size);
    if (within_limit(m->outer, (uint64_t)got)) return got;
    m->failed = true;
    return nk_fail(err, NK_ERR_LIMIT, "it was left");
}

// All of the member, at most `limit` bytes. False when there are more, or on an error.
static bool pull_all(struct member *m, struct nk_buf *whole, size_t limit)
{
    uint8_t *block = malloc(BLOCK);
    int64_t got = block ? 1 : -1;
    while (got > 0 && whole->size <= limit && !whole->failed)
        if ((got = pull(m, block, BLOCK, &m->err)) > 0) nk_buf_add(whole, block, (size_t)got);
    free(block);
    return !got && !whole->failed;
}

// ---- what a member is

// The first bytes of the member, `size` of them unless it is shorter. False, with a problem told, when it cannot be
// read.
static bool peek(struct member *m, size_t size)
{
    int64_t got = 1;
    while (m->peeked < size && got > 0) {
        size_t before = m->peeked;
        m->peeked = m->given = 0; // so that pull reads on
        got = pull(m, m->first + before, size - before, &m->err);
        m->peeked = before + (got > 0 ? (size_t)got : 0);
        m->given = m->peeked;
    }
    m->given = 0;
    if (got < 0 && !m->outer->stopped) problem(m->outer, m->name, m->err.text);
    return got >= 0;
}

static void add_library(struct member *m, struct nk_scan_library *library)
{
    struct outer *outer = m->outer;
    nk_scan_library_tidy(library);
    if (library->box_count) {
        nk_scan_item_add(outer->scan, &outer->found, library);
    } else {
        outer->scan->others++;
        nk_scan_library_free(library);
    }
}

// A stream that starts with bytes that were read already.
struct after {
    struct member *member;
    const struct nk_buf *before;
    size_t given;
};

static int64_t pull_after(void *user, void *into, size_t size, struct nk_err *err)
{
    struct after *after = user;
    size_t left = after->before->size - after->given;
    if (!left) return pull(after->member, into, size, err);
    if (left > size) left = size;
    memcpy(into, after->before->data + after->given, left);
    after->given += left;
    return (int64_t)left;
}

// A member that is too large to be read whole; `before`: the first part of it.
static int read_passing(struct member *m, const struct nk_buf *before, struct nk_scan_library *library,
                        struct nk_err *err)
{
    const struct nk_scan_how *how = &m->outer->options->how;
    struct after after = {m, before, 0};
    struct nk_ahead *ahead = how->threads > 1 ? nk_ahead_start(pull_after, &after) : NULL;
    int result = ahead ? nk_scan_stream(library, nk_ahead_read, ahead, how, err)
                       : nk_scan_stream(library, pull_after, &after, how, err);
    nk_ahead_stop(ahead);
    return result;
}

static void read_code(struct member *m, int64_t size)
{
    bool elf = nk_bytes_starts(nk_bytes(m->first, m->peeked), "\177ELF", 4);
    if (elf && !peek(m, PEEK_ELF)) return;
    struct nk_err err = {0};
    struct nk_buf whole = {0};
    struct nk_scan_library *library = nk_scan_library_new(m->name);
    const struct nk_scan_how *how = &m->outer->options->how;
    int result = 0;
    if (!library) {
        m->outer->scan->failed = true;
        return;
    }
    size_t most = elf ? NK_ARCHIVE_WHOLE_ELF : NK_ARCHIVE_WHOLE;
    // Zip files that were written as a stream do not say how large a member is.
    bool all = size <= (int64_t)most && pull_all(m, &whole, most);
    if (all)
        result = nk_scan_bytes(library, nk_bytes(whole.data, whole.size), how, &err);
    else if (!m->failed && !whole.failed)
        result = read_passing(m, &whole, library, &err);
    if (library->box_count && !all) nk_scan_library_identify(library, nk_bytes(m->first, m->peeked));
    if (m->failed && !m->outer->stopped)
        problem(m->outer, m->name, m->err.text);
    else if (result && !m->outer->stopped)
        problem(m->outer, m->name, err.text);
    nk_buf_free(&whole);
    add_library(m, library);
}

static void read_members(struct outer *outer, struct archive *from, const char *prefix, int depth, bool asked);

static la_ssize_t give(struct archive *inner, void *user, const void **block)
{
    struct member *m = user;
    int64_t got = pull(m, m->block, BLOCK, &m->err);
    *block = m->block;
    if (got < 0) la->archive_set_error(inner, EIO, "%s", m->err.text);
    return (la_ssize_t)got;
}

// NULL with a sentence.
static struct archive *new_reader(bool seekable, struct nk_err *err)
{
    if (!(la = nk_libarchive(err))) return NULL;
    struct archive *reader = la->archive_read_new();
    if (!reader) {
        nk_fail(err, NK_ERR_MEMORY, "not enough memory");
        return NULL;
    }
    la->archive_read_support_filter_all(reader);
    la->archive_read_support_format_tar(reader);
    la->archive_read_support_format_gnutar(reader);
    la->archive_read_support_format_ar(reader);
    la->archive_read_support_format_cpio(reader);
    if (seekable) la->archive_read_support_format_zip_seekable(reader);
    la->archive_read_support_format_zip_streamable(reader);
    return reader;
}

static void read_nested(struct member *m, int depth)
{
    struct nk_err err = {.text = "archives are nested too deep"};
    struct archive *inner = depth < DEEPEST ? new_reader(false, &err) : NULL;
    m->block = malloc(BLOCK);
    if (!inner || !m->block)
        problem(m->outer, m->name, inner ? "not enough memory" : err.text);
    else if (la->archive_read_open(inner, m, NULL, give, NULL) != ARCHIVE_OK)
        m->outer->scan->others++; // compressed, and no archive
    else
        read_members(m->outer, inner, m->name, depth + 1, false);
    if (inner) la->archive_read_free(inner);
    free(m->block);
}

static void notice(struct member *m, const char *name)
{
    struct nk_buf text = {0};
    if (pull_all(m, &text, SMALL_FILE)) nk_members_notice(&m->outer->members, name, nk_bytes(text.data, text.size));
    nk_buf_free(&text);
}

// ---- members

// `name`: without the archives around it. `size`: as announced, 0 where it is not.
static void read_member(struct member *m, const char *name, int64_t size, int depth)
{
    if (!peek(m, PEEK)) return;
    enum nk_scan_type type = nk_scan_type(nk_bytes(m->first, m->peeked));
    if (nk_members_wanted(name))
        notice(m, name);
    else if (type == NK_SCAN_CODE)
        read_code(m, size);
    else if (type == NK_SCAN_ARCHIVE)
        read_nested(m, depth);
    else
        m->outer->scan->others++;
}

// `from` NULL: from outer->zip.
static void read_named(struct outer *outer, struct archive *from, const char *prefix, const char *name, int64_t size,
                       int depth)
{
    struct nk_buf shown = {0};
    nk_buf_format(&shown, "%s%s%s", prefix, *prefix ? "/" : "", strncmp(name, "./", 2) ? name : name + 2);
    struct member m = {.outer = outer, .from = from, .name = shown.data};
    if (shown.failed)
        outer->scan->failed = true;
    else
        read_member(&m, name, size, depth);
    nk_buf_free(&shown);
}

// What is left of a member. A zip file is skipped by seeking; elsewhere it has to be decoded, which counts.
static void skip(struct outer *outer, struct archive *from)
{
    const void *block;
    size_t size;
    la_int64_t offset;
    if ((la->archive_format(from) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_ZIP) return;
    while (la->archive_read_data_block(from, &block, &size, &offset) == ARCHIVE_OK)
        if (!within_limit(outer, size)) return;
}

static void read_entry(struct outer *outer, struct archive *from, struct archive_entry *entry, const char *prefix,
                       int depth)
{
    const char *name = la->archive_entry_pathname_utf8(entry);
    if (!name) name = la->archive_entry_pathname(entry);
    if (!name) name = "(a name that cannot be read)";
    // Members of `ar` may come without a type.
    if (la->archive_entry_filetype(entry) != AE_IFREG && la->archive_entry_filetype(entry) != 0) return;
    if (la->archive_entry_hardlink(entry)) {
        outer->scan->links++;
        return;
    }
    if (la->archive_entry_is_data_encrypted(entry)) {
        if (!outer->encrypted) problem(outer, name, "is encrypted (and maybe other members are)");
        outer->encrypted = true;
    } else {
        int64_t size = la->archive_entry_size_is_set(entry) ? la->archive_entry_size(entry) : 0;
        read_named(outer, from, prefix, name, size, depth);
    }
    if (!outer->stopped) skip(outer, from);
}

static void read_members(struct outer *outer, struct archive *from, const char *prefix, int depth, bool asked)
{
    struct archive_entry *entry;
    int result;
    bool any = false, told = false; // a problem of the member before is the reason for what follows
    while (!outer->stopped && (result = la->archive_read_next_header(from, &entry)) != ARCHIVE_EOF) {
        if (result == ARCHIVE_RETRY) continue;
        if (result < ARCHIVE_WARN) {
            // A compressed file that is no archive was not expected to be one, unless somebody said so.
            bool none = !any && (la->archive_format(from) & ARCHIVE_FORMAT_BASE_MASK) == 0;
            if (none && !asked)
                outer->scan->others++;
            else if (!told)
                problem(outer, prefix, words(from));
            return;
        }
        any = true;
        size_t before = outer->scan->problem_count;
        read_entry(outer, from, entry, prefix, depth);
        told = outer->scan->problem_count > before;
    }
}

static void read_zip(struct outer *outer)
{
    struct nk_zip_member member;
    while (!outer->stopped && nk_zip_next(outer->zip, &member))
        if (member.regular)
            read_named(outer, NULL, "", member.name, member.size <= INT64_MAX ? (int64_t)member.size : 0, 0);
}

// The item that all libraries of the archive belong to.
static void hand_over(struct outer *outer)
{
    struct nk_package package;
    nk_members_package(&outer->members, &package);
    struct nk_scan_item *item = outer->found.count ? nk_scan_item_get(outer->scan, outer->path, &package) : NULL;
    if (item) item->archive = true;
    for (size_t i = 0; i < outer->found.count; i++) {
        outer->found.libraries[i]->package = package;
        nk_scan_item_add(outer->scan, item, outer->found.libraries[i]);
    }
    free(outer->found.libraries);
    nk_members_free(&outer->members);
}

static bool read_at(void *user, uint64_t at, void *into, size_t size)
{
    uint8_t *to = into;
    while (size) {
        ssize_t got = pread(*(int *)user, to, size, (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        to += got;
        at += (uint64_t)got;
        size -= (size_t)got;
    }
    return true;
}

static void read_by_libarchive(struct outer *outer, bool asked)
{
    struct nk_err err;
    outer->file = new_reader(true, &err);
    if (!outer->file)
        problem(outer, "", err.text);
    else if (la->archive_read_open_filename(outer->file, outer->path, BLOCK) == ARCHIVE_OK)
        read_members(outer, outer->file, "", 0, asked);
    else if (asked)
        problem(outer, "", words(outer->file));
    else
        outer->scan->others++;
    hand_over(outer);
    if (outer->file) la->archive_read_free(outer->file);
}

void nk_scan_archive(struct nk_scan *scan, const char *path, bool asked, const struct nk_scan_options *options)
{
    struct stat st = {0};
    struct outer outer = {.scan = scan, .options = options, .path = path};
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 ? stat(path, &st) : fstat(file, &st)) st.st_size = 0;
    outer.size = (uint64_t)st.st_size;
    outer.limit = outer.size * NK_ARCHIVE_RATIO + NK_ARCHIVE_FREE;
    outer.zip = file < 0 ? NULL : nk_zip_open(read_at, &file, outer.size);
    if (outer.zip) {
        read_zip(&outer);
        hand_over(&outer);
        nk_zip_close(outer.zip);
    } else {
        read_by_libarchive(&outer, asked);
    }
    if (file >= 0) close(file);
}
