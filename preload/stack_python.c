// stack_python.c - the Python stack of the calling thread, without the interpreter's lock.
//
// The program is in a call of CUDA's, so its own Python frames stand still; but the lock may be released, and then all
// else moves. So: which thread state is ours is asked with two functions that need no lock, and believed only when it
// carries this thread's id; and memory is read by the kernel, which answers an error where a load would be a crash.
//
// The interpreter's symbols are found in the symbol tables of what is loaded, and not by dlsym: it waits for the
// loader's lock, which a thread may hold while it waits for Python.
#define _GNU_SOURCE
#include "stack_python.h"

#include "base/table.h"
#include "contents.h"
#include "dso.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- symbols

enum symbol { RUNTIME, VERSION, GET_VERSION, OF_THREAD, CURRENT, CURRENT_OLD, CODE, TEXT, BYTES, SYMBOLS };

static const char *const names[SYMBOLS] = {
    [RUNTIME] = "_PyRuntime",
    [VERSION] = "Py_Version",        // 3.11 and newer
    [GET_VERSION] = "Py_GetVersion", // formats constants: needs no lock
    [OF_THREAD] = "PyGILState_GetThisThreadState",
    [CURRENT] = "PyThreadState_GetUnchecked", // 3.13 and newer
    [CURRENT_OLD] = "_PyThreadState_UncheckedGet",
    [CODE] = "PyCode_Type",
    [TEXT] = "PyUnicode_Type",
    [BYTES] = "PyBytes_Type",
};

struct found {
    uintptr_t at[SYMBOLS];
    uint32_t hash[SYMBOLS];
    unsigned long long adds; // objects that were ever loaded
};

// The hash of GNU_HASH sections ("GNU Hash ELF Sections", A. Roenky's description; the loader's own function).
static uint32_t hash_of(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++) hash = hash * 33 + (uint8_t)*name;
    return hash;
}

struct dynamic {
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *hash;
};

static const void *loaded_at(const struct dl_phdr_info *info, ElfW(Addr) address)
{
    // glibc has already relocated these addresses, except in the vDSO.
    return (const void *)(address < info->dlpi_addr ? address + info->dlpi_addr : address);
}

static bool open_dynamic(const struct dl_phdr_info *info, struct dynamic *out)
{
    *out = (struct dynamic){0};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
        const ElfW(Dyn) *d = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        for (; d->d_tag != DT_NULL; d++) {
            if (d->d_tag == DT_SYMTAB) out->symbols = loaded_at(info, d->d_un.d_ptr);
            if (d->d_tag == DT_STRTAB) out->strings = loaded_at(info, d->d_un.d_ptr);
            if (d->d_tag == DT_GNU_HASH) out->hash = loaded_at(info, d->d_un.d_ptr);
        }
    }
    return out->symbols && out->strings && out->hash;
}

// The table: four numbers, a Bloom filter, the buckets, and for each symbol its hash, whose bit 0 ends a chain.
static const ElfW(Sym) * look_up(const struct dynamic *in, const char *name, uint32_t hash)
{
    enum { BITS = sizeof(ElfW(Addr)) * 8 };
    uint32_t buckets = in->hash[0], first = in->hash[1], words = in->hash[2], shift = in->hash[3];
    const ElfW(Addr) *filter = (const void *)(in->hash + 4);
    const uint32_t *bucket = (const uint32_t *)(filter + words), *chain = bucket + buckets;
    if (!buckets || !words) return NULL;
    ElfW(Addr) word = filter[hash / BITS % words];
    if (!(word >> hash % BITS & word >> (hash >> shift) % BITS & 1)) return NULL;
    for (uint32_t i = bucket[hash % buckets]; i >= first && i; i++) {
        const ElfW(Sym) *symbol = &in->symbols[i];
        if ((chain[i - first] | 1) == (hash | 1) && !strcmp(in->strings + symbol->st_name, name)) return symbol;
        if (chain[i - first] & 1) break;
    }
    return NULL;
}

// The first definition counts, as for the loader: a program may hold its own copy of a library's data.
static int visit(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    struct found *found = data;
    struct dynamic dynamic;
    found->adds = info->dlpi_adds;
    if (!open_dynamic(info, &dynamic)) return 0;
    for (int i = 0; i < SYMBOLS; i++) {
        const ElfW(Sym) *symbol = found->at[i] ? NULL : look_up(&dynamic, names[i], found->hash[i]);
        if (symbol && symbol->st_shndx != SHN_UNDEF && symbol->st_value)
            found->at[i] = info->dlpi_addr + symbol->st_value;
    }
    return 0;
}

static int only_count(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    *(unsigned long long *)data = info->dlpi_adds;
    return 1;
}

// ---- memory: whole pages, each read once a stack

enum { PAGE = 4096, SETS = 16, WAYS = 4 };

static struct {
    uint64_t page[SETS][WAYS]; // address; 0: nothing there
    uint8_t next[SETS];        // which one to give up
    int pipe[2];               // open when the kernel forbids the other way
    bool piped;
    uint8_t data[SETS][WAYS][PAGE];
} pages;

// Some sandboxes forbid process_vm_readv. What is written to a pipe is read by the kernel as well.
static bool read_by_pipe(uint64_t address, uint8_t *out)
{
    if (!pages.piped && pipe2(pages.pipe, O_CLOEXEC | O_NONBLOCK)) return false;
    pages.piped = true;
    if (write(pages.pipe[1], (const void *)(uintptr_t)address, PAGE) != PAGE) return false;
    return read(pages.pipe[0], out, PAGE) == PAGE;
}

static const uint8_t *page_at(uint64_t address)
{
    size_t set = nk_hash_u64(address) % SETS;
    for (size_t way = 0; way < WAYS; way++)
        if (pages.page[set][way] == address) return pages.data[set][way];
    size_t way = pages.next[set]++ % WAYS;
    uint8_t *to = pages.data[set][way];
    pages.page[set][way] = 0;
    errno = 0;
    if (pages.piped || nk_memory_read((const void *)(uintptr_t)address, to, PAGE) != PAGE) {
        if (!pages.piped && errno != EPERM && errno != ENOSYS) return NULL;
        if (!read_by_pipe(address, to)) return NULL;
    }
    pages.page[set][way] = address;
    return to;
}

static bool read_memory(void *self, uint64_t address, void *out, size_t size)
{
    (void)self;
    for (uint8_t *to = out; size;) {
        size_t in = address % PAGE, part = PAGE - in < size ? PAGE - in : size;
        const uint8_t *page = address >= PAGE ? page_at(address - in) : NULL;
        if (!page) return false;
        memcpy(to, page + in, part);
        to += part, address += part, size -= part;
    }
    return true;
}

static void forget_pages(void)
{
    memset(pages.page, 0, sizeof pages.page);
    if (pages.piped) close(pages.pipe[0]), close(pages.pipe[1]);
    pages.piped = false;
}

// ---- the interpreter

static struct {
    bool ready;
    unsigned long long adds; // so many objects had been loaded when it was looked for in vain
    struct nk_python python;
    uint64_t runtime;
    uintptr_t of_thread, current, base; // base: of the object that holds of_thread
} here;

typedef void *(*thread_fn)(void);
typedef const char *(*text_fn)(void);

// PY_VERSION_HEX; of versions before 3.11, which do not tell it, with the marks of a final release.
static uint32_t version_of(const struct found *found)
{
    unsigned long version = 0;
    if (found->at[VERSION]) {
        if (!read_memory(NULL, found->at[VERSION], &version, sizeof version)) return 0;
    } else if (found->at[GET_VERSION]) {
        const char *text = ((text_fn)found->at[GET_VERSION])();
        char *end = NULL;
        unsigned long major = strtoul(text, &end, 10), minor = *end == '.' ? strtoul(end + 1, &end, 10) : 0;
        unsigned long patch = *end == '.' ? strtoul(end + 1, &end, 10) : 0;
        if (*end == ' ') version = (major & 255) << 24 | (minor & 255) << 16 | (patch & 255) << 8 | 0xf0;
    }
    return (uint32_t)version;
}

static bool take(const struct found *found)
{
    uint8_t table[NK_PYTHON_TABLE_SIZE];
    struct nk_dso dso;
    for (int i = 0; i < SYMBOLS; i++)
        if (!found->at[i] && (i == RUNTIME || i == OF_THREAD || i >= CODE)) return false;
    bool whole = read_memory(NULL, found->at[RUNTIME], table, sizeof table);
    if (!nk_python_layout(&here.python.layout, version_of(found), whole ? table : NULL)) return false;
    if (!nk_dso_find((const void *)found->at[OF_THREAD], &dso)) return false;
    here.python.code_type = found->at[CODE];
    here.python.text_type = found->at[TEXT];
    here.python.bytes_type = found->at[BYTES];
    here.runtime = found->at[RUNTIME];
    here.of_thread = found->at[OF_THREAD];
    here.current = found->at[CURRENT] ? found->at[CURRENT] : found->at[CURRENT_OLD];
    here.base = dso.base;
    return true;
}

// An embedded interpreter may come late, and may go: it is looked for again only when something was loaded since.
static bool ready(void)
{
    struct nk_dso dso;
    unsigned long long adds = 0;
    if (here.ready && nk_dso_find((const void *)here.of_thread, &dso) && dso.base == here.base) return true;
    here.ready = false;
    dl_iterate_phdr(only_count, &adds);
    if (adds == here.adds) return false;
    struct found found = {0};
    for (int i = 0; i < SYMBOLS; i++) found.hash[i] = hash_of(names[i]);
    dl_iterate_phdr(visit, &found);
    here.adds = found.adds;
    return here.ready = take(&found);
}

// ---- the stack

// The thread state of this thread, or 0.
static uint64_t my_thread(const struct nk_python_memory *memory)
{
    uint64_t me = (uint64_t)pthread_self();
    // With the lock held this is the one in use. Before 3.12 it is another thread's when the lock is released.
    uint64_t thread = here.current ? (uintptr_t)((thread_fn)here.current)() : 0;
    if (thread && nk_python_is_of(&here.python, memory, thread, me)) return thread;
    // Before 3.12 this is the thread's first one, which is not the one in use in an interpreter inside another one.
    thread = (uintptr_t)((thread_fn)here.of_thread)();
    if (!thread || !nk_python_is_of(&here.python, memory, thread, me)) return 0;
    return nk_python_threads(&here.python, memory, here.runtime, me) < 2 ? thread : 0;
}

size_t nk_python_stack(nk_python_frame_fn frame, void *self)
{
    const struct nk_python_memory memory = {read_memory, NULL};
    uint64_t thread = ready() ? my_thread(&memory) : 0;
    size_t count = thread ? nk_python_walk(&here.python, &memory, thread, frame, self) : 0;
    forget_pages();
    return count;
}
