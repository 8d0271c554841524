// files.c - small reads of the examined file system.
#define _GNU_SOURCE
#include "doctor/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 1 << 20 };

const char *nk_doctor_path(struct nk_buf *out, const char *root, const char *path)
{
    nk_buf_clear(out);
    nk_buf_format(out, "%s%s", root, path);
    return out->failed || out->size >= PATH_MAX ? "" : out->data;
}

static bool status(const char *root, const char *path, struct stat *st)
{
    struct nk_buf whole = {0};
    bool there = !stat(nk_doctor_path(&whole, root, path), st);
    nk_buf_free(&whole);
    return there;
}

bool nk_doctor_exists(const char *root, const char *path)
{
    struct stat st;
    return status(root, path, &st);
}

bool nk_doctor_is_folder(const char *root, const char *path)
{
    struct stat st;
    return status(root, path, &st) && S_ISDIR(st.st_mode);
}

int64_t nk_doctor_changed(const char *root, const char *path)
{
    struct stat st;
    return status(root, path, &st) ? st.st_mtim.tv_sec : 0;
}

bool nk_doctor_real(const char *root, const char *path, char *out, size_t size)
{
    struct nk_buf whole = {0};
    char *real = realpath(nk_doctor_path(&whole, root, path), NULL), *top = *root ? realpath(root, NULL) : strdup("");
    size_t cut = top ? strlen(top) : 0;
    bool good = real && top && !strncmp(real, top, cut) && strlen(real + cut) < size && real[cut] == '/';
    if (good) strcpy(out, real + cut);
    free(real);
    free(top);
    nk_buf_free(&whole);
    return good;
}

bool nk_doctor_read(const char *root, const char *path, struct nk_buf *out)
{
    struct nk_buf whole = {0};
    char block[16384];
    ssize_t n = 0;
    int fd = open(nk_doctor_path(&whole, root, path), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    nk_buf_free(&whole);
    if (fd < 0) return false;
    while (out->size < MOST && ((n = read(fd, block, sizeof block)) > 0 || (n < 0 && errno == EINTR)))
        if (n > 0) nk_buf_add(out, block, (size_t)n);
    close(fd);
    nk_buf_add(out, "", 0);
    return n >= 0 && !out->failed;
}

bool nk_doctor_which(const char *root, const char *list, const char *name, char *out, size_t size)
{
    for (const char *at = list; *at;) {
        int length = (int)strcspn(at, ":");
        struct stat st;
        int n = snprintf(out, size, "%.*s/%s", length, at, name);
        if (length && n > 0 && (size_t)n < size && status(root, out, &st) && S_ISREG(st.st_mode) && st.st_mode & 0111)
            return true;
        at += length;
        at += *at == ':';
    }
    if (size) *out = 0;
    return false;
}
