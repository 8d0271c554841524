// resolve.c - finding the real functions.
//
// Built without sanitizers: libasan and libtsan call dlsym before they are ready, and that call comes through here.
#define _GNU_SOURCE
#include "resolve.h"

#include "dso.h"
#include "entries.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

void *(*nk_real_dlsym)(void *handle, const char *name);

void nk_resolve_dlsym(void)
{
    // dlvsym is not hooked, so it finds libc's dlsym although ours comes first. Oldest versions: x86-64, aarch64.
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
    void *(*real)(void *, const char *) = NULL;
    for (size_t i = 0; !real && i < sizeof versions / sizeof *versions; i++)
        real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    // Another library that hooks dlsym, and comes after us, must be asked as it would be without us.
    void *next = real ? real(RTLD_NEXT, "dlsym") : NULL;
    nk_real_dlsym = next ? (void *(*)(void *, const char *))next : real;
}

static void *look_up(void *handle, const char *name)
{
    if (!nk_real_dlsym) nk_resolve_dlsym();
    return nk_real_dlsym ? nk_real_dlsym(handle, name) : NULL;
}

bool nk_resolve_driver(void)
{
    static _Atomic bool done;
    static _Thread_local bool inside; // libcuda's constructors may look names up while we look it up
    if (done) return true;
    if (inside) return false;
    inside = true;
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD); // kept open: our pointers stay valid
    for (int id = 0; driver && id < NK_ENTRY_COUNT; id++)
        if (nk_entries[id].lib == NK_DRIVER) nk_slot_fill(id, look_up(driver, nk_entries[id].symbol));
    if (driver) done = true;
    inside = false;
    return driver != NULL;
}

// ---- runtimes

// Callers and their runtimes. Entries are appended without a lock: `count` is published last. An entry becomes doubtful
// when its object begins to unload: from then on the loader is asked whether the object is still the same one.
enum { MAX_CALLERS = 64 };
static struct {
    _Atomic uintptr_t start, end;
    _Atomic(struct link_map *) map;
    _Atomic(const struct nk_runtime *) runtime;
    _Atomic bool doubtful;
} callers[MAX_CALLERS];
static _Atomic unsigned count;

static int visit_cudart(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    const char *name = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    if (!name || strncmp(name, "/libcudart", 10)) return 0;
    *(const char **)data = info->dlpi_name;
    return 1;
}

// For code that names no runtime among its dependencies: any libcudart of the process.
static void *any_cudart(void)
{
    const char *path = NULL;
    dl_iterate_phdr(visit_cudart, &path);
    return path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}

static bool lies_in(const void *function, const struct nk_dso *dso)
{
    return (uintptr_t)function >= dso->start && (uintptr_t)function < dso->end;
}

static void *runtime_function(void *object, const struct nk_dso *caller, const char *name, void **fallback)
{
    void *function = object ? look_up(object, name) : NULL;
    if (function && !nk_is_ours(function) && !lies_in(function, caller)) return function;
    // Ours: the program's own handle means the global scope, in which we come first. The caller's own: it is another
    // interposer, which took us for its next one, and would be called for ever. In both cases who comes after us is
    // meant, and where that is nobody, any runtime. A library that brings its own runtime calls itself.
    void *next = look_up(RTLD_NEXT, name);
    if (!next && !*fallback) *fallback = any_cudart();
    if (!next && *fallback) next = look_up(*fallback, name);
    return next || !function || nk_is_ours(function) ? next : function;
}

// The runtime stays open, so that a stale entry never leads into unmapped code; the caller does not: a plug-in that its
// host closes shall go.
static void keep_open(const void *function, const struct nk_dso *caller)
{
    struct nk_dso dso;
    if (!function || lies_in(function, caller) || !nk_dso_find(function, &dso) || !*dso.path) return;
    dlopen(dso.path, RTLD_LAZY | RTLD_NOLOAD);
}

static const struct nk_runtime *open_runtime(const struct nk_dso *dso)
{
    static const struct nk_runtime nothing;
    struct nk_runtime *runtime = calloc(1, sizeof *runtime);
    if (!runtime) return &nothing;
    void *object = dlopen(*dso->path ? dso->path : NULL, RTLD_LAZY | RTLD_NOLOAD);
    void *fallback = NULL;
    for (int id = 0; id < NK_ENTRY_COUNT; id++)
        if (nk_entries[id].lib == NK_RUNTIME) {
            void *function = runtime_function(object, dso, nk_entries[id].symbol, &fallback);
            memcpy((char *)runtime + nk_slot_offset[id], &function, sizeof function);
        }
    keep_open((const void *)runtime->cudaGetLastError, dso);
    if (object) dlclose(object);
    return runtime;
}

static void remember(unsigned at, const struct nk_dso *dso, const struct nk_runtime *runtime)
{
    callers[at].map = dso->map;
    callers[at].runtime = runtime;
    callers[at].doubtful = false;
    callers[at].end = dso->end;
    callers[at].start = dso->start;
}

static const struct nk_runtime *find_runtime(const void *caller)
{
    struct nk_dso dso;
    if (!nk_dso_find(caller, &dso)) dso = (struct nk_dso){.start = (uintptr_t)caller, .path = ""};
    const struct nk_runtime *runtime = open_runtime(&dso);
    unsigned at = count;
    // Two threads may fill the same place with different callers; the loser's caller is looked up again next time.
    if (at < MAX_CALLERS) {
        remember(at, &dso, runtime);
        atomic_compare_exchange_strong(&count, &at, at + 1);
    }
    return runtime;
}

static const struct nk_runtime *look_again(unsigned at, const void *caller)
{
    struct nk_dso dso = {0};
    if (nk_dso_find(caller, &dso) && dso.map == callers[at].map && dso.start == callers[at].start)
        return callers[at].runtime;
    if (!dso.end) dso = (struct nk_dso){.start = (uintptr_t)caller, .path = ""};
    remember(at, &dso, open_runtime(&dso));
    return callers[at].runtime;
}

static int find_caller(uintptr_t address)
{
    for (unsigned i = 0, n = count; i < n; i++)
        if (address >= callers[i].start && address < callers[i].end) return (int)i;
    return -1;
}

const struct nk_runtime *nk_runtime_of(const void *caller)
{
    int at = find_caller((uintptr_t)caller);
    if (__builtin_expect(at < 0, 0)) return find_runtime(caller);
    if (__builtin_expect(callers[at].doubtful, 0)) return look_again((unsigned)at, caller);
    return callers[at].runtime;
}

void nk_runtime_doubt(const void *caller)
{
    int at = find_caller((uintptr_t)caller);
    if (at >= 0) callers[at].doubtful = true;
}

void *nk_resolve_global(const char *symbol, const void *caller)
{
    struct nk_dso dso;
    void *function = look_up(RTLD_NEXT, symbol);
    if (function || !nk_dso_find(caller, &dso) || !*dso.path) return function;
    // The caller's own dependencies also belong to its RTLD_DEFAULT scope.
    void *object = dlopen(dso.path, RTLD_LAZY | RTLD_NOLOAD);
    function = object ? look_up(object, symbol) : NULL;
    if (object) dlclose(object); // the caller itself keeps it
    return function;
}
