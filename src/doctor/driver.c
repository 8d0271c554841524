// driver.c - the driver and its GPUs, asked in a child process.
#define _GNU_SOURCE
#include "doctor/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What a child tells; whole (`done`) or not at all.
struct answer {
    bool done;
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

static void answer(void *shared, void *all)
{
    struct answer *a = shared;
    if (all) unsetenv("CUDA_VISIBLE_DEVICES");
    ask(a);
    a->done = true;
}

// ---- in the parent

void nk_driver_start(struct nk_doctor *doctor, struct nk_driver_child *child)
{
    static const struct answer none;
    *child = (struct nk_driver_child){.child = {{.pipe = -1}, {.pipe = -1}}};
    if (doctor->asked.gpus) return;
    for (int all = 0; all <= (getenv("CUDA_VISIBLE_DEVICES") != NULL); all++)
        nk_child_start(&child->child[all], &none, sizeof none, NK_DRIVER_SECONDS, answer, all ? doctor : NULL, NULL);
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

// The whole answer, or NULL: the child died, hangs (*late), or was never started.
static const struct answer *wait_for(struct nk_child *child, bool *late)
{
    int status;
    *late = !nk_child_finish(child, &status);
    const struct answer *a = child->shared;
    return a && a->done ? a : NULL;
}

void nk_driver_finish(struct nk_doctor *doctor, struct nk_driver_child *child)
{
    bool late;
    doctor->driver.all = -1;
    if (doctor->asked.gpus) return;
    const struct answer *a = wait_for(&child->child[0], &late);
    if (a) {
        take(doctor, a);
    } else {
        doctor->driver.state = late ? NK_DRIVER_HANGS : NK_DRIVER_REFUSES;
        doctor->driver.result = late ? 0 : -1; // -1: the child ended without a word
    }
    if (!child->child[1].shared)
        doctor->driver.all = (int)doctor->gpu_count;
    else if ((a = wait_for(&child->child[1], &late)) && a->state == NK_DRIVER_WORKS)
        doctor->driver.all = a->count;
    nk_child_free(&child->child[0]);
    nk_child_free(&child->child[1]);
}
