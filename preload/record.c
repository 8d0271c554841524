// record.c - the recording of this process: its lock and guard, its file, the process, the driver and the GPUs.
#define _GNU_SOURCE
#include "core.h"

#include "entries.h"
#include "passed.h"
#include "process.h"
#include "resolve.h"
#include "stack.h"
#include "trail.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

// Guarded by the lock. Not on the stack: the thread that makes the first call may have 64 KB of it, and be deep in it.
static char scratch[16384];

struct nk_core nk_core = {.writer = {.fd = -1}};
_Thread_local struct nk_thread nk_thread;
_Atomic int nk_pin;
uint64_t nk_pin_limit;
bool nk_pin_all;
_Atomic bool nk_counts_in_memory;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

uint64_t nk_core_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint32_t nk_core_text(const char *text) { return nk_writer_text(&nk_core.writer, text); }

void nk_core_note(const char *text)
{
    struct nk_rec_note note = {.text = nk_core_text(text)};
    nk_writer_add(&nk_core.writer, NK_REC_NOTE, &note, sizeof note, NULL, 0);
}

// ---- the file

static int folder(char *out, size_t size)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int n = *nk_core.settings.dir ? snprintf(out, size, "%s", nk_core.settings.dir)
            : state && *state     ? snprintf(out, size, "%s/nokernel", state)
            : home && *home       ? snprintf(out, size, "%s/.local/state/nokernel", home)
                                  : -1;
    return n < 0 || (size_t)n >= size ? -1 : 0;
}

static void make_folders(char *path)
{
    for (char *at = path + 1; *at; at++)
        if (*at == '/') {
            *at = 0;
            mkdir(path, 0700);
            *at = '/';
        }
    mkdir(path, 0700);
}

// <folder>/<program>-<pid>.nkr; -2, -3 ... follow where a process of that number was recorded before.
static int open_file(struct nk_err *err)
{
    char *dir = scratch;
    if (folder(dir, PATH_MAX - 300))
        return nk_fail(err, NK_ERR_SYSTEM, "NOKERNEL_DIR, XDG_STATE_HOME and HOME are all unset or too long");
    make_folders(dir);
    const char *name = strrchr(nk_core.exe, '/');
    for (int try = 1; try <= 100; try++) {
        char more[16] = "";
        if (try > 1) snprintf(more, sizeof more, "-%d", try);
        snprintf(nk_core.path, sizeof nk_core.path, "%.3790s/%.200s-%d%s.nkr", dir, name ? name + 1 : "program",
                 (int)getpid(), more);
        if (!nk_writer_open(&nk_core.writer, nk_core.path, err)) return 0;
        if (access(nk_core.path, F_OK)) break; // not because there was one of that name
    }
    nk_core.path[0] = 0;
    return -1;
}

// The arguments as they are in /proc, one text each; at most 256 of them.
static uint32_t arguments(uint32_t *ids, uint32_t room)
{
    char *text = scratch;
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof scratch - 1);
    uint32_t count = 0;
    if (fd >= 0) close(fd);
    if (size > 0) text[size] = 0;
    for (ssize_t at = 0; at < size && count < room; at += (ssize_t)strlen(text + at) + 1)
        ids[count++] = nk_core_text(text[at] ? text + at : " ");
    return count;
}

// Only the variables that decide what runs, never the whole environment.
static uint32_t variables(uint32_t *ids, uint32_t room)
{
    static const char *const prefixes[] = {"CUDA_", "TORCH_", "PYTORCH_", "NOKERNEL", "LD_", "NVIDIA_"};
    uint32_t count = 0;
    for (char **at = environ; *at && count < room; at++)
        for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
            if (!strncmp(*at, prefixes[i], strlen(prefixes[i])) && count < room) {
                ids[count++] = nk_core_text(*at);
                break;
            }
    return count;
}

static void add_process(void)
{
    enum { ROOM = 256 };
    static uint32_t ids[2 * ROOM];
    struct utsname host = {0};
    uname(&host);
    if (!getcwd(scratch, sizeof scratch)) scratch[0] = 0;
    struct nk_rec_process process = {
        .pid = (uint64_t)getpid(),
        .parent_pid = (uint64_t)getppid(),
        .started = nk_core_time(),
        .exe = nk_core_text(nk_core.exe),
        .directory = nk_core_text(scratch),
        .host = nk_core_text(host.nodename),
        .tool = nk_core_text(NK_VERSION),
        .sync = nk_core_text(nk_core.settings.sync),
        .parent = nk_core_text(nk_core.parent),
    };
    if (getrandom(&process.random, sizeof process.random, GRND_NONBLOCK) < 0) process.random = 0;
    process.argc = arguments(ids, ROOM);
    process.envc = variables(ids + process.argc, ROOM);
    nk_writer_add(&nk_core.writer, NK_REC_PROCESS, &process, sizeof process, ids,
                  (process.argc + process.envc) * sizeof *ids);
}

// "580.65.06": in the name of the file that libcuda.so.1 is a link to.
static void driver_version(const char *path, char *out, size_t size)
{
    char *real = realpath(path, NULL);
    const char *name = real ? strstr(real, "libcuda.so.") : NULL;
    snprintf(out, size, "%s", name && strchr(name + 11, '.') ? name + 11 : "");
    free(real);
}

static bool is_one(const char *name)
{
    const char *value = getenv(name);
    return value && !strcmp(value, "1");
}

static void add_driver(int cuda)
{
    struct nk_dso dso = {.path = ""};
    char version[64] = "";
    const void *any = nk_slot_get(NK_cuDriverGetVersion);
    if (any && nk_dso_find(any, &dso)) driver_version(dso.path, version, sizeof version);
    struct nk_rec_driver driver = {
        .path = nk_core_text(dso.path),
        .version = nk_core_text(version),
        .cuda = (uint32_t)cuda,
        .loading = (uint32_t)nk_core.loading,
        .jit = (is_one("CUDA_FORCE_PTX_JIT") ? 1u : 0) | (is_one("CUDA_DISABLE_PTX_JIT") ? 2u : 0),
    };
    nk_core.cuda = cuda;
    nk_core.jit = (int)driver.jit;
    nk_writer_add(&nk_core.writer, NK_REC_DRIVER, &driver, sizeof driver, NULL, 0);
}

static void add_complaints(char *lines)
{
    for (char *at = lines, *end; at && *at; at = end) {
        end = strchr(at, '\n');
        if (end) *end++ = 0;
        nk_core_note(at);
    }
}

// Where no file can be written (a container that is read-only, no home) there is at least the report at exit.
static int open_in_memory(void)
{
    struct nk_err err = {0};
    if (!strcmp(nk_core.settings.report, "none") || nk_writer_open_memory(&nk_core.writer, &err)) return -1;
    // The writer may have closed its descriptor when the report is made: this one is for reading.
    nk_core.memory = fcntl(nk_core.writer.fd, F_DUPFD_CLOEXEC, nk_core.writer.fd);
    if (nk_core.memory < 0) {
        nk_core.memory = 0;
        nk_writer_close(&nk_core.writer);
        return -1;
    }
    snprintf(nk_core.path, sizeof nk_core.path, "%s%d", NK_IN_MEMORY, nk_core.memory);
    return 0;
}

static void open_recording(void)
{
    struct nk_err err = {0};
    int cuda = 0;
    nk_core.pid = getpid();
    nk_core.opened = true;
    if (open_file(&err)) {
        nk_core_say("nokernel: no recording: %s\n", err.text);
        nk_core.off = open_in_memory() != 0;
        if (nk_core.off) return;
    }
    nk_real.cuDriverGetVersion(&cuda);
    add_process();
    add_driver(cuda);
    struct nk_buf complaints = {0};
    nk_settings_read(&nk_core.settings, environ, &complaints);
    add_complaints(complaints.data);
    nk_buf_free(&complaints);
}

uint32_t nk_thread_id(void)
{
    if (!nk_thread.id) nk_thread.id = (uint32_t)syscall(SYS_gettid);
    return nk_thread.id;
}

// ---- the guard

// A root without /proc: the name that the kernel was given for the program.
static void name_without_proc(void)
{
    const char *name = (const char *)getauxval(AT_EXECFN);
    char *real = name ? realpath(name, NULL) : NULL;
    snprintf(nk_core.exe, sizeof nk_core.exe, "%s", real ? real : name ? name : "a program");
    free(real);
}

// Reads the settings. Before the first lock is taken for good, so that a disabled library costs one test.
static void start(void)
{
    nk_settings_read(&nk_core.settings, environ, NULL);
    nk_core.off = !strcmp(nk_core.settings.enabled, "off");
    const char *blocking = getenv("CUDA_LAUNCH_BLOCKING");
    bool blocks = blocking && *blocking && strcmp(blocking, "0"); // then the driver itself waits
    nk_pin_limit = strtoull(nk_core.settings.wait, NULL, 10) * 1000000000u;
    nk_pin_all = !strcmp(nk_core.settings.markers, "all");
    nk_core.blocks = blocks;
    if (!nk_core.off && !blocks)
        nk_pin = !strcmp(nk_core.settings.sync, "launch")  ? NK_PIN_LAUNCH
                 : !strcmp(nk_core.settings.sync, "trail") ? NK_PIN_TRAIL
                                                           : NK_PIN_OFF;
    ssize_t size = readlink("/proc/self/exe", nk_core.exe, sizeof nk_core.exe - 1);
    nk_core.exe[size > 0 ? size : 0] = 0;
    if (size <= 0) name_without_proc();
    if (!nk_core.off) nk_process_watch();
    nk_core.wants_stacks = !nk_core.off;
    nk_core.started = true;
}

bool nk_enter_quietly(int *saved_errno)
{
    if (nk_thread.inside || nk_core.finished || (nk_core.started && nk_core.off)) return false;
    if (nk_core.opened && nk_core.pid != getpid()) return false;
    *saved_errno = errno;
    nk_thread.inside = true;
    // After the report nobody waits: a runtime may be taken apart meanwhile, and a thread that comes back into it late
    // is the likelier to crash there.
    if (nk_core.reported ? pthread_mutex_trylock(&lock) : pthread_mutex_lock(&lock)) {
        nk_thread.inside = false;
        errno = *saved_errno;
        return false;
    }
    if (!nk_core.started) start();
    if (!nk_core.off && !nk_core.finished) return true;
    nk_leave(*saved_errno);
    return false;
}

bool nk_enter(int *saved_errno)
{
    if (!nk_enter_quietly(saved_errno)) return false;
    if (!nk_core.opened) open_recording();
    if (!nk_core.off) return true;
    nk_leave(*saved_errno);
    return false;
}

void nk_leave(int saved_errno)
{
    bool open_stacks = nk_core.wants_stacks && nk_core.opened;
    if (nk_core.writer.copies) nk_counts_in_memory = true;
    if (open_stacks) nk_core.wants_stacks = false;
    pthread_mutex_unlock(&lock);
    // Never under the lock: dlopen waits for constructors of other threads, and those may wait for us.
    if (open_stacks) nk_stack_open(nk_core.settings.stack);
    nk_thread.inside = false;
    errno = saved_errno;
}

// Most calls come too early, and cost one look at a clock that is a few milliseconds behind.
void nk_record_copy_counts(void)
{
    static _Atomic time_t last;
    int saved;
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC_COARSE, &now) || now.tv_sec == last) return;
    last = now.tv_sec;
    if (!nk_enter_quietly(&saved)) return;
    nk_writer_copy(&nk_core.writer);
    nk_leave(saved);
}

// ---- GPUs

static void ask_gpu(CUdevice device, struct nk_rec_gpu *gpu, char *name, int size)
{
    int major = 0, minor = 0, integrated = 0;
    size_t memory = 0;
    CUuuid uuid = {{0}};
    nk_real.cuDeviceGetAttribute(&major, NK_ATTR_CC_MAJOR, device);
    nk_real.cuDeviceGetAttribute(&minor, NK_ATTR_CC_MINOR, device);
    nk_real.cuDeviceGetAttribute(&integrated, NK_ATTR_INTEGRATED, device);
    nk_real.cuDeviceTotalMem_v2(&memory, device);
    nk_real.cuDeviceGetUuid(&uuid, device);
    if (nk_real.cuDeviceGetName(name, size, device)) name[0] = 0;
    *gpu = (struct nk_rec_gpu){.ordinal = (uint32_t)device,
                               .sm = (uint32_t)(major * 10 + minor),
                               .integrated = (uint32_t)integrated,
                               .memory = memory};
    memcpy(gpu->uuid, uuid.bytes, sizeof gpu->uuid);
}

void nk_record_gpu(CUdevice device)
{
    int saved;
    if (device < 0 || device >= 64 || nk_core.gpus >> device & 1 || nk_thread.inside) return;
    struct nk_rec_gpu gpu;
    char name[256];
    ask_gpu(device, &gpu, name, sizeof name);
    if (!nk_enter(&saved)) return;
    if (!(nk_core.gpus >> device & 1)) {
        nk_core.gpus |= 1ull << device;
        nk_core.sm[device] = (int)gpu.sm;
        gpu.name = nk_core_text(name);
        nk_writer_add(&nk_core.writer, NK_REC_GPU, &gpu, sizeof gpu, NULL, 0);
    }
    nk_leave(saved);
}

uint32_t nk_core_gpu_here(void)
{
    CUdevice device;
    if (nk_thread.inside || nk_real.cuCtxGetDevice(&device) != NK_CUDA_SUCCESS) return NK_NONE;
    nk_record_gpu(device);
    return (uint32_t)device;
}

uint32_t nk_core_gpus_there(void)
{
    int major;
    CUdevice count = 0;
    if (nk_thread.inside) return NK_NONE;
    while (count < 64 && nk_real.cuDeviceGetAttribute(&major, NK_ATTR_CC_MAJOR, count) == NK_CUDA_SUCCESS)
        nk_record_gpu(count++);
    return count == 1 ? 0 : NK_NONE;
}

bool nk_core_eager(void)
{
    int saved, mode = 0, cuda = 0;
    if (nk_core.loading) return nk_core.loading == NK_LOADING_EAGER;
    nk_real.cuDriverGetVersion(&cuda);
    // A driver older than 11.7 cannot load lazily, and runtimes that cannot ask load everything (measured on 12.4).
    if (nk_real.cuModuleGetLoadingMode(&mode) != NK_CUDA_SUCCESS) mode = NK_LOADING_EAGER;
    if (!nk_enter(&saved)) return mode == NK_LOADING_EAGER;
    if (!nk_core.loading) {
        nk_core.loading = mode;
        add_driver(cuda);
    }
    nk_leave(saved);
    return mode == NK_LOADING_EAGER;
}

struct nk_target nk_core_target(uint32_t gpu)
{
    return (struct nk_target){.sm = gpu < 64 ? nk_core.sm[gpu] : 0,
                              .driver = nk_core.cuda,
                              .force_ptx_jit = nk_core.jit & 1,
                              .disable_ptx_jit = nk_core.jit >> 1 & 1};
}

// ---- fork

// A fork out of our own code (a signal handler that forks) finds the lock taken by its own thread.
void nk_record_fork_prepare(void)
{
    if (!nk_thread.inside) pthread_mutex_lock(&lock);
}

void nk_record_fork_parent(void)
{
    if (!nk_thread.inside) pthread_mutex_unlock(&lock);
}

void nk_record_fork_child(void)
{
    // The parent's file is left alone; a child that uses CUDA gets a file of its own, which names its parent's.
    nk_writer_forget(&nk_core.writer);
    pthread_mutex_init(&lock, NULL);
    if (nk_core.path[0] && !nk_core.memory) memcpy(nk_core.parent, nk_core.path, sizeof nk_core.parent);
    nk_core.memory = 0;
    nk_core.path[0] = 0;
    nk_core.opened = nk_core.reported = nk_core.finished = nk_core.failed_late = nk_core.scanned = false;
    nk_core.gpus = 0;
    nk_counts_in_memory = false;
    nk_core.end = (struct nk_rec_exit){0};
    nk_thread.id = 0;
    nk_core_forget_ids();
    nk_passed_forget();
    nk_trail_reset();
}
