// driver_check.c - what is wrong with the driver and its GPUs: WSL, containers, stubs, versions, CUDA_VISIBLE_DEVICES.
#define _GNU_SOURCE
#include "base/bytes.h"
#include "doctor/driver.h"
#include "doctor/files.h"
#include "doctor/loader.h"
#include "driver/results.h"
#include "scan/gpus.h"
#include "verdict/arch.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STUB_LIBRARY = 34, NO_DEVICE = 100, SYSTEM_MISMATCH = 803 };

// ---- where this runs

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun ...", also "Open Kernel Module for x86_64 580.65.06".
static void module_version(struct nk_doctor *doctor)
{
    struct nk_buf text = {0};
    nk_doctor_read(doctor->asked.root, "/proc/driver/nvidia/version", &text);
    const char *at = text.data ? strstr(text.data, "Kernel Module") : NULL;
    for (at = at ? at + 13 : NULL; at && *at && *at != '\n'; at++) {
        size_t size = strspn(at, "0123456789.");
        if (size >= 5 && size < sizeof doctor->driver.module && memchr(at, '.', size)) {
            memcpy(doctor->driver.module, at, size);
            break;
        }
    }
    nk_buf_free(&text);
}

static bool in_container(const char *root)
{
    struct nk_buf text = {0};
    bool found = nk_doctor_exists(root, "/.dockerenv") || nk_doctor_exists(root, "/run/.containerenv") ||
                 *nk_doctor_env("container") || *nk_doctor_env("KUBERNETES_SERVICE_HOST");
    if (!found && nk_doctor_read(root, "/proc/1/cgroup", &text) && text.data)
        found = strstr(text.data, "docker") || strstr(text.data, "kubepods") || strstr(text.data, "containerd");
    nk_buf_free(&text);
    return found;
}

static bool devices(const char *root)
{
    return nk_doctor_exists(root, "/dev/nvidiactl") || nk_doctor_exists(root, "/dev/nvidia0");
}

static void look_around(struct nk_doctor *doctor)
{
    const char *root = doctor->asked.root;
    struct nk_doctor_driver *d = &doctor->driver;
    module_version(doctor);
    d->wsl = nk_doctor_exists(root, "/dev/dxg");
    d->container = in_container(root);
    d->stub = strstr(d->library, "/stubs/") || d->result == STUB_LIBRARY;
    d->compat = strstr(d->library, "/compat/") != NULL;
}

// ---- findings about the driver

static void stub(struct nk_doctor *doctor, const char *path)
{
    struct nk_doctor_finding *f =
        nk_doctor_find(doctor, NK_FINDING_STUB, nk_doctor_shown(doctor, path), nk_loader_without(doctor, path), NULL);
    nk_doctor_see(f, "libcuda.so.1 is found at %s first", nk_doctor_shown(doctor, path));
    if (doctor->driver.result == STUB_LIBRARY) nk_doctor_see(f, "cuInit returned 34 CUDA_ERROR_STUB_LIBRARY");
}

static void absent(struct nk_doctor *doctor)
{
    const char *root = doctor->asked.root;
    struct nk_doctor_driver *d = &doctor->driver;
    struct nk_doctor_finding *f;
    bool nodes = devices(root);
    if (d->wsl) {
        f = nk_doctor_find(doctor, NK_FINDING_WSL, "no libcuda.so.1", NULL, NULL);
        nk_doctor_see(f, "/dev/dxg is there; /usr/lib/wsl/lib/libcuda.so.1 %s",
                      nk_doctor_exists(root, "/usr/lib/wsl/lib/libcuda.so.1") ? "is there too" : "is not");
    } else if (d->container) {
        f = nk_doctor_find(doctor, NK_FINDING_CONTAINER,
                           nodes ? "its devices, but no libcuda.so.1" : "neither libcuda.so.1 nor /dev/nvidia*", NULL,
                           NULL);
    } else {
        f = nk_doctor_find(doctor, NK_FINDING_NO_DRIVER, "no libcuda.so.1", NULL, NULL);
        nk_doctor_see(f, "devices /dev/nvidia*: %s; kernel module: %s", nodes ? "there" : "none",
                      *d->module ? d->module : "none");
    }
    const char *parts = nk_doctor_env("NVIDIA_DRIVER_CAPABILITIES");
    if (d->container && *parts && !strstr(parts, "compute") && !strstr(parts, "all"))
        nk_doctor_see(f, "NVIDIA_DRIVER_CAPABILITIES=%s asks for no compute", parts);
    if (*d->why) nk_doctor_see(f, "the loader says: %s", d->why);
}

static const char *device_without_access(const char *root)
{
    static const char *const nodes[] = {"/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-uvm", "/dev/dxg"};
    struct nk_buf path = {0};
    const char *found = NULL;
    for (size_t i = 0; !found && i < sizeof nodes / sizeof *nodes; i++)
        if (nk_doctor_exists(root, nodes[i]) && access(nk_doctor_path(&path, root, nodes[i]), R_OK | W_OK))
            found = nodes[i];
    nk_buf_free(&path);
    return found;
}

static void refuses(struct nk_doctor *doctor)
{
    struct nk_doctor_driver *d = &doctor->driver;
    char name[128], code[16];
    const char *closed = device_without_access(doctor->asked.root);
    struct nk_doctor_finding *f;
    snprintf(code, sizeof code, "%d", d->result);
    snprintf(name, sizeof name, "%d %s", d->result, nk_result_name(NK_DRIVER, d->result));
    if (d->stub) return;
    if (closed && (d->result == NO_DEVICE || d->result == 999 || d->result == 304)) {
        nk_doctor_see(nk_doctor_find(doctor, NK_FINDING_NO_ACCESS, closed, NULL, NULL), "cuInit returned %s", name);
    } else if (d->result == NO_DEVICE) {
        if (*nk_doctor_env("CUDA_VISIBLE_DEVICES") || getenv("CUDA_VISIBLE_DEVICES")) {
            if (d->all > 0) return; // see visible()
        }
        f = nk_doctor_find(doctor, NK_FINDING_NO_DEVICE, NULL, NULL, NULL);
        nk_doctor_see(f, "cuInit returned %s; devices /dev/nvidia*: %s", name,
                      devices(doctor->asked.root) ? "there" : "none");
    } else if (d->result != SYSTEM_MISMATCH || !*d->module) {
        f = nk_doctor_find(doctor, NK_FINDING_REFUSES,
                           d->result < 0 ? nk_doctor_keep_text(doctor, "nothing: the process that asked it died")
                                         : name,
                           d->result < 0 ? "999" : code, NULL);
        if (*d->library) nk_doctor_see(f, "libcuda.so.1 is %s", nk_doctor_shown(doctor, d->library));
    }
}

static void versions(struct nk_doctor *doctor)
{
    struct nk_doctor_driver *d = &doctor->driver;
    if (!*d->module || !*d->version || !strcmp(d->module, d->version)) return;
    if (d->compat) {
        nk_doctor_see(nk_doctor_find(doctor, NK_FINDING_COMPAT, nk_doctor_shown(doctor, d->library), d->module, NULL),
                      "library %s, kernel module %s", d->version, d->module);
    } else {
        nk_doctor_see(nk_doctor_find(doctor, NK_FINDING_MISMATCH, d->version, d->module, NULL),
                      "library %s, /proc/driver/nvidia/version %s", nk_doctor_shown(doctor, d->library), d->module);
    }
}

// What the loader would open, where the driver itself was not asked or could not answer.
static void look_up(struct nk_doctor *doctor)
{
    struct nk_loaded found;
    struct nk_doctor_driver *d = &doctor->driver;
    if (*d->library || !nk_loader_find(doctor, NULL, "libcuda.so.1", &found)) return;
    if (!nk_doctor_real(doctor->asked.root, found.path, d->library, sizeof d->library))
        snprintf(d->library, sizeof d->library, "%s", found.path);
    const char *at = strstr(d->library, "libcuda.so.");
    if (at && strchr(at + 11, '.')) snprintf(d->version, sizeof d->version, "%.31s", at + 11);
    d->stub = strstr(found.path, "/stubs/") || strstr(d->library, "/stubs/");
}

static void wsl_order(struct nk_doctor *doctor)
{
    struct nk_doctor_driver *d = &doctor->driver;
    if (!d->wsl || !*d->library || d->stub || strstr(d->library, "/wsl/")) return;
    struct nk_doctor_finding *f =
        nk_doctor_find(doctor, NK_FINDING_WSL, nk_doctor_shown(doctor, d->library), NULL, NULL);
    nk_doctor_see(f, "/dev/dxg is there, and libcuda.so.1 is found at %s", nk_doctor_shown(doctor, d->library));
}

// ---- GPUs

// The first entry of CUDA_VISIBLE_DEVICES that names no GPU, copied; "" when all do or it cannot be told.
static void wrong_entry(const char *list, int all, char *out, size_t size)
{
    *out = 0;
    for (const char *at = list;; at++) {
        size_t length = strcspn(at, ",");
        char *end;
        long ordinal = strtol(at, &end, 10);
        bool number = end > at && (size_t)(end - at) <= length;
        bool uuid = !strncmp(at, "GPU-", 4) || !strncmp(at, "MIG-", 4);
        if (!uuid && (!number || ordinal < 0 || ordinal >= all)) {
            snprintf(out, size, "%.*s", (int)length, at);
            return;
        }
        at += length;
        if (!*at) return;
    }
}

static void visible(struct nk_doctor *doctor)
{
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    char entry[64], count[16];
    struct nk_buf seen = {0};
    if (!list || doctor->driver.all < 0) return;
    snprintf(count, sizeof count, "%d", doctor->driver.all);
    wrong_entry(list, doctor->driver.all, entry, sizeof entry);
    if (!doctor->gpu_count && doctor->driver.all > 0) {
        struct nk_doctor_finding *f = nk_doctor_find(doctor, NK_FINDING_HIDDEN, *list ? list : "\"\"", count, NULL);
        nk_doctor_see(f, "the driver shows %d without it and none with it", doctor->driver.all);
    } else if (*entry && doctor->gpu_count) {
        for (size_t i = 0; i < doctor->gpu_count; i++)
            nk_buf_format(&seen, "%s%s", i ? ", " : "",
                          *doctor->gpus[i].name ? doctor->gpus[i].name : doctor->gpus[i].text);
        struct nk_doctor_finding *f = nk_doctor_find(doctor, NK_FINDING_CUT_SHORT, list, entry, seen.data);
        nk_doctor_see(f, "the driver shows %d without it and %zu with it", doctor->driver.all, doctor->gpu_count);
    }
    nk_buf_free(&seen);
}

// Sets what programs would set too.
static void settings_of(struct nk_doctor *doctor)
{
    for (size_t i = 0; i < doctor->gpu_count; i++) {
        doctor->gpus[i].target.force_ptx_jit = !strcmp(nk_doctor_env("CUDA_FORCE_PTX_JIT"), "1");
        doctor->gpus[i].target.disable_ptx_jit = !strcmp(nk_doctor_env("CUDA_DISABLE_PTX_JIT"), "1");
    }
}

static void unknown_gpus(struct nk_doctor *doctor)
{
    for (size_t i = 0; i < doctor->gpu_count; i++) {
        char sm[16];
        bool before = false;
        for (size_t j = 0; j < i; j++) before |= doctor->gpus[j].target.sm == doctor->gpus[i].target.sm;
        snprintf(sm, sizeof sm, "%d", doctor->gpus[i].target.sm);
        if (!before && nk_arch_kin(doctor->gpus[i].target.sm) == NK_KIN_UNKNOWN)
            nk_doctor_find(doctor, NK_FINDING_UNKNOWN_GPU, sm, NULL, NULL)->gpu = (int)i;
    }
}

// ---- rows

// Eight alike are one entry: "0-7 NVIDIA H100 80GB HBM3, sm_90".
static void row_gpu(struct nk_doctor *doctor)
{
    struct nk_buf *out = &nk_doctor_row(doctor, "GPU")->found;
    for (size_t i = 0, next; i < doctor->gpu_count; i = next) {
        const struct nk_doctor_gpu *gpu = &doctor->gpus[i];
        for (next = i + 1; next < doctor->gpu_count && gpu->ordinal >= 0; next++)
            if (strcmp(doctor->gpus[next].name, gpu->name) || doctor->gpus[next].target.sm != gpu->target.sm) break;
        if (i) nk_buf_text(out, "; ");
        if (gpu->ordinal < 0)
            nk_buf_format(out, "%s, as asked", gpu->text);
        else if (next > i + 1)
            nk_buf_format(out, "%d-%d %s, sm_%d", gpu->ordinal, doctor->gpus[next - 1].ordinal, gpu->name,
                          gpu->target.sm);
        else
            nk_buf_format(out, "%d %s, sm_%d", gpu->ordinal, gpu->name, gpu->target.sm);
    }
    if (!doctor->gpu_count) nk_buf_text(out, doctor->driver.state == NK_DRIVER_WORKS ? "none visible" : "none");
    nk_doctor_row(doctor, "GPU")->unchecked = !doctor->gpu_count && doctor->driver.state != NK_DRIVER_WORKS;
}

static void row_driver(struct nk_doctor *doctor)
{
    const struct nk_doctor_driver *d = &doctor->driver;
    struct nk_buf *out = &nk_doctor_row(doctor, "driver")->found;
    static const char *const words[] = {"not asked, because of --gpu", "none", "no answer", "does not start", ""};
    nk_buf_text(out, words[d->state]);
    if (d->state == NK_DRIVER_WORKS && !*d->version) nk_buf_text(out, "works");
    if (*d->version) nk_buf_format(out, "%s%s", out->size ? "; " : "", d->version);
    if (d->cuda) nk_buf_format(out, " (CUDA %d.%d)", d->cuda / 1000, d->cuda % 1000 / 10);
    if (*d->library) nk_buf_format(out, ", %s", nk_doctor_shown(doctor, d->library));
    if (d->wsl) nk_buf_text(out, ", in WSL");
    if (d->container) nk_buf_text(out, ", in a container");
    nk_doctor_row(doctor, "driver")->unchecked = d->state == NK_DRIVER_UNASKED;
}

void nk_driver_check(struct nk_doctor *doctor)
{
    struct nk_doctor_driver *d = &doctor->driver;
    char seconds[16];
    snprintf(seconds, sizeof seconds, "%d", NK_DRIVER_SECONDS);
    look_around(doctor);
    look_up(doctor);
    settings_of(doctor);
    if (d->stub && d->state != NK_DRIVER_WORKS) stub(doctor, d->library);
    if (d->state == NK_DRIVER_ABSENT && !d->stub) absent(doctor);
    versions(doctor);
    if (d->state == NK_DRIVER_HANGS) nk_doctor_find(doctor, NK_FINDING_HANGS, seconds, NULL, NULL);
    if (d->state == NK_DRIVER_REFUSES) refuses(doctor);
    wsl_order(doctor);
    visible(doctor);
    unknown_gpus(doctor);
    row_gpu(doctor);
    row_driver(doctor);
}
