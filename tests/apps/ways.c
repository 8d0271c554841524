// ways.c - lives and dies in the way that the first argument names; kernel a is good, b fails. What each way must leave
// in the recordings is written in tests/e2e/test_ways.py.
#define _GNU_SOURCE
#include "app.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>

extern char **environ;

static void use(const char *who)
{
    float *data = memory();
    printf("%s ", who);
    say("a", launch_a(data));
    printf("%s ", who);
    say("b", launch_b(data));
}

static int wait_for(pid_t child)
{
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void double_fork(void)
{
    pid_t child = fork();
    if (!child) {
        pid_t grandchild = fork();
        if (!grandchild) {
            use("grandchild");
            exit(6);
        }
        _exit(wait_for(grandchild));
    }
    say("grandchild", wait_for(child));
}

// As daemon(3) does it; the parent waits for the far end of a pipe to close, so that a test may look then.
static void daemonise(void)
{
    int ends[2];
    char byte;
    if (pipe(ends)) exit(9);
    pid_t child = fork();
    if (child) {
        close(ends[1]);
        wait_for(child);
        say("daemon", (int)read(ends[0], &byte, 1));
        return;
    }
    setsid();
    if (fork()) _exit(0);
    close(ends[0]);
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++) dup2(null, fd);
    if (chdir("/")) _exit(9);
    use("daemon");
    exit(0);
}

static void vforks(void)
{
    use("before");
    pid_t child = vfork();
    if (!child) _exit(3); // as every failed exec after a vfork does
    say("vfork", wait_for(child));
    use("after");
}

// A fork that glibc does not know of: no handler of pthread_atfork runs.
static void raw_fork(void)
{
    use("before");
    pid_t child = (pid_t)syscall(SYS_fork);
    if (!child) _exit(3);
    say("fork", wait_for(child));
    use("after");
}

static void spawn(const char *self)
{
    char *arguments[] = {(char *)self, "plain", NULL};
    pid_t child;
    use("parent");
    if (posix_spawn(&child, self, NULL, NULL, arguments, environ)) exit(9);
    say("child", wait_for(child));
}

// What programs do whose objects end after main: the handler was registered before the first call of CUDA.
static void use_late(void)
{
    float *data = memory();
    say("late a", launch_a(data));
    say("late b", launch_b(data));
    fflush(stdout);
}

static void end_late(void)
{
    atexit(use_late);
    say("a", launch_a(memory()));
}

static atomic_int running = 1, launched;

static void *launch_for_ever(void *unused)
{
    float *data = memory();
    while (running) {
        launch_a(data);
        launch_b(data);
        launched++;
    }
    return unused;
}

static void *leave(void *how)
{
    while (launched < 100) usleep(100);
    if (!strcmp(how, "_exit")) _exit(5);
    exit(5);
}

static void start(pthread_t *threads, int count)
{
    for (int i = 0; i < count; i++) pthread_create(&threads[i], NULL, launch_for_ever, NULL);
}

// Children are forked while other threads are in the middle of launches, and our lock may be held.
static void fork_among_launches(void)
{
    pthread_t threads[4];
    int bad = 0;
    start(threads, 4);
    while (launched < 20) usleep(100);
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        // No call of CUDA here: its locks may be held by threads that the child does not have. Ours must not be.
        if (!child) i % 2 ? _exit(i) : _Exit(i);
        bad += wait_for(child) != i;
    }
    running = 0;
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    say("wrong", bad);
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "plain";
    pthread_t threads[5];
    if (!strcmp(way, "plain")) use("plain");
    if (!strcmp(way, "double-fork")) double_fork();
    if (!strcmp(way, "daemon")) daemonise();
    if (!strcmp(way, "late")) end_late();
    if (!strcmp(way, "vfork")) vforks();
    if (!strcmp(way, "raw-fork")) raw_fork();
    if (!strcmp(way, "spawn")) spawn(argv[0]);
    if (!strcmp(way, "exec")) {
        use("first");
        execl(argv[0], argv[0], "plain", (char *)NULL);
    }
    if (!strcmp(way, "fork-among-launches")) fork_among_launches();
    if (strstr(way, "exit-among-launches")) {
        start(threads, 4);
        pthread_create(&threads[4], NULL, leave, (void *)(*way == '_' ? "_exit" : "exit"));
        pthread_join(threads[4], NULL);
    }
    return 0;
}
