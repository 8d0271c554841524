// each.c - a preloaded library that runs a program many times: once for each word of EACH_VALUES, the variable that
// EACH names set to it, each time in a fork made before main.
//
// To stdout and stderr a line "== WORD" is written before, and "== WORD ended with N" after each; N is the exit status,
// or minus the signal. A process less to load for each of thousands of cases makes their full number bearable.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int main_fn(int, char **, char **);
typedef int start_fn(main_fn *, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
static main_fn *program;

static void tell(const char *word, const char *more, int code)
{
    char line[256];
    int size = snprintf(line, sizeof line, more, word, code);
    if (write(1, line, (size_t)size) < 0 || write(2, line, (size_t)size) < 0) return;
}

static int run_each(int argc, char **argv, char **env)
{
    char *words = strdup(getenv("EACH_VALUES")), *rest = NULL;
    unsetenv("EACH_VALUES");
    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        int status = 0;
        tell(word, "== %s\n", 0);
        pid_t child = fork();
        if (!child) {
            setenv(getenv("EACH"), word, 1);
            return program(argc, argv, env);
        }
        waitpid(child, &status, 0);
        tell(word, "== %s ended with %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    }
    _exit(0);
}

int __libc_start_main(main_fn *main, int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void *stack_end)
{
    start_fn *next;
    *(void **)&next = dlsym(RTLD_NEXT, "__libc_start_main");
    program = main;
    return next(getenv("EACH_VALUES") ? run_each : main, argc, argv, init, fini, rtld_fini, stack_end);
}
