// fails_ours.c - a library preloaded after libnokernel.so that lets one of its calls of the system fail: of those that
// can, counted from 1, the FAIL_OURS-th ("7"), or that and all later ones ("7+"). All others' calls work as ever.
//
// "fails_ours: NAME" goes to stderr when it happens, so that a test knows when it has come to the end of them. write is
// none of them: it tells what was lost.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

static uintptr_t start, end; // of libnokernel.so
static atomic_int calls;

static int visit(struct dl_phdr_info *info, size_t size, void *unused)
{
    const char *name = strrchr(info->dlpi_name, '/');
    if (!name || strcmp(name, "/libnokernel.so")) return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
            start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            end = start + info->dlpi_phdr[i].p_memsz;
        }
    return (int)(size * 0) + !unused;
}

__attribute__((constructor)) static void find_library(void) { dl_iterate_phdr(visit, NULL); }

static int fails(const void *caller, const char *name, int error)
{
    const char *wanted = getenv("FAIL_OURS");
    if ((uintptr_t)caller < start || (uintptr_t)caller >= end || !wanted) return 0;
    int turn = atomic_fetch_add(&calls, 1) + 1, which = atoi(wanted);
    if (turn != which && !(turn > which && strchr(wanted, '+'))) return 0;
    char line[64];
    int size = snprintf(line, sizeof line, "fails_ours: %s\n", name);
    if (turn == which) syscall(SYS_write, 2, line, (size_t)size);
    errno = error;
    return 1;
}
#define CALLER __builtin_return_address(0)

void *malloc(size_t size) { return fails(CALLER, "malloc", ENOMEM) ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return fails(CALLER, "calloc", ENOMEM) ? NULL : __libc_calloc(count, size); }
void *realloc(void *old, size_t size) { return fails(CALLER, "realloc", ENOMEM) ? NULL : __libc_realloc(old, size); }
char *strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    void *copy = fails(CALLER, "strdup", ENOMEM) ? NULL : __libc_malloc(size);
    return copy ? memcpy(copy, text, size) : NULL;
}

// RESULT NAME(PARAMS): fails with RETURNS and ERROR, or goes on to the next one.
#define CALL(result, name, params, args, returns, error)                                                               \
    result name params                                                                                                 \
    {                                                                                                                  \
        static result(*next) params;                                                                                   \
        if (!next) *(void **)&next = dlsym(RTLD_NEXT, #name);                                                          \
        return fails(CALLER, #name, error) ? returns : next args;                                                      \
    }
CALL(char *, realpath, (const char *path, char *to), (path, to), NULL, ENOMEM)
CALL(ssize_t, read, (int fd, void *to, size_t n), (fd, to, n), -1, EIO)
CALL(ssize_t, pread, (int fd, void *to, size_t n, off_t at), (fd, to, n, at), -1, EIO)
CALL(ssize_t, pwrite, (int fd, const void *from, size_t n, off_t at), (fd, from, n, at), -1, EDQUOT)
CALL(void *, mmap, (void *at, size_t n, int p, int f, int fd, off_t o), (at, n, p, f, fd, o), MAP_FAILED, ENOMEM)
CALL(int, mprotect, (void *at, size_t n, int p), (at, n, p), -1, ENOMEM)
CALL(int, fstat, (int fd, struct stat *st), (fd, st), -1, EIO)
CALL(int, fstatfs, (int fd, struct statfs *fs), (fd, fs), -1, EIO)
CALL(ssize_t, readlink, (const char *path, char *to, size_t n), (path, to, n), -1, ENOENT)
CALL(char *, getcwd, (char *to, size_t n), (to, n), NULL, ENOENT)
CALL(DIR *, opendir, (const char *path), (path), NULL, EMFILE)
CALL(int, mkdir, (const char *path, mode_t mode), (path, mode), -1, ENOSPC)
CALL(int, unlink, (const char *path), (path), -1, EIO)
CALL(int, pipe2, (int fd[2], int flags), (fd, flags), -1, EMFILE)
CALL(ssize_t, process_vm_readv,
     (pid_t p, const struct iovec *a, unsigned long n, const struct iovec *b, unsigned long m, unsigned long f),
     (p, a, n, b, m, f), -1, EPERM)

// libcuda.so.1 is there already when it is opened once more: nothing can fail then.
void *dlopen(const char *path, int flags)
{
    static void *(*next)(const char *, int);
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "dlopen");
    bool driver = path && strstr(path, "libcuda");
    return !driver && fails(CALLER, "dlopen", ENOMEM) ? NULL : next(path, flags);
}

int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
    va_end(more);
    return fails(CALLER, "open", EMFILE) ? -1 : openat(AT_FDCWD, path, flags, mode);
}

int fcntl(int fd, int command, ...)
{
    va_list more;
    va_start(more, command);
    void *argument = va_arg(more, void *);
    va_end(more);
    return fails(CALLER, "fcntl", EMFILE) ? -1 : (int)syscall(SYS_fcntl, fd, command, argument);
}
