// driver.c - the driver and its GPUs, asked in a child process.
#define _GNU_SOURCE
#include "doctor/driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// What a child tells; whole or not at all.
struct answer {
    enum nk_driver_state state;
    int result, cuda, count;
    char library[NK_DOCTOR_PATH], why[256];
    struct {
        char name[128];
        int major, minor;
    } gpu[NK_DOCTOR_GPUS];
};

enum { MAJOR = 75, MINOR = 76 }; // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*

// ---- in the child

static int ask_gpus(void *libcuda, struct answer *a)
{
    int (*count)(int *), (*attribute)(int *, int, int), (*name)(char *, int, int);
    *(void **)&count = dlsym(libcuda, "cuDeviceGetCount");
    *(void **)&attribute = dlsym(libcuda, "cuDeviceGetAttribute");
    *(void **)&name = dlsym(libcuda, "cuDeviceGetName");
    if (!count || !attribute || !name) return 500;
    int result = count(&a->count);
    if (a->count > NK_DOCTOR_GPUS) a->count = NK_DOCTOR_GPUS;
    // A device's handle is its ordinal.
    for (int i = 0; !result && i < a->count; i++) {
        result = attribute(&a->gpu[i].major, MAJOR, i);
        if (!result) result = attribute(&a->gpu[i].minor, MINOR, i);
        if (!result) name(a->gpu[i].name, (int)sizeof a->gpu[i].name - 1, i);
    }
    return result;
}

static void ask(struct answer *a)
{
    Dl_info info;
    void *libcuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*init)(unsigned), (*version)(int *);
    a->state = NK_DRIVER_ABSENT;
    if (!libcuda) {
        const char *why = dlerror();
        snprintf(a->why, sizeof a->why, "%s", why ? why : "it cannot be opened");
        return;
    }
    *(void **)&init = dlsym(libcuda, "cuInit");
    *(void **)&version = dlsym(libcuda, "cuDriverGetVersion");
    if (!init || !version) {
        snprintf(a->why, sizeof a->why, "libcuda.so.1 has no cuInit");
        return;
    }
    char *real = dladdr((void *)init, &info) && info.dli_fname ? realpath(info.dli_fname, NULL) : NULL;
    if (real) snprintf(a->library, sizeof a->library, "%s", real);
    free(real);
    a->state = NK_DRIVER_REFUSES;
    if (version(&a->cuda)) a->cuda = 0;
    a->result = init(0);
    if (!a->result) a->result = ask_gpus(libcuda, a);
    if (!a->result) a->state = NK_DRIVER_WORKS;
}

static void child_main(int out, bool all)
{
    static struct answer answer;
    int null = open("/dev/null", O_RDWR);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (null >= 0) {
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
    }
    if (all) unsetenv("CUDA_VISIBLE_DEVICES");
    ask(&answer);
    const char *at = (const char *)&answer;
    for (size_t left = sizeof answer; left;) {
        ssize_t n = write(out, at, left);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        at += n;
        left -= (size_t)n;
    }
    _exit(0);
}

// ---- in the parent

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void start(struct nk_driver_child *child, int which)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC)) return;
    child->pid[which] = fork();
    if (!child->pid[which]) child_main(ends[1], which == 1);
    close(ends[1]);
    if (child->pid[which] < 0)
        close(ends[0]);
    else
        child->pipe[which] = ends[0];
}

void nk_driver_start(struct nk_doctor *doctor, struct nk_driver_child *child)
{
    *child = (struct nk_driver_child){.pipe = {-1, -1}};
    if (doctor->asked.gpus) return;
    fflush(NULL);
    child->deadline = now() + NK_DRIVER_SECONDS;
    start(child, 0);
    if (getenv("CUDA_VISIBLE_DEVICES")) start(child, 1);
}

// True when the whole answer came in time. A child that died or hangs leaves none.
static bool read_answer(struct nk_driver_child *child, int which, struct answer *a, bool *late)
{
    char *at = (char *)a;
    size_t left = sizeof *a;
    struct pollfd fd = {.fd = child->pipe[which], .events = POLLIN};
    *late = false;
    if (fd.fd < 0) return false;
    while (left && !*late) {
        double wait = child->deadline - now();
        int ready = poll(&fd, 1, wait > 0 ? (int)(wait * 1000) + 1 : 0);
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) {
            *late = true;
            break;
        }
        ssize_t n = read(fd.fd, at, left);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        at += n;
        left -= (size_t)n;
    }
    close(fd.fd);
    if (left) kill(child->pid[which], SIGKILL);
    // One that hangs in the kernel cannot be ended: nobody waits for it.
    waitpid(child->pid[which], NULL, *late ? WNOHANG : 0);
    return !left;
}

// "580.65.06" of ".../libcuda.so.580.65.06".
static void version_of(char *out, size_t size, const char *library)
{
    const char *at = strstr(library, "libcuda.so.");
    if (at && strchr(at + 11, '.')) snprintf(out, size, "%s", at + 11);
}

static void take(struct nk_doctor *doctor, const struct answer *a)
{
    struct nk_doctor_driver *d = &doctor->driver;
    d->state = a->state;
    d->result = a->result;
    d->cuda = a->cuda;
    memcpy(d->library, a->library, sizeof d->library);
    memcpy(d->why, a->why, sizeof d->why);
    version_of(d->version, sizeof d->version, d->library);
    for (int i = 0; a->state == NK_DRIVER_WORKS && i < a->count; i++) {
        struct nk_doctor_gpu *gpu = &doctor->gpus[doctor->gpu_count++];
        int sm = a->gpu[i].major * 10 + a->gpu[i].minor;
        *gpu = (struct nk_doctor_gpu){.ordinal = i, .target = {.sm = sm, .driver = a->cuda}};
        snprintf(gpu->name, sizeof gpu->name, "%s", a->gpu[i].name);
        snprintf(gpu->text, sizeof gpu->text, "sm_%d", sm);
    }
}

void nk_driver_finish(struct nk_doctor *doctor, struct nk_driver_child *child)
{
    static struct answer answer, all;
    bool late;
    doctor->driver.all = -1;
    if (doctor->asked.gpus) return;
    if (read_answer(child, 0, &answer, &late)) {
        take(doctor, &answer);
    } else {
        doctor->driver.state = late ? NK_DRIVER_HANGS : NK_DRIVER_REFUSES;
        doctor->driver.result = late ? 0 : -1; // -1: the child ended without a word
    }
    if (read_answer(child, 1, &all, &late) && all.state == NK_DRIVER_WORKS) doctor->driver.all = all.count;
    if (child->pipe[1] < 0) doctor->driver.all = (int)doctor->gpu_count;
}
