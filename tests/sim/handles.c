// handles.c - objects behind handles: slots of one size in one region that stays mapped.
//
// Because the region never goes away, a handle can be tested without a table and without following it: it must point at
// the start of a slot of the region, and the slot must say that an object of that kind lives there.
#include "sim.h"

#include <string.h>
#include <sys/mman.h>

enum { SLOT = 256, SLOTS = 1 << 21 }; // 512 MiB of addresses; only what is used costs memory

static char *region;
static size_t used;
static struct free_slot {
    _Atomic uint32_t kind;
    struct free_slot *next;
} * free_slots;

pthread_mutex_t sim_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

void *sim_new(enum sim_kind kind)
{
    void *slot = NULL;
    pthread_mutex_lock(&sim_lock);
    if (!region) {
        region = mmap(NULL, (size_t)SLOT * SLOTS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                      -1, 0);
        if (region == MAP_FAILED) region = NULL;
    }
    if (free_slots) {
        slot = free_slots;
        free_slots = free_slots->next;
    } else if (region && used < SLOTS) {
        slot = region + SLOT * used++;
    }
    if (slot) {
        memset(slot, 0, SLOT);
        atomic_store((_Atomic uint32_t *)slot, (uint32_t)kind);
    }
    pthread_mutex_unlock(&sim_lock);
    return slot;
}

void sim_delete(void *object)
{
    struct free_slot *slot = object;
    pthread_mutex_lock(&sim_lock);
    atomic_store(&slot->kind, K_NONE);
    slot->next = free_slots;
    free_slots = slot;
    pthread_mutex_unlock(&sim_lock);
}

enum sim_kind sim_kind_of(const void *handle)
{
    uintptr_t offset = (uintptr_t)handle - (uintptr_t)region;
    if (!region || offset >= (size_t)SLOT * SLOTS || offset % SLOT != 0) return K_NONE;
    return (enum sim_kind)atomic_load_explicit((const _Atomic uint32_t *)handle, memory_order_acquire);
}

bool sim_is(const void *handle, enum sim_kind kind) { return sim_kind_of(handle) == kind; }
