// full_disk.c - a preloaded library that lets the disk be full: after FULL_AFTER bytes nothing more can be written to
// recordings (files named *.nkr), the last write only in part, as on a real one. FULL_ERROR: another error than ENOSPC.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_long left = -1;

static int is_recording(int fd)
{
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path);
    return size > 4 && !memcmp(path + size - 4, ".nkr", 4);
}

// How much of `size` bytes there is room for; -1 and ENOSPC if for none.
static ssize_t room(int fd, size_t size)
{
    if (!is_recording(fd)) return (ssize_t)size;
    long none = -1;
    atomic_compare_exchange_strong(&left, &none, atol(getenv("FULL_AFTER")));
    long have = atomic_load(&left), take;
    do {
        take = have < (long)size ? have : (long)size;
    } while (!atomic_compare_exchange_weak(&left, &have, have - take));
    if (take || !size) return take;
    const char *error = getenv("FULL_ERROR");
    errno = error && *error ? atoi(error) : ENOSPC;
    return -1;
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    static ssize_t (*next)(int, const void *, size_t);
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "write");
    ssize_t fits = room(fd, size);
    return fits < 0 ? -1 : next(fd, bytes, (size_t)fits);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
    static ssize_t (*next)(int, const void *, size_t, off_t);
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "pwrite");
    ssize_t fits = room(fd, size);
    return fits < 0 ? -1 : next(fd, bytes, (size_t)fits, offset);
}
