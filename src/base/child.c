// child.c - work in a child process, which may hang, crash or end itself without harm to ours.
#define _GNU_SOURCE
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void in_child(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    int null = open("/dev/null", O_RDWR);
    for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++) dup2(null, fd);
}

int nk_child_start(struct nk_child *child, const void *initial, size_t size, int seconds,
                   void (*work)(void *shared, void *user), void *user, struct nk_err *err)
{
    int ends[2];
    *child = (struct nk_child){.pid = -1, .pipe = -1, .size = size, .deadline = now() + seconds};
    void *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return nk_fail(err, NK_ERR_MEMORY, "no memory for a process: %s", strerror(errno));
    child->shared = memcpy(shared, initial, size);
    if (pipe2(ends, O_CLOEXEC)) return nk_fail(err, NK_ERR_SYSTEM, "no pipe for a process: %s", strerror(errno));
    child->pipe = ends[0];
    fflush(NULL);
    pid_t parent = getpid();
    child->pid = fork();
    if (!child->pid) {
        in_child(parent);
        work(shared, user);
        _exit(0);
    }
    close(ends[1]);
    return child->pid < 0 ? nk_fail(err, NK_ERR_SYSTEM, "no process can be started: %s", strerror(errno)) : 0;
}

static bool ended(const struct nk_child *child)
{
    struct pollfd fd = {.fd = child->pipe, .events = POLLIN};
    for (;;) {
        double left = child->deadline - now();
        int ready = poll(&fd, 1, left > 0 ? (int)(left * 1000) + 1 : 0);
        if (ready < 0 && errno == EINTR) continue;
        return ready > 0;
    }
}

bool nk_child_finish(struct nk_child *child, int *status)
{
    *status = 0;
    bool in_time = child->pid <= 0 || ended(child);
    if (child->pipe >= 0) close(child->pipe);
    child->pipe = -1;
    if (child->pid <= 0) return true;
    if (!in_time) kill(child->pid, SIGKILL);
    // A process that hangs in the kernel cannot be ended: nobody waits for it.
    for (int i = 0; i < 20 && !in_time && !waitpid(child->pid, status, WNOHANG); i++)
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    while (in_time && waitpid(child->pid, status, 0) < 0 && errno == EINTR) {
    }
    return in_time;
}

void nk_child_free(struct nk_child *child)
{
    if (child->shared) munmap(child->shared, child->size);
    child->shared = NULL;
}
