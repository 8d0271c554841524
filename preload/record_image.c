// record_image.c - libraries, containers and kernels in the recording; loads and look-ups.
#define _GNU_SOURCE
#include "core.h"

#include "base/file.h"
#include "contents.h"
#include "entries.h"
#include "image/elf.h"
#include "image/fatbin.h"
#include "resolve.h"

#include <stdlib.h>
#include <string.h>

// A host function that stands for a kernel of a fat binary that was registered with a shared runtime. Only pointers
// into the program's own data are kept: a library of PyTorch registers 24,000 functions when it is imported.
struct host_function {
    const char *name;
    const void *handle;
};
static struct nk_table registered; // handle -> wrapper
static struct nk_table host_functions;
static struct nk_table runtime_kernels; // cudaKernel_t -> host function
static struct nk_table loads;           // which loads are recorded

void nk_core_forget_ids(void)
{
    nk_objects_reset();
    nk_core.libraries = nk_core.containers = nk_core.kernels = nk_core.failures = 0;
    nk_core.stacks = nk_core.python_stacks = nk_core.graphs = 0;
    nk_core.library_ids = nk_core.unowned = nk_core.with_code = nk_core.failures_by_key = loads = (struct nk_table){0};
    nk_core.last_failure = NULL;
    nk_core_graphs_forget();
    nk_core_hollow_forget();
}

// ---- libraries

static void build_id(const char *path, char out[NK_BUILD_ID_TEXT])
{
    struct nk_file file;
    struct nk_elf elf;
    out[0] = 0;
    if (nk_file_open(&file, path, NULL)) return;
    if (!nk_elf_open(&elf, file.bytes, NULL)) nk_elf_build_id(&elf, out);
    nk_file_close(&file);
}

static uint32_t library_of_file(const char *path)
{
    char id[NK_BUILD_ID_TEXT], *real = realpath(path, NULL);
    if (real) path = real;
    uint64_t key = nk_hash_bytes(path, strlen(path));
    uintptr_t known = (uintptr_t)nk_table_get(&nk_core.library_ids, key);
    if (known) {
        free(real);
        return (uint32_t)known;
    }
    build_id(path, id);
    struct nk_rec_library library = {
        .id = ++nk_core.libraries, .path = nk_core_text(path), .build_id = nk_core_text(id)};
    nk_table_put(&nk_core.library_ids, key, (void *)(uintptr_t)library.id);
    char *copy = nk_got(strdup(path));
    if (copy && nk_table_put(&nk_core.unowned, library.id, copy)) free(copy);
    nk_writer_add(&nk_core.writer, NK_REC_LIBRARY, &library, sizeof library, NULL, 0);
    free(real);
    return library.id;
}

// A stack names the same libraries again and again: the file system is asked once for each spelling of a path.
uint32_t nk_core_library(const char *path)
{
    if (path[0] != '/') return library_of_file(path);
    uint64_t spelling = nk_hash_bytes(path, strlen(path)) ^ 1;
    uintptr_t id = (uintptr_t)nk_table_get(&nk_core.library_ids, spelling);
    if (!id) {
        id = library_of_file(path);
        nk_table_put(&nk_core.library_ids, spelling, (void *)id);
    }
    return (uint32_t)id;
}

uint32_t nk_core_library_at(const void *address)
{
    struct nk_dso dso;
    if (!address || !nk_dso_find(address, &dso)) return 0;
    return nk_core_library(*dso.path ? dso.path : nk_core.exe);
}

// ---- containers

static void read_images(struct nk_container *container, struct nk_bytes bytes)
{
    enum { MAX_IMAGES = 4096 };
    struct nk_fatbin walk;
    struct nk_entry_view entry;
    size_t room = 0;
    if (nk_fatbin_begin(&walk, bytes, NULL)) return;
    while (container->n_images < MAX_IMAGES && nk_fatbin_next(&walk, &entry, NULL) == 1) {
        if (container->n_images == room) {
            size_t more = room ? room * 2 : 8;
            struct nk_image *images = nk_got(realloc(container->images, more * sizeof *images));
            if (!images) return;
            container->images = images;
            room = more;
        }
        container->images[container->n_images++] = entry.image;
    }
}

static void add_container(struct nk_container *container, const struct nk_contents *contents, const void *loader)
{
    struct nk_dso dso;
    const void *at = contents->owned || contents->file.bytes.size ? NULL : contents->bytes.data;
    struct nk_rec_container record = {
        .id = ++nk_core.containers,
        .library = nk_core_library_at(at),
        .loader = nk_core_library_at(loader),
        .origin = container->origin,
        .file = nk_core_text(container->file),
        .count = 1,
        .n_images = (uint32_t)container->n_images,
        .offset = at && nk_dso_find(at, &dso) ? (uintptr_t)at - dso.base : (uintptr_t)at,
    };
    if (container->file) record.library = nk_core_library(container->file);
    _Static_assert(sizeof(struct nk_rec_image) == sizeof(struct nk_image), "the same fields, to the bit");
    uint32_t owner = record.library ? record.library : record.loader; // of code in memory: who brought it
    if (owner) nk_table_put(&nk_core.with_code, owner, &nk_core);
    container->id = record.id;
    nk_writer_add(&nk_core.writer, NK_REC_CONTAINER, &record, sizeof record, container->images,
                  container->n_images * sizeof *container->images);
}

void nk_core_container(struct nk_container *container, const void *loader)
{
    struct nk_contents contents;
    if (!container || container->id) return;
    if (!nk_contents_open(container, &contents)) read_images(container, contents.bytes);
    add_container(container, &contents, loader);
    nk_contents_close(&contents);
}

struct nk_container *nk_core_container_for(const void *code, const char *path, enum nk_origin origin)
{
    bool created;
    if (!code && !path) return NULL;
    struct nk_container *container = nk_container_get(nk_contents_key(code, path), &created);
    if (!container) return NULL;
    if (created) {
        container->origin = origin;
        if (path) container->file = realpath(path, NULL);
        if (path && !container->file) container->file = nk_got(strdup(path));
    }
    container->code = code;
    container->lives = true;
    return container;
}

// ---- kernels

void nk_core_kernel(struct nk_kernel *kernel, uint32_t gpu)
{
    if (!kernel || kernel->id) return;
    nk_core_container(kernel->container, NULL);
    struct nk_rec_kernel record = {.id = ++nk_core.kernels,
                                   .name = nk_core_text(kernel->name),
                                   .container = kernel->container ? kernel->container->id : 0,
                                   .gpu = gpu};
    uint64_t *counter = nk_writer_counter(&nk_core.writer, &record.counter);
    kernel->id = record.id;
    kernel->gpu = gpu;
    if (kernel->container) {
        kernel->next = kernel->container->kernels;
        kernel->container->kernels = kernel;
    }
    nk_writer_add(&nk_core.writer, NK_REC_KERNEL, &record, sizeof record, NULL, 0);
    atomic_store_explicit(&kernel->launches, counter, memory_order_release);
}

// Newer drivers can name it.
struct nk_kernel *nk_core_adopt(const void *function)
{
    const char *name = NULL;
    if (nk_real.cuFuncGetName(&name, (CUfunction)function) != NK_CUDA_SUCCESS &&
        nk_real.cuKernelGetName(&name, (CUkernel)function) != NK_CUDA_SUCCESS)
        name = NULL;
    struct nk_kernel *kernel = nk_kernel_get(NULL, name ? name : "");
    nk_bind_kernel(function, kernel);
    return kernel;
}

void nk_record_first_launch(const void *function)
{
    int saved;
    uint32_t gpu = nk_core_gpu_here();
    if (!nk_enter(&saved)) return;
    struct nk_kernel *kernel = nk_kernel_of(function);
    if (!kernel && function) kernel = nk_core_adopt(function);
    nk_core_kernel(kernel, gpu);
    if (kernel && kernel->launches) __atomic_fetch_add(kernel->launches, 1, __ATOMIC_RELAXED);
    nk_leave(saved);
}

// ---- loads

// One record a (container, api, result, gpu).
static void add_load(struct nk_container *container, enum nk_entry_id api, CUresult r, uint32_t gpu, bool startup)
{
    container->refused |= startup && nk_result_is_image(r);
    uint64_t key = nk_hash_u64(container->id) ^ nk_hash_u64((uint64_t)api << 32 | (uint32_t)r) ^ gpu;
    if (nk_table_get(&loads, key) || nk_table_put(&loads, key, &loads)) return;
    struct nk_rec_load record = {.container = container->id,
                                 .api = nk_core_text(nk_entries[api].symbol),
                                 .gpu = gpu,
                                 .result = r,
                                 .startup = startup};
    nk_writer_add(&nk_core.writer, NK_REC_LOAD, &record, sizeof record, NULL, 0);
}

// A runtime that was called for one kernel may load the fat binaries of others on the way: 11.8 all those that it could
// not load lazily, in the order of their addresses. What is refused there is no failure of the kernel that was wanted.
static bool is_for_another(const struct nk_container *container)
{
    const struct nk_kernel *wanted = nk_thread.call ? nk_core_host_kernel(nk_thread.call->function) : NULL;
    return wanted && wanted->container && wanted->container != container;
}

// A refused load is a failure, unless a runtime tries everything at its start: then only launches tell.
static void load_result(enum nk_entry_id api, enum nk_failure_kind kind, struct nk_container *container, CUresult r,
                        uint32_t gpu, bool startup, const void *caller)
{
    startup = startup || is_for_another(container);
    add_load(container, api, r, gpu, startup);
    if (r == NK_CUDA_SUCCESS || startup) return;
    if (!nk_result_is_image(r) && (!nk_core_is_serious(r) || nk_core_comes_back(api, r, gpu, caller))) return;
    nk_core_fail(&(struct nk_event){.kind = kind,
                                    .api = api,
                                    .result = r,
                                    .container = container,
                                    .caller = caller,
                                    .pinned = NK_PINNED_RETURNED,
                                    .gpu = gpu});
}

// Loads that a runtime makes for the program: for all its fat binaries at once, or for the first use of one.
static bool by_runtime(enum nk_origin origin) { return origin == NK_ORIGIN_LIBRARY || origin == NK_ORIGIN_PRIVATE; }

// LAZY 11.8 loads a fat binary when one of its kernels is first used, between a push and a pop of the context; what it
// cannot load lazily, and all of PyTorch 2.0's, comes in one go without them (measured on 11.7 and 11.8).
static bool is_startup(enum nk_origin origin)
{
    bool for_one = nk_thread.pushed || origin != NK_ORIGIN_PRIVATE;
    nk_thread.pushed = false;
    if (nk_thread.call || !by_runtime(origin)) return false;
    return !for_one || nk_core_eager();
}

void nk_record_load(enum nk_entry_id api, enum nk_origin origin, const void *handle, const void *code, const char *path,
                    CUresult r, const void *caller)
{
    int saved;
    bool startup = is_startup(origin);
    uint32_t gpu = nk_core_gpu_here();
    if (gpu == NK_NONE && nk_result_is_image(r)) gpu = nk_core_gpus_there();
    if (!nk_enter(&saved)) return;
    struct nk_container *container = nk_core_container_for(code, path, origin);
    if (container) {
        nk_core_container(container, caller);
        if (r == NK_CUDA_SUCCESS) nk_bind_container(handle, container);
        load_result(api, by_runtime(origin) ? NK_FAILED_LOOKUP : NK_FAILED_LOAD, container, r, gpu, startup, caller);
    }
    nk_leave(saved);
}

void nk_record_module(const void *module, const void *library, CUresult r, const void *caller)
{
    int saved;
    bool startup = is_startup(NK_ORIGIN_LIBRARY);
    uint32_t gpu = nk_core_gpu_here();
    if (!nk_enter(&saved)) return;
    struct nk_container *container = nk_container_of(library);
    if (container) {
        if (r == NK_CUDA_SUCCESS) nk_bind_container(module, container);
        load_result(NK_cuLibraryGetModule, NK_FAILED_LOOKUP, container, r, gpu, startup, caller);
    }
    nk_leave(saved);
}

void nk_record_unload(const void *handle)
{
    int saved;
    if (!nk_enter_quietly(&saved)) return; // a runtime unloads at its end: no reason to open a recording
    struct nk_container *container = nk_container_of(handle);
    if (container && container->loads == 1) nk_core_hollow(container);
    nk_unbind_container(handle);
    // What was registered stays where it is; any other address may get a new image.
    if (container && !container->loads && !container->file && container->origin != NK_ORIGIN_REGISTERED)
        nk_container_drop(container);
    nk_leave(saved);
}

// ---- look-ups

static void lookup_failed(enum nk_entry_id api, struct nk_container *container, const char *name, CUresult r,
                          uint32_t gpu, bool startup, const void *caller)
{
    if (!container || (!nk_result_is_image(r) && !nk_core_is_serious(r))) return;
    add_load(container, api, r, gpu, startup);
    if (startup || (!nk_result_is_image(r) && nk_core_comes_back(api, r, gpu, caller))) return;
    nk_core_fail(&(struct nk_event){.kind = NK_FAILED_LOOKUP,
                                    .api = api,
                                    .result = r,
                                    .kernel = nk_kernel_get(container, name),
                                    .container = container,
                                    .caller = caller,
                                    .pinned = NK_PINNED_RETURNED,
                                    .gpu = gpu});
}

void nk_record_lookup(enum nk_entry_id api, const void *function, const void *parent, const char *name, CUresult r,
                      const void *caller)
{
    int saved;
    // An EAGER runtime looks every kernel up at its start; 24,000 records of PyTorch's would say nothing.
    bool eager = nk_core_eager(), startup = eager && !nk_thread.call;
    uint32_t gpu = eager ? NK_NONE : nk_core_gpu_here();
    if (!name || !nk_enter(&saved)) return;
    struct nk_container *container = nk_container_of(parent);
    if (r == NK_CUDA_SUCCESS) {
        struct nk_kernel *kernel = nk_kernel_get(container, name);
        nk_bind_kernel(function, kernel);
        if (!eager) nk_core_kernel(kernel, gpu);
    } else
        lookup_failed(api, container, name, r, gpu, startup, caller);
    nk_leave(saved);
}

// EAGER runtimes 12.8 and 12.9 pass the address of the host function in place of a CUkernel when they have none, and
// the launch then fails with what the driver says to that (measured: 400). A static runtime tells no more than this:
// the library that the function lies in, and with luck its only fat binary that was refused.
static void host_function_refused(const void *function, CUresult r, const void *caller)
{
    int saved;
    struct nk_dso dso;
    uint32_t gpu = nk_core_gpu_here();
    if (nk_kernel_of(function) || !nk_dso_find(function, &dso) || !nk_enter(&saved)) return;
    struct nk_container *container = nk_container_refused_in(dso.start, dso.end);
    if (container || nk_thread.call)
        nk_core_fail(&(struct nk_event){.kind = NK_FAILED_LAUNCH,
                                        .api = NK_cuKernelGetFunction,
                                        .result = r,
                                        .container = container,
                                        .caller = caller,
                                        .pinned = NK_PINNED_RETURNED,
                                        .gpu = gpu});
    nk_leave(saved);
}

void nk_record_function(const void *function, const void *kernel, CUresult r, const void *caller)
{
    int saved;
    if (r != NK_CUDA_SUCCESS) {
        if (r == NK_CUDA_INVALID_HANDLE && nk_core_eager()) host_function_refused(kernel, r, caller);
        nk_record_probe(NK_cuKernelGetFunction, kernel, r, caller);
        return;
    }
    if (nk_kernel_of(function) || !nk_enter(&saved)) return;
    nk_bind_kernel(function, nk_kernel_of(kernel));
    nk_leave(saved);
}

// ---- what a shared runtime registers

void nk_record_registered(const void *handle, const void *wrapper)
{
    int saved = 0;
    if (!handle || !nk_enter_quietly(&saved)) return;
    nk_table_put(&registered, (uintptr_t)handle, (void *)(uintptr_t)wrapper);
    nk_leave(saved);
}

void nk_record_host_function(const void *handle, const void *function, const char *name)
{
    int saved = 0;
    struct host_function *entry;
    if (!handle || !function || !name || !nk_enter_quietly(&saved)) return;
    entry = nk_table_get(&host_functions, (uintptr_t)function);
    if (!entry && (entry = nk_got(malloc(sizeof *entry))) &&
        nk_table_put(&host_functions, (uintptr_t)function, entry)) {
        free(entry);
        entry = NULL;
    }
    if (entry) *entry = (struct host_function){name, handle};
    nk_leave(saved);
}

void nk_record_unregistered(const void *handle)
{
    int saved = 0;
    if (!nk_enter_quietly(&saved)) return;
    const void *wrapper = nk_table_remove(&registered, (uintptr_t)handle);
    struct nk_container *container = wrapper ? nk_container_get(nk_contents_key(wrapper, NULL), NULL) : NULL;
    if (container) {
        nk_core_hollow(container);
        nk_container_drop(container);
    }
    nk_leave(saved);
}

void nk_record_runtime_kernel(const void *kernel, const void *host_function)
{
    int saved = 0;
    if (!kernel || !nk_enter_quietly(&saved)) return;
    nk_table_put(&runtime_kernels, (uintptr_t)kernel, (void *)(uintptr_t)host_function);
    nk_leave(saved);
}

struct nk_kernel *nk_core_host_kernel(const void *function)
{
    const void *host = nk_table_get(&runtime_kernels, (uintptr_t)function);
    const struct host_function *entry = nk_table_get(&host_functions, (uintptr_t)(host ? host : function));
    if (!entry) return NULL;
    const void *wrapper = nk_table_get(&registered, (uintptr_t)entry->handle);
    struct nk_container *container = wrapper ? nk_core_container_for(wrapper, NULL, NK_ORIGIN_REGISTERED) : NULL;
    return nk_kernel_get(container, entry->name);
}
