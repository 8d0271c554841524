// writer.c - writes a recording: whole records, appended with pwrite at an offset of our own.
#define _GNU_SOURCE
#include "recording/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

enum {
    FIRST_BLOCK = 4096,            // counters
    LARGEST_BLOCK = 65536,         // blocks double up to this many
    HIGH_FD = 200,                 // where programs that count on low descriptor numbers do not look
    LONGEST_TEXT = 1 << 20,        // bytes
    LARGEST_RECORD = (1 << 30) - 8 // bytes
};
// File systems whose files are mapped: a page that was written once keeps its place there, whatever becomes of the disk
// and of quotas. Others write each page to a new place (Btrfs, ZFS, bcachefs, F2FS), ask another machine or another
// process for it (NFS, CIFS, Lustre, FUSE), or lie above one that is not known (overlayfs, so that of most containers):
// where they have none the program gets SIGBUS, and where nobody answers a launch hangs. Btrfs gives SIGBUS for a quota
// also in files that it was asked to overwrite in place (measured).
static const uint32_t maps_safely[] = {0xef53 /* ext2 to ext4 */, 0x58465342 /* XFS */, 0x01021994 /* tmpfs */};
static const uint64_t copy_after = 1000000000; // nanoseconds

static bool ours(const struct nk_writer *w)
{
    struct stat st;
    return w->fd >= 0 && !fstat(w->fd, &st) && st.st_dev == w->device && st.st_ino == w->inode;
}

static void lose(struct nk_writer *w, enum nk_err_code code, const char *why)
{
    if (w->lost.code == NK_ERR_NONE) nk_fail(&w->lost, code, "%s", why);
    if (ours(w)) close(w->fd);
    w->fd = -1;
}

// A write past RLIMIT_FSIZE would not only fail: it would send the program SIGXFSZ.
static bool fits_limit(uint64_t end)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY || end <= limit.rlim_cur;
}

// True when all bytes are in the file; else the file is lost.
static bool put(struct nk_writer *w, const void *data, size_t size, uint64_t offset)
{
    const char *from = data;
    if (!ours(w)) {
        lose(w, NK_ERR_SYSTEM, "the program closed its file descriptor");
        return false;
    }
    if (!fits_limit(offset + size)) {
        lose(w, NK_ERR_SYSTEM, "the limit of file sizes (ulimit -f) is reached");
        return false;
    }
    while (size) {
        ssize_t n = pwrite(w->fd, from, size, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            lose(w, NK_ERR_SYSTEM, n ? strerror(errno) : "the file system takes no more bytes");
            return false;
        }
        from += n;
        size -= (size_t)n;
        offset += (uint64_t)n;
    }
    return true;
}

// A descriptor out of the way of hosts that expect the lowest free number from their own open().
static int high(int fd)
{
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
    if (moved < 0) moved = fd > 2 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (moved != fd) close(fd);
    return moved;
}

// Takes over a new, empty file. False, and the writer is as if it had lost it, when not even a header can be written.
static bool begin(struct nk_writer *w, int fd)
{
    struct nk_file_header header = {.magic = NK_RECORDING_MAGIC, .version = NK_RECORDING_VERSION};
    struct stat st;
    fd = high(fd);
    if (fd >= 0 && !fstat(fd, &st)) {
        w->fd = fd;
        w->device = st.st_dev;
        w->inode = st.st_ino;
    }
    if (!put(w, &header, sizeof header, 0)) return false;
    w->end = sizeof header;
    return true;
}

int nk_writer_open(struct nk_writer *w, const char *path, struct nk_err *err)
{
    int saved = errno, result = 0;
    *w = (struct nk_writer){.fd = -1};
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        result = nk_fail(err, NK_ERR_SYSTEM, "%s: cannot be created: %s", path, strerror(errno));
    } else if (!begin(w, fd)) {
        unlink(path);
        result = nk_fail(err, NK_ERR_SYSTEM, "%s: cannot be written: %s", path, w->lost.text);
    }
    errno = saved;
    return result;
}

int nk_writer_open_memory(struct nk_writer *w, struct nk_err *err)
{
    int saved = errno, result = 0;
    *w = (struct nk_writer){.fd = -1};
    int fd = memfd_create("nokernel", MFD_CLOEXEC);
    if (fd < 0)
        result = nk_fail(err, NK_ERR_SYSTEM, "no file in memory: %s", strerror(errno));
    else if (!begin(w, fd))
        result = nk_fail(err, NK_ERR_SYSTEM, "no file in memory: %s", w->lost.text);
    errno = saved;
    return result;
}

static uint64_t now(void)
{
    struct timespec t = {0};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// Copies the counters in use that are not mapped into the file.
static void flush(struct nk_writer *w)
{
    size_t left = w->counters * sizeof(uint64_t);
    for (uint32_t i = 0; i < w->blocks && w->fd >= 0; i++) {
        const struct nk_writer_block *b = &w->block[i];
        size_t size = left < b->size ? left : b->size;
        if (!b->shared && b->offset && size) put(w, b->at, size, b->offset);
        left -= size;
    }
    w->copied_at = now();
}

void nk_writer_copy(struct nk_writer *w)
{
    int saved = errno;
    if (w->copies && w->fd >= 0 && now() - w->copied_at > copy_after) flush(w);
    errno = saved;
}

void nk_writer_add(struct nk_writer *w, enum nk_record_type type, const void *head, size_t head_size, const void *tail,
                   size_t tail_size)
{
    int saved = errno;
    if (w->fd < 0 || head_size > UINT16_MAX || tail_size > LARGEST_RECORD - head_size - 16) return;
    if (type == NK_REC_EXIT || type == NK_REC_FAILURE)
        flush(w);
    else
        nk_writer_copy(w);
    size_t size = sizeof(struct nk_record_header) + head_size + tail_size, padded = (size + 7) & ~(size_t)7;
    struct nk_record_header header = {(uint32_t)padded, (uint16_t)type, (uint16_t)head_size};
    nk_buf_clear(&w->scratch);
    nk_buf_add(&w->scratch, &header, sizeof header);
    nk_buf_add(&w->scratch, head, head_size);
    nk_buf_add(&w->scratch, tail, tail_size);
    nk_buf_fill(&w->scratch, 0, padded - size);
    if (w->scratch.failed)
        lose(w, NK_ERR_MEMORY, "out of memory");
    else if (put(w, w->scratch.data, padded, w->end))
        w->end += padded;
    errno = saved;
}

uint32_t nk_writer_text_n(struct nk_writer *w, const char *text, size_t size)
{
    if (!text || !size || w->fd < 0) return 0;
    if (size > LONGEST_TEXT) size = LONGEST_TEXT;
    int saved = errno;
    uint64_t key = nk_hash_bytes(text, size);
    uint32_t id = (uint32_t)(uintptr_t)nk_table_get(&w->by_hash, key);
    if (!id) {
        struct nk_rec_string record = {++w->strings, (uint32_t)size};
        nk_writer_add(w, NK_REC_STRING, &record, sizeof record, text, size);
        // When memory is short the text is only written again the next time.
        if (w->fd >= 0) nk_table_put(&w->by_hash, key, (void *)(uintptr_t)record.id);
        id = w->fd >= 0 ? record.id : 0;
    }
    errno = saved;
    return id;
}

uint32_t nk_writer_text(struct nk_writer *w, const char *text)
{
    return text ? nk_writer_text_n(w, text, strlen(text)) : 0;
}

// May pages of this file be mapped for writing without the danger of a SIGBUS on a full disk? The zeros that were
// written have given them their blocks.
static bool may_map(int fd)
{
    struct statfs fs;
    bool may = false;
    if (fstatfs(fd, &fs)) return false;
    for (size_t i = 0; i < sizeof maps_safely / sizeof *maps_safely; i++) may |= (uint32_t)fs.f_type == maps_safely[i];
    return may;
}

// A block of `n` counters that follows what was written: zeros up to its end, which (unlike a hole) give every page its
// place on the disk, and its memory. Its head comes last: until then the file ends in a gap, and a reader sees no
// half-made block. block->offset stays 0 when there is no file, or no room in it.
static void place(struct nk_writer *w, struct nk_writer_block *block, uint32_t n, size_t page)
{
    static const char zeros[4096];
    struct {
        struct nk_record_header header;
        struct nk_rec_counters counters;
    } head = {.counters = {.first = w->counters, .n = n}};
    uint64_t head_end = w->end + sizeof head, offset = (head_end + page - 1) & ~(uint64_t)(page - 1);
    uint64_t end = offset + block->size;
    for (uint64_t at = head_end; at < end;) {
        size_t size = end - at < sizeof zeros ? (size_t)(end - at) : sizeof zeros;
        if (!put(w, zeros, size, at)) return;
        at += size;
    }
    void *at = MAP_FAILED;
    if (may_map(w->fd)) at = mmap(NULL, block->size, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd, (off_t)offset);
    block->shared = at != MAP_FAILED;
    if (block->shared) block->at = at;
    head.header = (struct nk_record_header){(uint32_t)(end - w->end), NK_REC_COUNTERS, sizeof head.counters};
    head.counters.offset = offset;
    head.counters.flags = block->shared ? 0 : NK_COUNTERS_COPIED;
    if (put(w, &head, sizeof head, w->end)) {
        w->end = end;
        block->offset = offset;
    }
}

static bool add_block(struct nk_writer *w)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint32_t n = w->blocks < 4 ? FIRST_BLOCK << w->blocks : LARGEST_BLOCK;
    if (n * sizeof(uint64_t) < page) n = (uint32_t)(page / sizeof(uint64_t));
    if (w->blocks == NK_WRITER_BLOCKS) return false;
    struct nk_writer_block block = {.size = n * sizeof(uint64_t)};
    if (w->fd >= 0) place(w, &block, n, page);
    if (!block.shared) {
        block.at = mmap(NULL, block.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (block.at == MAP_FAILED) return false;
    }
    w->copies |= !block.shared;
    w->block[w->blocks++] = block;
    w->counter_room = w->counters + n;
    return true;
}

uint64_t *nk_writer_counter(struct nk_writer *w, uint32_t *id)
{
    static uint64_t spill;
    int saved = errno;
    bool room = w->counters < w->counter_room || add_block(w);
    errno = saved;
    *id = NK_NONE;
    if (!room) return &spill;
    struct nk_writer_block *newest = &w->block[w->blocks - 1];
    size_t first = w->counter_room - newest->size / sizeof(uint64_t);
    *id = w->counters++;
    return newest->at + (*id - first);
}

static void release(struct nk_writer *w)
{
    if (ours(w)) close(w->fd);
    w->fd = -1;
    nk_table_free(&w->by_hash);
    nk_buf_free(&w->scratch);
}

void nk_writer_forget(struct nk_writer *w)
{
    int saved = errno;
    for (uint32_t i = 0; i < w->blocks; i++)
        mmap(w->block[i].at, w->block[i].size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    release(w);
    *w = (struct nk_writer){.fd = -1};
    errno = saved;
}

void nk_writer_close(struct nk_writer *w)
{
    int saved = errno;
    flush(w);
    release(w);
    errno = saved;
}
