// file.c - a file mapped for reading, or read.
#define _GNU_SOURCE
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int map(struct nk_file *file, size_t size, int fd, const char *path, struct nk_err *err)
{
    void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) return nk_fail(err, NK_ERR_SYSTEM, "%s: cannot be mapped: %s", path, strerror(errno));
    file->bytes = nk_bytes(data, size);
    return 0;
}

static int copy(struct nk_file *file, size_t size, int fd, const char *path, struct nk_err *err)
{
    size_t done = 0;
    ssize_t n = 1;
    if (size > NK_FILE_MOST_READ) return map(file, size, fd, path, err);
    char *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) return nk_fail(err, NK_ERR_MEMORY, "%s: not enough memory for it", path);
    while (done < size && n) {
        n = pread(fd, data + done, size - done, (off_t)done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            nk_fail(err, NK_ERR_SYSTEM, "%s: cannot be read: %s", path, strerror(errno));
            munmap(data, size);
            return -1;
        }
        done += (size_t)n;
    }
    // Of a file that became shorter meanwhile the rest is zeros.
    file->bytes = nk_bytes(data, size);
    return 0;
}

typedef int take_fn(struct nk_file *file, size_t size, int fd, const char *path, struct nk_err *err);

static int examine(struct nk_file *file, int fd, const char *path, struct nk_err *err, take_fn *take)
{
    struct stat st;
    if (fstat(fd, &st)) return nk_fail(err, NK_ERR_SYSTEM, "%s: cannot be examined: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode)) return nk_fail(err, NK_ERR_BAD_INPUT, "%s: a regular file was expected", path);
    *file = (struct nk_file){.device = st.st_dev, .inode = st.st_ino, .modified = st.st_mtime};
    return st.st_size ? take(file, (size_t)st.st_size, fd, path, err) : 0;
}

static int open_and(take_fn *take, struct nk_file *file, const char *path, struct nk_err *err)
{
    *file = (struct nk_file){0};
    // O_NONBLOCK: a FIFO named by mistake must not hang us; fstat then says what it is.
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return nk_fail(err, NK_ERR_SYSTEM, "%s: %s", path, strerror(errno));
    int result = examine(file, fd, path, err, take);
    close(fd);
    return result;
}

int nk_file_open(struct nk_file *file, const char *path, struct nk_err *err) { return open_and(map, file, path, err); }
int nk_file_read(struct nk_file *file, const char *path, struct nk_err *err) { return open_and(copy, file, path, err); }

void nk_file_scattered(const struct nk_file *file)
{
    if (file->bytes.size) madvise((void *)(uintptr_t)file->bytes.data, file->bytes.size, MADV_RANDOM);
}

void nk_file_close(struct nk_file *file)
{
    if (file->bytes.size) munmap((void *)(uintptr_t)file->bytes.data, file->bytes.size);
    *file = (struct nk_file){0};
}

void nk_file_expect(struct nk_bytes part, enum nk_file_use use)
{
    long page = sysconf(_SC_PAGESIZE);
    uintptr_t start = (uintptr_t)part.data, before = page > 0 ? start % (uintptr_t)page : 0;
    if (part.size && page > 0)
        madvise((void *)(start - before), part.size + before, use == NK_FILE_ALL ? MADV_NORMAL : MADV_RANDOM);
}
