// pointer.c - what a pointer is: cuPointerGetAttribute and its relatives.
#include "sim.h"

#include <string.h>

enum { // CUpointer_attribute
    P_CONTEXT = 1,
    P_MEMORY_TYPE,
    P_DEVICE_POINTER,
    P_HOST_POINTER,
    P_TOKENS,
    P_SYNC_MEMOPS,
    P_BUFFER_ID,
    P_IS_MANAGED,
    P_DEVICE_ORDINAL,
    P_IPC_CAPABLE,
    P_RANGE_START,
    P_RANGE_SIZE,
    P_MAPPED,
    P_HANDLE_TYPES,
    P_RDMA_CAPABLE,
    P_ACCESS_FLAGS,
    P_POOL,
    P_MAPPING_SIZE,
    P_MAPPING_BASE,
    P_BLOCK_ID,
    P_LAST,
};

static bool is_host(const struct sim_range *range) { return range->type == M_HOST || range->type == M_REGISTERED; }

// The value of an attribute and how many bytes of it are handed out; 0 bytes: there is none.
static size_t value_of(const struct sim_range *range, int attribute, uintptr_t address, uint64_t *value)
{
    bool host = is_host(range);
    *value = 0;
    switch (attribute) {
    case P_CONTEXT:
        *value = (uintptr_t)range->context;
        return range->context ? 8 : 0;
    case P_MEMORY_TYPE:
        *value = host ? 1 : 2;
        return 4;
    case P_DEVICE_POINTER:
        *value = address;
        return 8;
    case P_HOST_POINTER:
        *value = address;
        return host || range->type == M_MANAGED ? 8 : 0;
    case P_SYNC_MEMOPS:
        return 4;
    case P_BUFFER_ID:
    case P_BLOCK_ID:
        *value = range->id;
        return 8;
    case P_IS_MANAGED:
        *value = range->type == M_MANAGED;
        return 4;
    case P_DEVICE_ORDINAL:
        *value = (uint64_t)range->device->ordinal;
        return 4;
    case P_IPC_CAPABLE:
        *value = range->type == M_DEVICE;
        return 4;
    case P_RANGE_START:
    case P_MAPPING_BASE:
        *value = range->start;
        return 8;
    case P_RANGE_SIZE:
    case P_MAPPING_SIZE:
        *value = range->size;
        return 8;
    case P_MAPPED:
        *value = 1;
        return 4;
    case P_HANDLE_TYPES:
        return 8;
    case P_RDMA_CAPABLE:
        return 4;
    case P_ACCESS_FLAGS:
        *value = 3;
        return 4;
    case P_POOL:
        *value = (uintptr_t)(range->type == M_ASYNC ? range->device->pool : NULL);
        return 8;
    default:
        return 0;
    }
}

API(cuPointerGetAttribute, void *, out, int, attribute, CUdeviceptr, address)
{
    struct sim_range range;
    uint64_t value;
    if (!out || attribute < 1 || attribute >= P_LAST) return BAD_VALUE;
    if (!sim_memory_find(address, &range)) return BAD_VALUE;
    size_t size = value_of(&range, attribute, address, &value);
    memcpy(out, &value, size);
    return size ? OK : BAD_VALUE;
}

// Unlike its relative it is content with any pointer: what there is nothing to say of is zero. Neither needs a current
// context: PyTorch asks from threads that have none (its pin_memory thread).
API(cuPointerGetAttributes, unsigned, count, const int *, attributes, void **, out, CUdeviceptr, address)
{
    static const unsigned char sizes[P_LAST] = {
        [P_MEMORY_TYPE] = 4, [P_SYNC_MEMOPS] = 4, [P_IS_MANAGED] = 4,   [P_DEVICE_ORDINAL] = 4,
        [P_IPC_CAPABLE] = 4, [P_MAPPED] = 4,      [P_RDMA_CAPABLE] = 4, [P_ACCESS_FLAGS] = 4};
    struct sim_range range;
    if (!attributes || !out || count == 0) return BAD_VALUE;
    bool known = sim_memory_find(address, &range);
    for (unsigned i = 0; i < count; i++) {
        uint64_t value = 0;
        if (attributes[i] < 1 || attributes[i] >= P_LAST) return BAD_VALUE;
        if (known) value_of(&range, attributes[i], address, &value);
        if (!known && attributes[i] == P_DEVICE_ORDINAL) value = (uint64_t)-2; // no device
        memcpy(out[i], &value, sizes[attributes[i]] ? sizes[attributes[i]] : 8);
    }
    return OK;
}

API(cuPointerSetAttribute, const void *, value, int, attribute, CUdeviceptr, address)
{
    return value && attribute == P_SYNC_MEMOPS && sim_memory_has(address, 1) ? OK : BAD_VALUE;
}
