// exercised.c - counts kernels by kind: what ran, what did not, what is there.
#define _GNU_SOURCE
#include "report/exercised.h"
#include "report/sums.h"

#include <stdlib.h>
#include <string.h>

// What is known of a kernel, in the value of the table: bits, then its kind, then its library.
enum { NATIVE = 1, JIT = 2, EMPTY = 4, FAILED = 8, UNKNOWN = 16, IDLE = 32, HELD = 64, KIND = 8, LIBRARY = 16 };

bool nk_exercised_ran(const struct nk_exercised_count *c) { return c->native || c->jit || c->unknown; }

static void note(struct nk_exercised *e, size_t library, const char *name, uintptr_t what)
{
    uint64_t key = nk_hash_bytes(name, strlen(name)) ^ nk_hash_u64(library + 1);
    uintptr_t known = (uintptr_t)nk_table_get(&e->kernels, key);
    if (!known) known = (uintptr_t)nk_kind_of(name, e->libraries[library].path) << KIND | library << LIBRARY;
    if (nk_table_put(&e->kernels, key, (void *)(known | what))) e->failed = true;
}

static size_t library_of(struct nk_exercised *e, const struct nk_run_library *from)
{
    for (size_t i = 0; i < e->library_count; i++)
        if (!strcmp(e->libraries[i].path, from ? from->path : "")) return i;
    if (e->library_count == e->library_room) {
        size_t room = e->library_room ? e->library_room * 2 : 32;
        struct nk_exercised_library *more = realloc(e->libraries, room * sizeof *more);
        if (!more) return e->failed = true, 0;
        e->libraries = more;
        e->library_room = room;
    }
    struct nk_exercised_library *l = &e->libraries[e->library_count];
    *l = (struct nk_exercised_library){strdup(from ? from->path : ""),
                                       strdup(from ? from->package : ""),
                                       strdup(from ? from->version : ""),
                                       strdup(from ? from->build_id : ""),
                                       false,
                                       {0}};
    if (!l->path || !l->package || !l->version || !l->build_id) e->failed = true;
    return e->library_count++;
}

static uintptr_t state_of(const struct nk_run *run, const struct nk_run_kernel *kernel)
{
    if (kernel->failed) return FAILED;
    if (!kernel->launches) return IDLE;
    switch (nk_sums_kernel(run, kernel, kernel->gpu).runs) {
    case NK_RUNS_NATIVE:
        return NATIVE;
    case NK_RUNS_JIT:
        return JIT;
    case NK_RUNS_HOLLOW:
        return EMPTY;
    default:
        return UNKNOWN;
    }
}

static void add_kernel(struct nk_exercised *e, struct nk_run *run, const struct nk_run_kernel *kernel)
{
    const char *name = nk_run_text(run, kernel->name);
    size_t library = library_of(e, kernel->container ? kernel->container->library : NULL);
    if (e->failed) return;
    note(e, library, name, state_of(run, kernel));
    // A launch that is refused in the look-up before it is counted as failed alone.
    uint64_t launches = kernel->launches > kernel->failed ? kernel->launches : kernel->failed;
    e->of[nk_kind_of(name, e->libraries[library].path)].launches += launches;
}

// A refusal of which only the fat binary is known: the kernel is taken for the first that it may have been.
static void add_unnamed(struct nk_exercised *e, struct nk_run *run, const struct nk_run_failure *f)
{
    const struct nk_run_container *c = f->container;
    if (f->kernel || f->class != NK_CLASS_MISSING || !c) return;
    uint32_t name = f->guess ? f->guess : c->names_count ? c->names[0] : 0;
    size_t library = library_of(e, c->library);
    if (!e->failed) note(e, library, nk_run_text(run, name), FAILED);
}

void nk_exercised_add(struct nk_exercised *e, struct nk_run *run)
{
    library_of(e, NULL);
    for (size_t i = 0; i < run->container_count && !e->failed; i++)
        if (nk_sums_stands(&run->containers[i])) library_of(e, run->containers[i].library);
    for (size_t i = 0; i < run->kernel_count && !e->failed; i++) add_kernel(e, run, &run->kernels[i]);
    for (size_t i = 0; i < run->failure_count && !e->failed; i++) add_unnamed(e, run, &run->failures[i]);
}

void nk_exercised_hold(struct nk_exercised *e, size_t library, const char *name)
{
    if (!e->failed) note(e, library, name, HELD);
    e->libraries[library].read = true;
}

static void count(struct nk_exercised_count *c, uintptr_t known)
{
    c->held += (known & HELD) != 0;
    if (known & FAILED)
        c->failed++;
    else if (known & EMPTY)
        c->empty++;
    else if (known & NATIVE)
        c->native++;
    else if (known & JIT)
        c->jit++;
    else if (known & UNKNOWN)
        c->unknown++;
    else
        c->idle += (known & IDLE) != 0;
}

void nk_exercised_sum(struct nk_exercised *e)
{
    uint64_t key;
    size_t cursor = 0;
    for (void *value; (value = nk_table_next(&e->kernels, &cursor, &key));) {
        uintptr_t known = (uintptr_t)value;
        unsigned kind = known >> KIND & 0xff;
        count(&e->of[kind], known);
        count(&e->total, known);
        e->classified += kind != NK_KIND_OTHER && known & (FAILED | EMPTY | NATIVE | JIT | UNKNOWN);
        e->libraries[known >> LIBRARY].held[kind] += (known & HELD) != 0;
    }
    for (unsigned kind = 0; kind < NK_KINDS; kind++) e->total.launches += e->of[kind].launches;
}

void nk_exercised_free(struct nk_exercised *e)
{
    for (size_t i = 0; i < e->library_count; i++) {
        free(e->libraries[i].path);
        free(e->libraries[i].package);
        free(e->libraries[i].version);
        free(e->libraries[i].build_id);
    }
    free(e->libraries);
    nk_table_free(&e->kernels);
    *e = (struct nk_exercised){0};
}
