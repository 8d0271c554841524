// slots.c - the private load table of CUDA 11 runtimes.
//
// Runtimes up to 11.8 load their fat binaries through slots 1, 6 and 8 of an undocumented table; no public function of
// the driver is called. Name and layout of the table: the ZLUDA project's public source; that 11.2, 11.7 and 11.8 use
// slot 6 with (CUmodule *, wrapper, ...) and that a patch in place is accepted: measured with the unmodified runtimes
// on the simulated driver. On a real driver this has not been run (tests/gpu). NOKERNEL_PRIVATE_SLOTS=off leaves the
// table alone; runtimes from 12.0 on do not load through it.
#define _GNU_SOURCE
#include "slots.h"

#include "core.h"
#include "entries.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef CUresult (*load_fn)(void *a, void *b, void *c, void *d, void *e, void *f);

static const unsigned char cudart_interface[16] = {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                                                   0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9};
enum { SLOT_LOAD = 1, SLOT_LOAD_EX = 6, SLOT_LOAD_HEADER = 8, SLOT_LAST = SLOT_LOAD_HEADER };
static _Atomic load_fn real_slot[SLOT_LAST + 1];

static CUresult load(int slot, void *a, void *b, void *c, void *d, void *e, void *f, const void *caller)
{
    // Slot 8 takes (header, CUmodule *, ...), the others (CUmodule *, wrapper, ...).
    void **module = slot == SLOT_LOAD_HEADER ? b : a;
    const void *code = slot == SLOT_LOAD_HEADER ? a : b;
    CUresult r = real_slot[slot](a, b, c, d, e, f);
    nk_record_load(NK_cuGetExportTable, NK_ORIGIN_PRIVATE, module && r == NK_CUDA_SUCCESS ? *module : NULL, code, NULL,
                   r, caller);
    return r;
}

static CUresult load_1(void *a, void *b, void *c, void *d, void *e, void *f)
{
    return load(SLOT_LOAD, a, b, c, d, e, f, __builtin_return_address(0));
}
static CUresult load_6(void *a, void *b, void *c, void *d, void *e, void *f)
{
    return load(SLOT_LOAD_EX, a, b, c, d, e, f, __builtin_return_address(0));
}
static CUresult load_8(void *a, void *b, void *c, void *d, void *e, void *f)
{
    return load(SLOT_LOAD_HEADER, a, b, c, d, e, f, __builtin_return_address(0));
}

static void patch(load_fn *table, int slot, load_fn ours)
{
    if (!table[slot] || table[slot] == ours) return;
    real_slot[slot] = table[slot];
    __atomic_store_n(&table[slot], ours, __ATOMIC_RELEASE);
}

// The table may lie in read-only memory. Its pages stay writable afterwards: what their protection was cannot be asked.
static int make_writable(void *from, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t start = (uintptr_t)from & ~(page - 1), end = ((uintptr_t)from + size + page - 1) & ~(page - 1);
    return mprotect((void *)start, end - start, PROT_READ | PROT_WRITE);
}

void nk_slots_watch(const void *table, const CUuuid *id)
{
    int saved;
    size_t bytes; // slot 0 holds the size of the table
    if (memcmp(id->bytes, cudart_interface, sizeof cudart_interface) || !nk_enter_quietly(&saved)) return;
    bool wanted = !strcmp(nk_core.settings.slots, "on");
    nk_leave(saved);
    memcpy(&bytes, table, sizeof bytes);
    size_t need = (SLOT_LAST + 1) * sizeof(void *);
    if (!wanted || bytes < need || bytes > 4096) return;
    load_fn *slots = (load_fn *)(uintptr_t)table;
    if (slots[SLOT_LOAD_EX] == load_6 || make_writable(slots, need)) return;
    patch(slots, SLOT_LOAD, load_1);
    patch(slots, SLOT_LOAD_EX, load_6);
    patch(slots, SLOT_LOAD_HEADER, load_8);
}
