// contents.c - reads one file into a merge: a recording, JSON, or an archive of them.
#define _GNU_SOURCE
#include "merge/contents.h"
#include "base/file.h"
#include "base/libarchive.h"
#include "recording/event.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEMBER    (256u << 20)         // bytes of a member, or of standard input
#define FROM_ZERO (4ull << 30)         // bytes that may come out of one archive
static const struct nk_libarchive *la; // since the first archive
enum { DEEPEST = 4, LOOK = 4096 };

// Something with a name and bytes: a file, standard input, or the member of an archive.
struct thing {
    const char *name, *path; // path: NULL for what lies in memory only
    struct nk_bytes bytes;
    bool named;
    int depth; // archives around it
};

void nk_merge_complain(struct nk_buf *out, const char *sentence)
{
    for (const char *c = sentence; *c; c++) nk_buf_add(out, (unsigned char)*c < 32 || *c == 127 ? "?" : c, 1);
    nk_buf_text(out, "\n");
}

static void problem(struct nk_merge_contents *c, const char *sentence)
{
    nk_merge_complain(&c->problems, sentence);
    c->problem_count++;
}

static void problem_about(struct nk_merge_contents *c, const char *name, const char *what)
{
    struct nk_buf line = {0};
    nk_buf_format(&line, "%s: %s", name, what);
    problem(c, line.data ? line.data : what);
    nk_buf_free(&line);
}

// ---- recordings

static bool ends(const char *name, const char *with)
{
    size_t size = strlen(name), tail = strlen(with);
    return size > tail && !strcmp(name + size - tail, with);
}

static bool is_recording(const struct thing *t)
{
    return nk_bytes_starts(t->bytes, NK_RECORDING_MAGIC, 8) || ends(t->name, ".nkr");
}

// A file in memory, for bytes that have no path. -1 with errno.
static int as_file(struct nk_bytes bytes)
{
    int fd = memfd_create("nokernel", MFD_CLOEXEC);
    for (size_t done = 0; fd >= 0 && done < bytes.size;) {
        ssize_t n = write(fd, bytes.data + done, bytes.size - done);
        if (n > 0)
            done += (size_t)n;
        else if (errno != EINTR)
            return close(fd), -1;
    }
    return fd;
}

static void recording(struct nk_merge_contents *c, const struct thing *t)
{
    char of_fd[40];
    struct nk_err err;
    int fd = t->path ? -1 : as_file(t->bytes);
    if (!t->path && fd < 0) {
        problem_about(c, t->name, strerror(errno));
        return;
    }
    snprintf(of_fd, sizeof of_fd, "/proc/self/fd/%d", fd);
    if (nk_merge_recording(&c->in, t->path ? t->path : of_fd, t->name, &err)) problem(c, err.text);
    if (fd >= 0) close(fd);
}

// ---- JSON

static bool is_json(struct nk_bytes bytes)
{
    size_t at = 0;
    while (at < bytes.size && strchr(" \t\r\n", bytes.data[at]) && bytes.data[at]) at++;
    return at < bytes.size && bytes.data[at] == '{';
}

// What was not named and does not mention us is somebody else's, whatever is wrong with it.
static bool ours(const struct thing *t)
{
    return t->named || memmem(t->bytes.data, t->bytes.size < LOOK ? t->bytes.size : LOOK, "nokernel", 8);
}

static void json(struct nk_merge_contents *c, const struct thing *t)
{
    struct nk_err err;
    int foreign, taken = nk_merge_json(&c->in, t->bytes, t->name, &foreign, &err);
    if (taken < 0 && ours(t))
        problem(c, err.text);
    else if (taken <= 0 && t->named)
        problem_about(c, t->name, "JSON of nokernel report or nokernel merge was expected, this is other JSON");
    else
        c->foreign += taken <= 0;
}

// ---- archives

static void look_into(struct nk_merge_contents *c, const struct thing *t);

// All bytes of a member. False with a sentence.
static bool pull(struct archive *from, struct nk_buf *out, uint64_t *left, struct nk_err *err)
{
    for (;;) {
        const void *block;
        size_t size;
        la_int64_t offset;
        int result = la->archive_read_data_block(from, &block, &size, &offset);
        if (result == ARCHIVE_EOF) return true;
        if (result < ARCHIVE_WARN) {
            const char *why = la->archive_error_string(from);
            return nk_fail(err, NK_ERR_BAD_INPUT, "%s", why ? why : "cannot be read"), false;
        }
        if (out->size + size > MEMBER || size > *left)
            return nk_fail(err, NK_ERR_LIMIT, "more comes out of it than is read"), false;
        *left -= size;
        if ((uint64_t)offset > out->size && (uint64_t)offset < MEMBER) // a hole
            nk_buf_fill(out, 0, (size_t)offset - out->size);
        nk_buf_add(out, block, size);
        if (out->failed) return nk_fail(err, NK_ERR_MEMORY, "not enough memory"), false;
    }
}

static void member(struct nk_merge_contents *c, const struct thing *outer, struct archive *from,
                   struct archive_entry *entry, bool raw, uint64_t *left)
{
    const char *name = la->archive_entry_pathname_utf8(entry);
    struct nk_buf whole = {0}, shown = {0};
    struct nk_err err;
    if (!name) name = la->archive_entry_pathname(entry);
    nk_buf_text(&shown, outer->name);
    if (!raw) nk_buf_format(&shown, ": %s", name ? name : "(a name that cannot be read)");
    if (!pull(from, &whole, left, &err)) {
        problem_about(c, shown.data ? shown.data : outer->name, err.text);
    } else if (shown.data) {
        struct thing t = {shown.data, NULL, nk_bytes(whole.data, whole.size), raw && outer->named, outer->depth + 1};
        look_into(c, &t);
    }
    nk_buf_free(&whole);
    nk_buf_free(&shown);
}

static struct archive *open_archive(struct nk_bytes bytes, struct nk_err *err)
{
    struct archive *a = (la = nk_libarchive(err)) ? la->archive_read_new() : NULL;
    if (!a) return NULL;
    la->archive_read_support_filter_all(a);
    // Not mtree, which support_format_all knows too: to it any line of text is the name of a file.
    la->archive_read_support_format_tar(a);
    la->archive_read_support_format_gnutar(a);
    la->archive_read_support_format_cpio(a);
    la->archive_read_support_format_zip_seekable(a);
    la->archive_read_support_format_zip_streamable(a);
    la->archive_read_support_format_7zip(a);
    la->archive_read_support_format_raw(a); // one compressed file
    if (la->archive_read_open_memory(a, bytes.data, bytes.size) == ARCHIVE_OK) return a;
    la->archive_read_free(a);
    return NULL;
}

// False when it is none.
static bool archive(struct nk_merge_contents *c, const struct thing *t)
{
    struct archive_entry *entry;
    struct nk_err err = {0};
    struct archive *a = t->bytes.size && t->depth < DEEPEST ? open_archive(t->bytes, &err) : NULL;
    bool raw = false, any = false;
    uint64_t left = FROM_ZERO;
    int result;
    while (a && (result = la->archive_read_next_header(a, &entry)) != ARCHIVE_EOF && !raw) {
        raw = la->archive_format(a) == ARCHIVE_FORMAT_RAW;
        // Every file is "raw"; a compressed one has a filter.
        if (result < ARCHIVE_WARN || (raw && la->archive_filter_count(a) < 2)) {
            const char *why = la->archive_error_string(a);
            if (any) problem_about(c, t->name, why ? why : "cannot be read");
            break;
        }
        any = true;
        if (raw || la->archive_entry_filetype(entry) == AE_IFREG) member(c, t, a, entry, raw, &left);
    }
    if (a) la->archive_read_free(a);
    // Whether it is an archive cannot be told without libarchive: who named it shall know why.
    if (!la && err.code && t->named) problem_about(c, t->name, err.text);
    return any || (!la && err.code && t->named);
}

// ---- what it is

static void look_into(struct nk_merge_contents *c, const struct thing *t)
{
    if (is_recording(t))
        recording(c, t);
    else if (is_json(t->bytes))
        json(c, t);
    else if (archive(c, t))
        return;
    else if (t->named)
        problem_about(c, t->name, "a recording, JSON of nokernel report or merge, or an archive of them was expected");
    else
        c->foreign++;
}

// What cannot be mapped: a pipe. False with a sentence.
static bool read_all(int fd, struct nk_buf *out, const char *name, struct nk_err *err)
{
    char block[1 << 16];
    ssize_t n;
    while ((n = read(fd, block, sizeof block)) > 0 || (n < 0 && errno == EINTR)) {
        if (n > 0) nk_buf_add(out, block, (size_t)n);
        if (out->size > MEMBER || out->failed)
            return nk_fail(err, NK_ERR_LIMIT, "%s: at most %u MB are read from a pipe", name, MEMBER >> 20), false;
    }
    return n ? nk_fail(err, NK_ERR_SYSTEM, "%s: %s", name, strerror(errno)), false : true;
}

static void pipe_in(struct nk_merge_contents *c, const char *path, bool named)
{
    struct nk_buf whole = {0};
    struct nk_err err;
    bool input = !strcmp(path, "-");
    const char *name = input ? "standard input" : path;
    int fd = input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        problem_about(c, name, strerror(errno));
    else if (!read_all(fd, &whole, name, &err))
        problem(c, err.text);
    else
        look_into(c, &(struct thing){name, NULL, nk_bytes(whole.data, whole.size), named, 0});
    if (fd >= 0 && !input) close(fd);
    nk_buf_free(&whole);
}

void nk_merge_file(struct nk_merge_contents *c, const char *path, bool named)
{
    struct stat st;
    struct nk_file file;
    struct nk_err err;
    if (!strcmp(path, "-") || (named && !stat(path, &st) && S_ISFIFO(st.st_mode))) {
        pipe_in(c, path, named);
    } else if (nk_file_open(&file, path, &err)) {
        problem(c, err.text);
    } else {
        look_into(c, &(struct thing){path, path, file.bytes, named, 0});
        nk_file_close(&file);
    }
}
