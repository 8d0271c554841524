// buf.c - growing output.
#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(struct nk_buf *buf, size_t more)
{
    if (buf->failed) return false;
    if (more < buf->capacity - buf->size) return true;
    size_t need = buf->size + more + 1, capacity = buf->capacity ? buf->capacity : 256;
    if (need <= more) return !(buf->failed = true);
    while (capacity < need) capacity = capacity > SIZE_MAX / 2 ? need : capacity * 2;
    char *data = nk_got(realloc(buf->data, capacity));
    if (!data) return !(buf->failed = true);
    buf->data = data;
    buf->capacity = capacity;
    return true;
}

void nk_buf_add(struct nk_buf *buf, const void *data, size_t size)
{
    if (!reserve(buf, size)) return;
    if (size) memcpy(buf->data + buf->size, data, size);
    buf->size += size;
    buf->data[buf->size] = 0;
}

void nk_buf_text(struct nk_buf *buf, const char *text) { nk_buf_add(buf, text, strlen(text)); }

void nk_buf_fill(struct nk_buf *buf, char byte, size_t count)
{
    if (!reserve(buf, count)) return;
    memset(buf->data + buf->size, byte, count);
    buf->size += count;
    buf->data[buf->size] = 0;
}

void nk_buf_vformat(struct nk_buf *buf, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, args);
    if (size < 0)
        buf->failed = true;
    else if (reserve(buf, (size_t)size)) {
        vsnprintf(buf->data + buf->size, (size_t)size + 1, format, again);
        buf->size += (size_t)size;
    }
    va_end(again);
}

void nk_buf_format(struct nk_buf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    nk_buf_vformat(buf, format, args);
    va_end(args);
}

void nk_buf_clear(struct nk_buf *buf)
{
    buf->size = 0;
    if (buf->data) buf->data[0] = 0;
}

void nk_buf_free(struct nk_buf *buf)
{
    free(buf->data);
    *buf = (struct nk_buf){0};
}
