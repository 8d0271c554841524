// stack.c - the native stack of the calling thread.
#define _GNU_SOURCE
#include "stack.h"

#include "dso.h"

#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <stdbool.h>
#include <string.h>

typedef int (*walk_fn)(void **frames, int room);
static _Atomic walk_fn walk;

// libunwind gives its memory of a thread back when that thread ends, under a mutex. ThreadSanitizer, whose mutexes they
// are then, has forgotten the thread by that time, and crashes (measured: libunwind 1.6, gcc 12). Its own names need
// not be visible, those of the functions that it stands before are.
static bool may_use_libunwind(const char *who)
{
    struct nk_dso dso;
    const void *lock = dlsym(RTLD_DEFAULT, "pthread_mutex_lock");
    if (strcmp(who, "libunwind")) return false;
    return !lock || !nk_dso_find(lock, &dso) || strstr(dso.path, "/libc.so") || strstr(dso.path, "/libpthread");
}

void nk_stack_open(const char *who)
{
    void *frame;
    if (!strcmp(who, "off")) return;
    void *libunwind = !may_use_libunwind(who) ? NULL : dlopen("libunwind.so.8", RTLD_LAZY | RTLD_LOCAL);
    void *function = libunwind ? dlsym(libunwind, "unw_backtrace") : NULL;
    if (!function) backtrace(&frame, 1); // the first call opens libgcc_s: now, not when something has failed
    walk = function ? (walk_fn)function : backtrace;
}

size_t nk_stack_walk(void **frames, size_t room)
{
    walk_fn how = walk;
    int count = how ? how(frames, (int)room) : 0;
    return count > 0 ? (size_t)count : 0;
}

// ---- symbols of a loaded library, from what the loader itself uses (System V gABI, "Dynamic Linking"; GNU hash)

struct symbols {
    const ElfW(Sym) * table;
    const char *strings;
    size_t count;
};

static const void *at(const struct nk_dso *dso, ElfW(Addr) address)
{
    // glibc has already relocated these addresses, except in the vDSO and on some machines.
    return (const void *)(address < dso->base ? address + dso->base : address);
}

// The GNU hash table does not say how many symbols there are: they end with the longest chain.
static size_t count_gnu(const uint32_t *hash)
{
    uint32_t buckets = hash[0], first = hash[1], words = hash[2], last = 0;
    const uint32_t *bucket = hash + 4 + words * (sizeof(ElfW(Addr)) / 4), *chain = bucket + buckets;
    for (uint32_t i = 0; i < buckets; i++)
        if (bucket[i] > last) last = bucket[i];
    if (last < first) return first;
    while (!(chain[last - first] & 1)) last++;
    return last + 1;
}

static int open_symbols(const struct nk_dso *dso, struct symbols *out)
{
    *out = (struct symbols){0};
    for (const ElfW(Dyn) *d = dso->map ? dso->map->l_ld : NULL; d && d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_SYMTAB) out->table = at(dso, d->d_un.d_ptr);
        if (d->d_tag == DT_STRTAB) out->strings = at(dso, d->d_un.d_ptr);
        if (d->d_tag == DT_HASH) out->count = ((const uint32_t *)at(dso, d->d_un.d_ptr))[1];
        if (d->d_tag == DT_GNU_HASH && !out->count) out->count = count_gnu(at(dso, d->d_un.d_ptr));
    }
    return out->table && out->strings && out->count ? 0 : -1;
}

int nk_stack_symbol(const void *address, struct nk_symbol *out)
{
    struct nk_dso dso;
    struct symbols symbols;
    if (!nk_dso_find(address, &dso) || open_symbols(&dso, &symbols)) return -1;
    uintptr_t offset = (uintptr_t)address - dso.base;
    for (size_t i = 0; i < symbols.count; i++) {
        const ElfW(Sym) *symbol = &symbols.table[i];
        if (symbol->st_shndx == SHN_UNDEF || (symbol->st_info & 15) != STT_FUNC) continue;
        if (offset - symbol->st_value >= symbol->st_size) continue; // also when it lies before: the difference wraps
        *out = (struct nk_symbol){symbols.strings + symbol->st_name, offset - symbol->st_value};
        return 0;
    }
    return -1;
}
