// memory.c - allocations: device, host, managed. All are ordinary memory, so that copies are memcpy; the table says
// what is whose. New device memory is zero: kernels do not run, and programs read results back.
#include "sim.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static struct sim_range *table; // sorted by start
static size_t count, room;

unsigned long long sim_next_id(void)
{
    static _Atomic unsigned long long next = 1;
    return atomic_fetch_add(&next, 1);
}

// The last range that does not start above the address, or -1.
static long place(uintptr_t address)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (table[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return (long)low - 1;
}

static long containing(uintptr_t address)
{
    long at = place(address);
    return at >= 0 && address - table[at].start < table[at].size ? at : -1;
}

int sim_memory_add(const struct sim_range *range)
{
    pthread_mutex_lock(&sim_lock);
    int result = OK;
    if (count == room) {
        struct sim_range *more = realloc(table, (room * 2 + 64) * sizeof *table);
        if (more) table = more, room = room * 2 + 64;
    }
    if (count == room) {
        result = NO_MEMORY;
    } else {
        size_t at = (size_t)(place(range->start) + 1);
        memmove(table + at + 1, table + at, (count - at) * sizeof *table);
        table[at] = *range;
        table[at].id = sim_next_id();
        count++;
    }
    pthread_mutex_unlock(&sim_lock);
    return result;
}

bool sim_memory_find(uintptr_t address, struct sim_range *range)
{
    pthread_mutex_lock(&sim_lock);
    long at = containing(address);
    if (at >= 0) *range = table[at];
    pthread_mutex_unlock(&sim_lock);
    return at >= 0;
}

// Neighbours count as one: memory that is mapped piece by piece is used as a whole.
bool sim_memory_has(uintptr_t address, size_t size)
{
    pthread_mutex_lock(&sim_lock);
    long at = containing(address);
    while (at >= 0 && size > table[at].size - (address - table[at].start)) {
        size -= table[at].size - (address - table[at].start);
        address = table[at].start + table[at].size;
        at = containing(address);
    }
    pthread_mutex_unlock(&sim_lock);
    return at >= 0;
}

static void give_back(const struct sim_range *range)
{
    bool counted = range->type == M_DEVICE || range->type == M_MANAGED || range->type == M_ASYNC;
    if (counted) range->device->used -= range->size;
    if (range->mapped)
        munmap((void *)range->start, range->mapped);
    else if (range->type != M_REGISTERED && range->type != M_VIRTUAL)
        free((void *)range->start);
}

int sim_memory_drop(uintptr_t start)
{
    pthread_mutex_lock(&sim_lock);
    long at = place(start);
    int result = at >= 0 && table[at].start == start ? OK : BAD_VALUE;
    if (result == OK) {
        struct sim_range gone = table[at];
        memmove(table + at, table + at + 1, (count - (size_t)at - 1) * sizeof *table);
        count--;
        give_back(&gone);
    }
    pthread_mutex_unlock(&sim_lock);
    return result;
}

enum { BIG = 1 << 20, ALIGN = 512, BIG_ALIGN = 2 << 20 };

static void *take(size_t size, size_t *mapped)
{
    *mapped = 0;
    if (size < BIG) {
        size_t rounded = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
        void *memory = aligned_alloc(ALIGN, rounded);
        return memory ? memset(memory, 0, rounded) : NULL;
    }
    size_t whole = ((size + BIG_ALIGN - 1) & ~(size_t)(BIG_ALIGN - 1)) + BIG_ALIGN;
    char *memory = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    size_t skip = (size_t)(-(uintptr_t)memory) & (BIG_ALIGN - 1);
    if (skip) munmap(memory, skip);
    if (skip != BIG_ALIGN) munmap(memory + skip + whole - BIG_ALIGN, BIG_ALIGN - skip);
    *mapped = whole - BIG_ALIGN;
    return memory + skip;
}

int sim_memory_new(struct sim_context *context, size_t size, enum sim_memory type, uintptr_t *start)
{
    struct sim_device *device = context->device;
    bool counts = type != M_HOST;
    pthread_mutex_lock(&sim_lock);
    bool fits = !counts || size <= sim_set.memory - device->used;
    if (fits && counts) device->used += size;
    pthread_mutex_unlock(&sim_lock);
    if (!fits) return NO_MEMORY;
    struct sim_range range = {.size = size, .type = type, .context = context, .device = device};
    void *memory = take(size, &range.mapped);
    range.start = *start = (uintptr_t)memory;
    if (memory && sim_memory_add(&range) == OK) return OK;
    if (memory) give_back(&range);
    return NO_MEMORY;
}

int sim_memory_free(uintptr_t start, enum sim_memory type)
{
    struct sim_range range;
    if (!sim_memory_find(start, &range) || range.start != start) return BAD_VALUE;
    bool is_host = range.type == M_HOST;
    return is_host == (type == M_HOST) && range.type != M_REGISTERED && range.type != M_VIRTUAL ? sim_memory_drop(start)
                                                                                                : BAD_VALUE;
}

void sim_memory_clear(struct sim_context *context)
{
    pthread_mutex_lock(&sim_lock);
    for (size_t i = count; i-- > 0;)
        if (table[i].context == context) sim_memory_drop(table[i].start);
    pthread_mutex_unlock(&sim_lock);
}

// ---- the driver's functions
API(cuMemGetInfo_v2, size_t *, unused, size_t *, total)
{
    NEED_CONTEXT(context);
    if (total) *total = sim_set.memory;
    if (unused) *unused = sim_set.memory - context->device->used;
    return OK;
}

static int allocate(CUdeviceptr *out, size_t size, enum sim_memory type)
{
    NEED_CONTEXT(context);
    if (!out || size == 0) return BAD_VALUE;
    int result = sim_capture_unsafe();
    uintptr_t start = 0;
    if (result == OK) result = sim_memory_new(context, size, type, &start);
    if (result == OK) *out = start;
    return result;
}

API(cuMemAlloc_v2, CUdeviceptr *, out, size_t, size) { return allocate(out, size, M_DEVICE); }
API(cuMemAllocManaged, CUdeviceptr *, out, size_t, size, unsigned, flags)
{
    return flags == 1 || flags == 2 ? allocate(out, size, M_MANAGED) : BAD_VALUE;
}

API(cuMemAllocPitch_v2, CUdeviceptr *, out, size_t *, pitch, size_t, width, size_t, height, unsigned, element)
{
    (void)element;
    if (!pitch || width == 0 || height == 0) return BAD_VALUE;
    *pitch = (width + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    return allocate(out, *pitch * height, M_DEVICE);
}

// Freeing waits for the GPU, so an error of earlier work shows here too.
API(cuMemFree_v2, CUdeviceptr, address)
{
    NEED_CONTEXT(context);
    if (address == 0) return OK;
    int result = sim_capture_unsafe();
    if (result == OK) result = sim_context_sync(context);
    return result ? result : sim_memory_free(address, M_DEVICE);
}

API(cuMemGetAddressRange_v2, CUdeviceptr *, base, size_t *, size, CUdeviceptr, address)
{
    NEED_CONTEXT(context);
    struct sim_range range;
    if (!sim_memory_find(address, &range)) return NOT_FOUND;
    if (base) *base = range.start;
    if (size) *size = range.size;
    return OK;
}

static int allocate_host(void **out, size_t size)
{
    NEED_CONTEXT(context);
    if (!out) return BAD_VALUE;
    int result = sim_capture_unsafe();
    uintptr_t start = 0;
    if (result == OK) result = sim_memory_new(context, size ? size : 1, M_HOST, &start);
    if (result == OK) *out = (void *)start;
    return result;
}

API(cuMemAllocHost_v2, void **, out, size_t, size) { return allocate_host(out, size); }
API(cuMemHostAlloc, void **, out, size_t, size, unsigned, flags)
{
    (void)flags;
    return allocate_host(out, size);
}

API(cuMemFreeHost, void *, pointer)
{
    NEED_CONTEXT(context);
    return pointer ? sim_memory_free((uintptr_t)pointer, M_HOST) : OK;
}

API(cuMemHostGetDevicePointer_v2, CUdeviceptr *, out, void *, pointer, unsigned, flags)
{
    NEED_CONTEXT(context);
    struct sim_range range;
    if (!out || flags != 0) return BAD_VALUE;
    if (!sim_memory_find((uintptr_t)pointer, &range)) return BAD_VALUE;
    *out = (CUdeviceptr)pointer;
    return OK;
}

API(cuMemHostGetFlags, unsigned *, flags, void *, pointer)
{
    NEED_CONTEXT(context);
    struct sim_range range;
    if (!flags || !sim_memory_find((uintptr_t)pointer, &range)) return BAD_VALUE;
    *flags = 2; // mapped
    return OK;
}

API(cuMemHostRegister_v2, void *, pointer, size_t, size, unsigned, flags)
{
    NEED_CONTEXT(context);
    struct sim_range range;
    if (!pointer || size == 0) return BAD_VALUE;
    if (sim_memory_find((uintptr_t)pointer, &range)) return HOST_ALREADY;
    range = (struct sim_range){.start = (uintptr_t)pointer,
                               .size = size,
                               .type = M_REGISTERED,
                               .context = context,
                               .device = context->device,
                               .flags = flags};
    return sim_memory_add(&range);
}
API_ALSO(cuMemHostRegister, cuMemHostRegister_v2, void *, pointer, size_t, size, unsigned, flags)

API(cuMemHostUnregister, void *, pointer)
{
    NEED_CONTEXT(context);
    struct sim_range range;
    if (!sim_memory_find((uintptr_t)pointer, &range) || range.type != M_REGISTERED) return HOST_MISSING;
    return sim_memory_drop(range.start);
}
