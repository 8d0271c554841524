// buf.h - growing output. One owner; nk_buf_free gives the memory back.
//
// Start from `struct nk_buf b = {0};`. When an allocation fails the buffer remembers it in `failed`, keeps what it has
// and ignores everything that follows: callers check once, at the end. `data` is NUL-terminated after the first add.
#ifndef NK_BASE_BUF_H
#define NK_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct nk_buf {
    char *data;
    size_t size;     // bytes in use, without the NUL
    size_t capacity; // bytes allocated
    bool failed;
};

void nk_buf_add(struct nk_buf *buf, const void *data, size_t size);
void nk_buf_text(struct nk_buf *buf, const char *text);
void nk_buf_format(struct nk_buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
void nk_buf_vformat(struct nk_buf *buf, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
void nk_buf_fill(struct nk_buf *buf, char byte, size_t count);
// Forgets the contents, keeps the memory.
void nk_buf_clear(struct nk_buf *buf);
void nk_buf_free(struct nk_buf *buf);

#endif
