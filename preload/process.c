// process.c - fork and the ways out.
//
// exit() and a return from main call back what on_exit was given at the first CUDA call. _exit and quick_exit are ours
// by name, and quick_exit calls back. abort and signals run nothing: what had failed is already in the file.
#define _GNU_SOURCE
#include "process.h"

#include "record.h"
#include "resolve.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int exit_status; // of quick_exit, whose handlers are not told it

// Registered at the first CUDA call, so it runs before the runtime's own handlers, which were registered earlier: when
// other threads still launch while those tear the runtime down, it can crash, and work of ours after them would only
// give it more time to. Registered again when another runtime of the process looks for the driver, whose handlers came
// later; the first that is called makes the report. What fails in the handlers after it, those of C++ objects among
// them, is recorded all the same, and `end` tells it.
static void at_exit(int status, void *unused)
{
    (void)unused;
    nk_record_finish(NK_EXIT_EXIT, status);
}

static void quick(void) { nk_record_finish(NK_EXIT_QUICK, exit_status); }

static _Atomic bool watching;

void nk_process_watch(void)
{
    watching = true;
    pthread_atfork(nk_record_fork_prepare, nk_record_fork_parent, nk_record_fork_child);
    on_exit(at_exit, NULL);
    at_quick_exit(quick);
}

void nk_process_watch_again(void)
{
    enum { MOST = 64 }; // one a runtime; a program that asks for ever shall not fill the list of handlers
    static _Atomic unsigned times;
    int saved = errno;
    if (watching && times < MOST) {
        times++;
        on_exit(at_exit, NULL);
    }
    errno = saved;
}

// After all handlers; also for an end that on_exit did not see.
__attribute__((destructor)) static void end(void) { nk_record_finish(NK_EXIT_UNKNOWN, 0); }

NK_EXPORT void _exit(int status) __attribute__((noreturn));
NK_EXPORT void _Exit(int status) __attribute__((noreturn));
NK_EXPORT void quick_exit(int status) __attribute__((noreturn));

// Another preload may want to see the exit too: it comes after us in the search order.
static void pass_on(const char *name, int status) __attribute__((noreturn));
static void pass_on(const char *name, int status)
{
    if (!nk_real_dlsym) nk_resolve_dlsym();
    void (*next)(int) = nk_real_dlsym ? (void (*)(int))nk_real_dlsym(RTLD_NEXT, name) : NULL;
    if (next) next(status);
    for (;;) syscall(SYS_exit_group, status);
}

void _exit(int status)
{
    nk_record_finish(NK_EXIT_UNDERSCORE, status);
    pass_on("_exit", status);
}

void _Exit(int status)
{
    nk_record_finish(NK_EXIT_UNDERSCORE, status);
    pass_on("_Exit", status);
}

// The program's own handlers come first, then ours, which `quick` is.
void quick_exit(int status)
{
    exit_status = status;
    pass_on("quick_exit", status);
}
