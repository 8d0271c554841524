// probe.c - the child process of a probe: started, waited for, ended.
//
// What the child has done stands in memory that both see, so that a child that hangs or dies leaves its last step.
#define _GNU_SOURCE
#include "probe/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
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

static void child_main(int ordinal, pid_t parent, struct nk_probe_result *shared)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    int null = open("/dev/null", O_RDWR);
    for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++) dup2(null, fd);
    nk_probe_run(ordinal, shared);
    _exit(0);
}

int nk_probe_start(struct nk_probe *probe, int ordinal, int seconds, struct nk_err *err)
{
    int ends[2];
    *probe = (struct nk_probe){.ordinal = ordinal, .pipe = -1, .deadline = now() + seconds};
    probe->shared = mmap(NULL, sizeof *probe->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (probe->shared == MAP_FAILED) return nk_fail(err, NK_ERR_MEMORY, "no memory to probe GPU %d", ordinal);
    // Until a step says otherwise, the process was ended in it.
    *probe->shared = (struct nk_probe_result){.end = NK_PROBE_DIED};
    if (pipe2(ends, O_CLOEXEC))
        return nk_fail(err, NK_ERR_SYSTEM, "no pipe to probe GPU %d: %s", ordinal, strerror(errno));
    fflush(NULL);
    pid_t parent = getpid();
    probe->pid = fork();
    if (!probe->pid) child_main(ordinal, parent, probe->shared);
    close(ends[1]);
    probe->pipe = ends[0];
    if (probe->pid < 0) return nk_fail(err, NK_ERR_SYSTEM, "no process to probe GPU %d: %s", ordinal, strerror(errno));
    return 0;
}

// The child holds the other end of the pipe until it ends. False when its time is over.
static bool ended(const struct nk_probe *probe)
{
    struct pollfd fd = {.fd = probe->pipe, .events = POLLIN};
    for (;;) {
        double left = probe->deadline - now();
        int ready = poll(&fd, 1, left > 0 ? (int)(left * 1000) + 1 : 0);
        if (ready < 0 && errno == EINTR) continue;
        return ready > 0;
    }
}

// A process that hangs in the kernel cannot be ended: nobody waits for it.
static int end(const struct nk_probe *probe, bool in_time)
{
    int status = 0;
    if (!in_time) kill(probe->pid, SIGKILL);
    for (int i = 0; i < 20 && !in_time && !waitpid(probe->pid, &status, WNOHANG); i++)
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    while (in_time && waitpid(probe->pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

void nk_probe_finish(struct nk_probe *probe, struct nk_probe_result *out)
{
    bool in_time = ended(probe);
    int status = end(probe, in_time);
    *out = *probe->shared;
    out->log[sizeof out->log - 1] = 0;
    if (out->end == NK_PROBE_DIED) {
        out->end = in_time ? NK_PROBE_DIED : NK_PROBE_HANGS;
        out->result = in_time && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    }
    close(probe->pipe);
    munmap(probe->shared, sizeof *probe->shared);
}
