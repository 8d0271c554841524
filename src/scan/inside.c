// inside.c - what is in a member of an archive, and in the archives in it, which libarchive reads.
#define _GNU_SOURCE
#include "scan/inside.h"
#include "base/libarchive.h"
#include "scan/archive.h"
#include "scan/read.h"
#include "scan/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK      (256u << 10)
#define SMALL_FILE (1u << 20) // of what the small files say, not more is read
#define PEEK       512u
#define PEEK_ELF   4096u                       // the note with the build-id lies there, unless a tool has moved it
static const struct nk_libarchive *_Atomic la; // since the first reader was made
enum { DEEPEST = 4 };                          // a tar in a package in a folder of packages in an archive

// Bytes that libarchive has decoded and that were not handed out yet.
struct piece {
    const uint8_t *data;
    size_t left;
    int64_t at, next; // in the member: where `data` belongs, what is handed out next; between them lie zeros
};

// The member that is being read.
struct member {
    struct nk_reading *r;
    struct archive *from;         // NULL: by
    struct nk_zip_reader *reader; // this
    struct piece piece;           // of what `from` gives
    uint64_t passed;              // bytes of the zip file that the progress knows of
    char *name;                   // with the archives around it
    uint8_t first[PEEK_ELF];
    size_t peeked, given; // bytes in `first`; of these handed out
    uint8_t *block;       // for an archive in it
    bool failed;
    struct nk_err err;
};

static void problem(struct nk_reading *r, const char *member, const char *text)
{
    struct nk_buf path = {0};
    nk_buf_format(&path, "%s%s%s", r->outer->path, *member ? ": " : "", member);
    nk_scan_problem_add(&r->part.said, path.failed ? r->outer->path : path.data, text);
    nk_buf_free(&path);
}

// libarchive's words, without the noise of its file names.
static const char *words(const struct nk_outer *outer, struct archive *from)
{
    const char *text = la->archive_error_string(from);
    return outer->cut ? NK_ARCHIVE_CUT : text ? text : "cannot be read";
}

// ---- bytes of a member

// Bytes of the file that were read, or that came out of its outermost compression.
static uint64_t filtered(const struct nk_outer *outer, int filter)
{
    return outer->file ? (uint64_t)la->archive_filter_bytes(outer->file, filter) : 0;
}

static bool stopped(const struct nk_reading *r) { return r->left || r->outer->stopped; }

static bool within_limit(struct nk_reading *r, uint64_t bytes)
{
    const struct nk_outer *outer = r->outer;
    r->part.out += bytes;
    if (r->part.out > outer->limit || filtered(outer, 0) > outer->limit) r->left = true;
    return !stopped(r);
}

static void tell_progress(struct member *m, uint64_t passed)
{
    struct nk_outer *outer = m->r->outer;
    const struct nk_scan_options *options = outer->options;
    if (!options->progress) return;
    pthread_mutex_lock(&outer->lock);
    outer->passed += passed - m->passed;
    m->passed = passed;
    options->progress(options->user, m->name, outer->file ? filtered(outer, -1) : outer->passed, outer->size);
    pthread_mutex_unlock(&outer->lock);
}

// As archive_read_data, which on an error forgets what it has copied before: how much that is would depend on the size
// that was asked for.
static int64_t read_piece(struct member *m, uint8_t *into, size_t size)
{
    struct piece *p = &m->piece;
    while (!p->left && p->at <= p->next) {
        const void *data = NULL;
        int result = la->archive_read_data_block(m->from, &data, &p->left, &p->at);
        if (result == ARCHIVE_EOF) return 0;
        if (result < ARCHIVE_OK) return nk_fail(&m->err, NK_ERR_BAD_INPUT, "%s", words(m->r->outer, m->from));
        if (p->at < p->next) return nk_fail(&m->err, NK_ERR_BAD_INPUT, "its parts are out of order");
        p->data = data;
    }
    bool hole = p->at > p->next;
    size_t have = hole ? (size_t)(p->at - p->next) : p->left, n = have < size ? have : size;
    if (hole) {
        memset(into, 0, n);
    } else {
        memcpy(into, p->data, n);
        p->data += n;
        p->left -= n;
        p->at += (int64_t)n;
    }
    p->next += (int64_t)n;
    return (int64_t)n;
}

// Some bytes of the member that were not read yet. -1 with a sentence in m->err.
static int64_t read_some(struct member *m, void *into, size_t size)
{
    if (m->failed || stopped(m->r)) return -1;
    return m->reader ? nk_zip_read(m->reader, into, size, &m->err) : read_piece(m, into, size);
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
    tell_progress(m, m->reader ? nk_zip_passed(m->reader) : 0);
    if (within_limit(m->r, (uint64_t)got)) return got;
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
    if (got < 0 && !stopped(m->r)) problem(m->r, m->name, m->err.text);
    return got >= 0;
}

static void add_library(struct member *m, struct nk_scan_library *library)
{
    struct nk_part *part = &m->r->part;
    nk_scan_library_tidy(library);
    if (library->box_count) {
        nk_scan_item_add(&part->said, &part->libraries, library);
    } else {
        part->said.others++;
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

static bool prepare(void *user)
{
    struct after *after = user;
    return after->member->reader && nk_zip_prepare(after->member->reader);
}

// A member that is too large to be read whole; `before`: the first part of it.
static int read_passing(struct member *m, const struct nk_buf *before, struct nk_scan_library *library,
                        struct nk_err *err)
{
    const struct nk_scan_how *how = &m->r->outer->how;
    const struct nk_worker *worker = m->r->worker;
    struct after after = {m, before, 0};
    struct nk_ahead *ahead = nk_ahead_start(worker, &(struct nk_stream){pull_after, prepare, &after});
    int result = ahead ? nk_scan_stream(library, nk_ahead_read, ahead, how, worker, err)
                       : nk_scan_stream(library, pull_after, &after, how, worker, err);
    nk_ahead_stop(ahead);
    return result;
}

// `most`: bytes that are read whole. 0, or -1 with a sentence in m->err or *err.
static int read_library(struct member *m, int64_t size, size_t most, struct nk_scan_library *library,
                        struct nk_err *err)
{
    struct nk_buf whole = {0};
    int result = -1;
    // Zip files that were written as a stream do not say how large a member is.
    bool all = size <= (int64_t)most && pull_all(m, &whole, most);
    if (all)
        result = nk_scan_bytes(library, nk_bytes(whole.data, whole.size), &m->r->outer->how, err);
    else if (!m->failed && !whole.failed)
        result = read_passing(m, &whole, library, err);
    // How much of it is read before an error is noticed means nothing.
    if (!all && result && size > 0) library->size = (uint64_t)size;
    if (library->box_count && !all) nk_scan_library_identify(library, nk_bytes(m->first, m->peeked));
    nk_buf_free(&whole);
    return result;
}

static void read_code(struct member *m, int64_t size)
{
    static pthread_mutex_t large = PTHREAD_MUTEX_INITIALIZER; // one at a time: memory has a bound
    struct nk_err err = {.text = "not enough memory"};
    bool elf = nk_bytes_starts(nk_bytes(m->first, m->peeked), "\177ELF", 4);
    if (elf && !peek(m, PEEK_ELF)) return;
    struct nk_scan_library *library = nk_scan_library_new(m->name);
    if (!library) {
        m->r->part.said.failed = true;
        return;
    }
    bool alone = !elf && (!size || size > NK_ARCHIVE_WHOLE_ELF) && size <= NK_ARCHIVE_WHOLE;
    if (alone) pthread_mutex_lock(&large);
    int result = read_library(m, size, elf ? NK_ARCHIVE_WHOLE_ELF : NK_ARCHIVE_WHOLE, library, &err);
    if (alone) pthread_mutex_unlock(&large);
    if (result && !stopped(m->r)) problem(m->r, m->name, m->failed ? m->err.text : err.text);
    add_library(m, library);
}

static void read_members(struct nk_reading *r, struct archive *from, const char *prefix, int depth, bool asked);

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
    la = nk_libarchive(err);
    if (!la) return NULL;
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
        problem(m->r, m->name, inner ? "not enough memory" : err.text);
    else if (la->archive_read_open(inner, m, NULL, give, NULL) != ARCHIVE_OK)
        m->r->part.said.others++; // compressed, and no archive
    else
        read_members(m->r, inner, m->name, depth + 1, false);
    if (inner) la->archive_read_free(inner);
    free(m->block);
}

static void notice(struct member *m, const char *name)
{
    struct nk_buf text = {0};
    if (pull_all(m, &text, SMALL_FILE)) nk_members_notice(&m->r->part.members, name, nk_bytes(text.data, text.size));
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
        m->r->part.said.others++;
}

// `from` NULL: by `reader`.
static void read_named(struct nk_reading *r, struct archive *from, struct nk_zip_reader *reader, const char *prefix,
                       const char *name, int64_t size, int depth)
{
    struct nk_buf shown = {0};
    nk_buf_format(&shown, "%s%s%s", prefix, *prefix ? "/" : "", strncmp(name, "./", 2) ? name : name + 2);
    struct member m = {.r = r, .from = from, .reader = reader, .name = shown.data};
    if (shown.failed)
        r->part.said.failed = true;
    else
        read_member(&m, name, size, depth);
    nk_buf_free(&shown);
}

// What is left of a member. A zip file is skipped by seeking; elsewhere it has to be decoded, which counts.
static void skip(struct nk_reading *r, struct archive *from)
{
    const void *block;
    size_t size;
    la_int64_t offset;
    if ((la->archive_format(from) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_ZIP) return;
    while (la->archive_read_data_block(from, &block, &size, &offset) == ARCHIVE_OK)
        if (!within_limit(r, size)) return;
}

static void read_entry(struct nk_reading *r, struct archive *from, struct archive_entry *entry, const char *prefix,
                       int depth)
{
    const char *name = la->archive_entry_pathname_utf8(entry);
    if (!name) name = la->archive_entry_pathname(entry);
    if (!name) name = "(a name that cannot be read)";
    // Members of `ar` may come without a type.
    if (la->archive_entry_filetype(entry) != AE_IFREG && la->archive_entry_filetype(entry) != 0) return;
    if (la->archive_entry_hardlink(entry)) {
        r->part.said.links++;
        return;
    }
    if (la->archive_entry_is_data_encrypted(entry)) {
        if (!r->part.encrypted) problem(r, name, "is encrypted (and maybe other members are)");
        r->part.encrypted = true;
    } else {
        int64_t size = la->archive_entry_size_is_set(entry) ? la->archive_entry_size(entry) : 0;
        read_named(r, from, NULL, prefix, name, size, depth);
    }
    if (!stopped(r)) skip(r, from);
}

static void read_members(struct nk_reading *r, struct archive *from, const char *prefix, int depth, bool asked)
{
    struct archive_entry *entry;
    int result;
    bool any = false, told = false; // a problem of the member before is the reason for what follows
    while (!stopped(r) && (result = la->archive_read_next_header(from, &entry)) != ARCHIVE_EOF) {
        if (result == ARCHIVE_RETRY) continue;
        if (result < ARCHIVE_WARN) {
            // A compressed file that is no archive was not expected to be one, unless somebody said so.
            bool none = !any && (la->archive_format(from) & ARCHIVE_FORMAT_BASE_MASK) == 0;
            if (none && !asked)
                r->part.said.others++;
            else if (!told)
                problem(r, prefix, words(r->outer, from));
            return;
        }
        any = true;
        size_t before = r->part.said.problem_count;
        read_entry(r, from, entry, prefix, depth);
        told = r->part.said.problem_count > before;
    }
}

void nk_inside_all(struct nk_reading *r)
{
    struct nk_err err;
    struct nk_outer *outer = r->outer;
    outer->file = new_reader(true, &err);
    if (!outer->file)
        problem(r, "", err.text);
    else if (la->archive_read_open_filename(outer->file, outer->path, BLOCK) == ARCHIVE_OK)
        read_members(r, outer->file, "", 0, outer->asked);
    else if (outer->asked)
        problem(r, "", words(outer, outer->file));
    else
        r->part.said.others++;
}

void nk_inside_zipped(struct nk_reading *r, struct nk_zip_reader *reader, const char *name, uint64_t size)
{
    read_named(r, NULL, reader, "", name, size <= INT64_MAX ? (int64_t)size : 0, 0);
}

void nk_inside_close(struct archive *file)
{
    if (file) la->archive_read_free(file);
}
