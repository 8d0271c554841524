// libarchive.c - libarchive, opened when the first archive is read.
#define _GNU_SOURCE
#include "base/libarchive.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static struct nk_libarchive functions;
static char why[256] = "";
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_once(void)
{
    void *library = dlopen("libarchive.so.13", RTLD_NOW | RTLD_LOCAL);
    const char *said = library ? "" : dlerror();
    if (!library) snprintf(why, sizeof why, "%s", said ? said : "libarchive.so.13 cannot be opened");
#define X(name)                                                                                                        \
    if (library && !(*(void **)&functions.name = dlsym(library, #name)))                                               \
        snprintf(why, sizeof why, "libarchive.so.13 has no " #name);
    NK_LIBARCHIVE(X)
#undef X
}

const struct nk_libarchive *nk_libarchive(struct nk_err *err)
{
    pthread_once(&once, open_once);
    if (!*why) return &functions;
    nk_fail(err, NK_ERR_SYSTEM, "libarchive is needed to read an archive: %s", why);
    return NULL;
}
