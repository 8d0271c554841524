// err.c - an error is a code and a sentence.
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

int nk_fail(struct nk_err *err, enum nk_err_code code, const char *format, ...)
{
    if (err) {
        int saved = errno;
        va_list args;
        va_start(args, format);
        err->code = code;
        vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
        errno = saved;
    }
    return -1;
}

static atomic_uint lacks;

void *nk_got(void *memory)
{
    if (!memory) atomic_fetch_add(&lacks, 1);
    return memory;
}

unsigned nk_lacks(void) { return atomic_load(&lacks); }
