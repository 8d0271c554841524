// memory_virtual.c - reserving addresses and mapping memory there, and memory pools.
#include "sim.h"

#include <string.h>
#include <sys/mman.h>

enum { GRANULARITY = 2 << 20, DEVICE_LOCATION = 1 };

struct location { // CUmemLocation
    int type, id;
};
struct properties { // CUmemAllocationProp
    int type, handle_types;
    struct location location;
    void *unused;
    unsigned char flags[8];
};
static_assert(sizeof(struct properties) == 32, "as in cuda.h");

struct sim_block { // what a CUmemGenericAllocationHandle stands for
    _Atomic uint32_t kind;
    struct properties properties;
    size_t size;
    struct sim_device *device;
    int handles, mappings;
};

static struct sim_block *block_of(uint64_t handle)
{
    void *block = (void *)(uintptr_t)handle;
    return sim_is(block, K_MEMORY) ? block : NULL;
}

// The memory goes when nobody has a handle and nothing is mapped.
static void let_go(struct sim_block *block)
{
    if (block->handles > 0 || block->mappings > 0) return;
    block->device->used -= block->size;
    sim_delete(block);
}

API(cuMemGetAllocationGranularity, size_t *, size, const struct properties *, properties, int, option)
{
    (void)option;
    if (!size || !properties) return BAD_VALUE;
    *size = GRANULARITY;
    return OK;
}

API(cuMemAddressReserve, CUdeviceptr *, out, size_t, size, size_t, alignment, CUdeviceptr, wish, unsigned long long,
    flags)
{
    if (!out || size == 0 || size % GRANULARITY || flags != 0) return BAD_VALUE;
    size_t align = alignment > GRANULARITY ? alignment : GRANULARITY;
    char *memory = mmap((void *)wish, size + align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return NO_MEMORY;
    size_t skip = (size_t)(-(uintptr_t)memory) & (align - 1);
    if (skip) munmap(memory, skip);
    if (align - skip) munmap(memory + skip + size, align - skip);
    *out = (CUdeviceptr)(memory + skip);
    return OK;
}

API(cuMemAddressFree, CUdeviceptr, address, size_t, size)
{
    struct sim_range range;
    if (!address || size % GRANULARITY) return BAD_VALUE;
    if (sim_memory_find(address, &range)) return BAD_VALUE; // still mapped
    return munmap((void *)address, size) == 0 ? OK : BAD_VALUE;
}

API(cuMemCreate, uint64_t *, handle, size_t, size, const struct properties *, properties, unsigned long long, flags)
{
    if (!handle || !properties || size == 0 || size % GRANULARITY || flags != 0) return BAD_VALUE;
    struct sim_device *device = sim_device(properties->location.type == DEVICE_LOCATION ? properties->location.id : 0);
    if (!device) return BAD_DEVICE;
    pthread_mutex_lock(&sim_lock);
    bool fits = size <= sim_set.memory - device->used;
    struct sim_block *block = fits ? sim_new(K_MEMORY) : NULL;
    if (block) {
        block->properties = *properties;
        block->size = size;
        block->device = device;
        block->handles = 1;
        device->used += size;
        *handle = (uint64_t)(uintptr_t)block;
    }
    pthread_mutex_unlock(&sim_lock);
    return block ? OK : NO_MEMORY;
}

API(cuMemRelease, uint64_t, handle)
{
    struct sim_block *block = block_of(handle);
    if (!block) return BAD_VALUE;
    pthread_mutex_lock(&sim_lock);
    block->handles--;
    let_go(block);
    pthread_mutex_unlock(&sim_lock);
    return OK;
}

// One block mapped at two places is two pieces of memory here: what is written at one is not seen at the other.
API(cuMemMap, CUdeviceptr, address, size_t, size, size_t, offset, uint64_t, handle, unsigned long long, flags)
{
    struct sim_block *block = block_of(handle);
    if (!block || !address || size == 0 || offset + size > block->size || flags != 0) return BAD_VALUE;
    void *memory = mmap((void *)address, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (memory == MAP_FAILED) return BAD_VALUE;
    struct sim_range range = {
        .start = address, .size = size, .type = M_VIRTUAL, .device = block->device, .pool = block};
    block->mappings++;
    return sim_memory_add(&range);
}

API(cuMemUnmap, CUdeviceptr, address, size_t, size)
{
    uintptr_t end = address + size;
    for (uintptr_t at = address; at < end;) {
        struct sim_range range;
        if (!sim_memory_find(at, &range) || range.type != M_VIRTUAL || range.start != at) return BAD_VALUE;
        pthread_mutex_lock(&sim_lock);
        sim_memory_drop(at);
        mmap((void *)at, range.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        struct sim_block *block = range.pool;
        block->mappings--;
        let_go(block);
        pthread_mutex_unlock(&sim_lock);
        at += range.size;
    }
    return OK;
}

API(cuMemSetAccess, CUdeviceptr, address, size_t, size, const void *, access, size_t, count)
{
    return access && count && sim_memory_has(address, size) ? OK : BAD_VALUE;
}

API(cuMemGetAccess, unsigned long long *, flags, const struct location *, location, CUdeviceptr, address)
{
    if (!flags || !location || !sim_memory_has(address, 1)) return BAD_VALUE;
    *flags = 3; // read and write
    return OK;
}

API(cuMemGetAllocationPropertiesFromHandle, struct properties *, out, uint64_t, handle)
{
    if (!out || !block_of(handle)) return BAD_VALUE;
    *out = block_of(handle)->properties;
    return OK;
}

API(cuMemRetainAllocationHandle, uint64_t *, handle, void *, address)
{
    struct sim_range range;
    if (!handle || !sim_memory_find((uintptr_t)address, &range) || range.type != M_VIRTUAL) return BAD_VALUE;
    struct sim_block *block = range.pool;
    block->handles++;
    *handle = (uint64_t)(uintptr_t)block;
    return OK;
}

// ---- pools
struct sim_pool {
    _Atomic uint32_t kind;
    struct sim_device *device;
    uint64_t attributes[16];
};

static struct sim_pool *new_pool(struct sim_device *device)
{
    struct sim_pool *pool = sim_new(K_POOL);
    if (!pool) return NULL;
    pool->device = device;
    for (int i = 1; i <= 3; i++) pool->attributes[i] = 1; // reuse is on
    return pool;
}

static struct sim_pool *default_pool(struct sim_device *device)
{
    pthread_mutex_lock(&sim_lock);
    if (!device->pool) device->pool = new_pool(device);
    if (!device->current_pool || !sim_is(device->current_pool, K_POOL)) device->current_pool = device->pool;
    pthread_mutex_unlock(&sim_lock);
    return device->pool;
}

API(cuDeviceGetDefaultMemPool, void **, pool, int, device)
{
    if (!pool) return BAD_VALUE;
    if (!sim_device(device)) return BAD_DEVICE;
    *pool = default_pool(sim_device(device));
    return OK;
}

API(cuDeviceGetMemPool, void **, pool, int, device)
{
    if (!pool) return BAD_VALUE;
    if (!sim_device(device)) return BAD_DEVICE;
    default_pool(sim_device(device));
    *pool = sim_device(device)->current_pool;
    return OK;
}

API(cuDeviceSetMemPool, int, device, void *, pool)
{
    if (!sim_device(device)) return BAD_DEVICE;
    if (!sim_is(pool, K_POOL)) return BAD_VALUE;
    sim_device(device)->current_pool = pool;
    return OK;
}

struct pool_properties { // CUmemPoolProps, as far as it is read
    int type, handle_types;
    struct location location;
};

API(cuMemPoolCreate, void **, pool, const struct pool_properties *, properties)
{
    if (!pool || !properties) return BAD_VALUE;
    struct sim_device *device = sim_device(properties->location.type == DEVICE_LOCATION ? properties->location.id : 0);
    if (!device) return BAD_DEVICE;
    *pool = new_pool(device);
    return *pool ? OK : NO_MEMORY;
}

API(cuMemPoolDestroy, void *, handle)
{
    struct sim_pool *pool = handle;
    if (!sim_is(pool, K_POOL) || pool->device->pool == pool) return BAD_VALUE;
    sim_delete(pool);
    return OK;
}

API(cuMemPoolTrimTo, void *, pool, size_t, bytes)
{
    (void)bytes;
    return sim_is(pool, K_POOL) ? OK : BAD_VALUE;
}

API(cuMemPoolSetAccess, void *, pool, const void *, access, size_t, count)
{
    (void)access, (void)count;
    return sim_is(pool, K_POOL) ? OK : BAD_VALUE;
}

API(cuMemPoolGetAccess, int *, flags, void *, pool, const struct location *, location)
{
    if (!flags || !location || !sim_is(pool, K_POOL)) return BAD_VALUE;
    *flags = 3;
    return OK;
}

// Attributes 1 to 3 are ints, the others 64-bit numbers; 5 and 6 tell what is reserved, 7 and 8 what is in use.
API(cuMemPoolGetAttribute, void *, handle, int, attribute, void *, value)
{
    struct sim_pool *pool = handle;
    if (!sim_is(pool, K_POOL) || !value || attribute < 1 || attribute > 12) return BAD_VALUE;
    uint64_t number = attribute >= 5 && attribute <= 8 ? pool->device->used : pool->attributes[attribute];
    memcpy(value, &number, attribute <= 3 ? sizeof(int) : sizeof number);
    return OK;
}

API(cuMemPoolSetAttribute, void *, handle, int, attribute, const void *, value)
{
    struct sim_pool *pool = handle;
    if (!sim_is(pool, K_POOL) || !value || attribute < 1 || attribute > 8) return BAD_VALUE;
    pool->attributes[attribute] = 0;
    memcpy(&pool->attributes[attribute], value, attribute <= 3 ? sizeof(int) : sizeof(uint64_t));
    return OK;
}

// Memory in the order of a stream: allowed in a capture, where it is handed out at once.
static int allocate(CUdeviceptr *out, size_t size, struct sim_pool *pool, CUstream stream_handle)
{
    NEED_CONTEXT(context);
    struct sim_stream *stream = sim_stream(stream_handle);
    if (!stream) return BAD_HANDLE;
    if (!out || size == 0 || (pool && !sim_is(pool, K_POOL))) return BAD_VALUE;
    uintptr_t start = 0;
    int result = sim_memory_new(pool ? pool->device->primary : context, size, M_ASYNC, &start);
    if (result != OK) return result;
    bool captured;
    *out = start;
    return sim_submit(stream, &(struct sim_work){.op = OP_ALLOC, .to = start, .size = size}, &captured);
}

API_PT(cuMemAllocAsync, _ptsz, CUdeviceptr *, out, size_t, size, CUstream, stream)
{
    return allocate(out, size, NULL, stream);
}
API_PT(cuMemAllocFromPoolAsync, _ptsz, CUdeviceptr *, out, size_t, size, void *, pool, CUstream, stream)
{
    return sim_is(pool, K_POOL) ? allocate(out, size, pool, stream) : BAD_VALUE;
}

API_PT(cuMemFreeAsync, _ptsz, CUdeviceptr, address, CUstream, stream_handle)
{
    NEED_CONTEXT(context);
    struct sim_stream *stream = sim_stream(stream_handle);
    if (!stream) return BAD_HANDLE;
    bool captured;
    int result = sim_submit(stream, &(struct sim_work){.op = OP_FREE, .to = address}, &captured);
    return result != OK || captured ? result : sim_memory_free(address, M_DEVICE);
}
