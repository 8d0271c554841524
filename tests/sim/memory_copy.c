// memory_copy.c - copies and fills. All addresses are ordinary ones; those that should be the GPU's must lie in a range
// that memory.c knows, so that a wrong pointer is an error and not a crash.
#include "sim.h"

#include <string.h>

void sim_work_run(const struct sim_work *work)
{
    if (work->op == OP_MEMCPY) memmove((void *)work->to, (const void *)work->from, work->size);
    // In one piece, as a GPU writes a word: programs read it at any time.
    if (work->op == OP_WRITE && work->size == 4)
        __atomic_store_n((uint32_t *)work->to, (uint32_t)work->from, __ATOMIC_RELEASE);
    if (work->op == OP_WRITE && work->size == 8) __atomic_store_n((uint64_t *)work->to, work->from, __ATOMIC_RELEASE);
    if (work->op == OP_HOST) ((void (*)(void *))(uintptr_t)work->function)(work->data);
    if (work->op != OP_MEMSET) return;
    if (work->width == 1) memset((void *)work->to, (int)work->value, work->size);
    for (size_t i = 0; work->width > 1 && i < work->size; i++)
        memcpy((char *)work->to + i * work->width, &work->value, work->width);
}

enum side { HOST, GPU, EITHER };

// One piece of work in a stream. `waits`: the call returns only when it is done, so errors of earlier work show.
static int submit(CUstream handle, const struct sim_work *work, bool waits)
{
    NEED_CONTEXT(context);
    struct sim_stream *stream = sim_stream(handle);
    if (!stream) return BAD_HANDLE;
    bool captured;
    int result = waits && stream->capture ? sim_capture_refuse(stream) : sim_submit(stream, work, &captured);
    if (result != OK || captured) return result;
    if (waits) sim_stream_wait(context, stream);
    if (waits && (result = sim_stream_sync(stream)) != OK) return result;
    sim_stream_do(stream, work);
    return OK;
}

static int copy(uintptr_t to, enum side to_side, uintptr_t from, enum side from_side, size_t size, CUstream handle,
                bool waits)
{
    if (size == 0) return OK;
    if ((to_side == GPU && !sim_memory_has(to, size)) || (from_side == GPU && !sim_memory_has(from, size)))
        return BAD_VALUE;
    if (!to || !from) return BAD_VALUE;
    struct sim_work work = {.op = OP_MEMCPY, .to = to, .from = from, .size = size};
    return submit(handle, &work, waits);
}

API_PT(cuMemcpyHtoD_v2, _ptds, CUdeviceptr, to, const void *, from, size_t, size)
{
    return copy(to, GPU, (uintptr_t)from, HOST, size, NULL, true);
}
API_PT(cuMemcpyDtoH_v2, _ptds, void *, to, CUdeviceptr, from, size_t, size)
{
    return copy((uintptr_t)to, HOST, from, GPU, size, NULL, true);
}
API_PT(cuMemcpyDtoD_v2, _ptds, CUdeviceptr, to, CUdeviceptr, from, size_t, size)
{
    return copy(to, GPU, from, GPU, size, NULL, true);
}
API_PT(cuMemcpy, _ptds, CUdeviceptr, to, CUdeviceptr, from, size_t, size)
{
    return copy(to, EITHER, from, EITHER, size, NULL, true);
}
API_PT(cuMemcpyPeer, _ptds, CUdeviceptr, to, CUcontext, to_context, CUdeviceptr, from, CUcontext, from_context, size_t,
       size)
{
    (void)to_context, (void)from_context;
    return copy(to, GPU, from, GPU, size, NULL, true);
}
API_PT(cuMemcpyHtoDAsync_v2, _ptsz, CUdeviceptr, to, const void *, from, size_t, size, CUstream, stream)
{
    return copy(to, GPU, (uintptr_t)from, HOST, size, stream, false);
}
API_PT(cuMemcpyDtoHAsync_v2, _ptsz, void *, to, CUdeviceptr, from, size_t, size, CUstream, stream)
{
    return copy((uintptr_t)to, HOST, from, GPU, size, stream, false);
}
API_PT(cuMemcpyDtoDAsync_v2, _ptsz, CUdeviceptr, to, CUdeviceptr, from, size_t, size, CUstream, stream)
{
    return copy(to, GPU, from, GPU, size, stream, false);
}
API_PT(cuMemcpyAsync, _ptsz, CUdeviceptr, to, CUdeviceptr, from, size_t, size, CUstream, stream)
{
    return copy(to, EITHER, from, EITHER, size, stream, false);
}
API_PT(cuMemcpyPeerAsync, _ptsz, CUdeviceptr, to, CUcontext, to_context, CUdeviceptr, from, CUcontext, from_context,
       size_t, size, CUstream, stream)
{
    (void)to_context, (void)from_context;
    return copy(to, GPU, from, GPU, size, stream, false);
}
API_PT(cuMemcpyBatchAsync, _ptsz, CUdeviceptr *, to, CUdeviceptr *, from, size_t *, sizes, size_t, count, void *,
       attributes, size_t *, indices, size_t, attribute_count, size_t *, failed, CUstream, stream)
{
    (void)attributes, (void)indices, (void)attribute_count;
    for (size_t i = 0; i < count; i++) {
        int result = copy(to[i], EITHER, from[i], EITHER, sizes[i], stream, false);
        if (failed) *failed = i;
        if (result) return result;
    }
    return OK;
}
API_PT(cuMemcpyBatchAsync_v2, _ptsz, CUdeviceptr *, to, CUdeviceptr *, from, size_t *, sizes, size_t, count, void *,
       attributes, size_t *, indices, size_t, attribute_count, CUstream, stream)
{
    return do_cuMemcpyBatchAsync(to, from, sizes, count, attributes, indices, attribute_count, NULL, stream);
}

// CUDA_MEMCPY2D and the two sides of CUDA_MEMCPY3D; types: 1 host, 2 device, 3 array, 4 unified.
struct copy2d {
    size_t from_x, from_y;
    unsigned from_type;
    const void *from_host;
    CUdeviceptr from_device;
    void *from_array;
    size_t from_pitch, to_x, to_y;
    unsigned to_type;
    void *to_host;
    CUdeviceptr to_device;
    void *to_array;
    size_t to_pitch, width, height;
};
struct copy3d {
    size_t from_x, from_y, from_z, from_lod;
    unsigned from_type;
    const void *from_host;
    CUdeviceptr from_device;
    void *from_array, *from_context;
    size_t from_pitch, from_height, to_x, to_y, to_z, to_lod;
    unsigned to_type;
    void *to_host;
    CUdeviceptr to_device;
    void *to_array, *to_context;
    size_t to_pitch, to_height, width, height, depth;
};
static_assert(sizeof(struct copy2d) == 128 && sizeof(struct copy3d) == 200, "as in cuda.h");

static int copy3(const struct copy3d *c, CUstream stream, bool waits)
{
    if (!c) return BAD_VALUE;
    if (c->from_type == 3 || c->to_type == 3) return NOT_SUPPORTED;
    uintptr_t from = c->from_type == 1 ? (uintptr_t)c->from_host : c->from_device;
    uintptr_t to = c->to_type == 1 ? (uintptr_t)c->to_host : c->to_device;
    size_t from_pitch = c->from_pitch ? c->from_pitch : c->width, to_pitch = c->to_pitch ? c->to_pitch : c->width;
    int result = OK;
    for (size_t z = 0; z < c->depth && result == OK; z++)
        for (size_t y = 0; y < c->height && result == OK; y++) {
            uintptr_t f = from + c->from_x + from_pitch * (c->from_y + y + c->from_height * (c->from_z + z));
            uintptr_t t = to + c->to_x + to_pitch * (c->to_y + y + c->to_height * (c->to_z + z));
            result =
                copy(t, c->to_type == 2 ? GPU : EITHER, f, c->from_type == 2 ? GPU : EITHER, c->width, stream, waits);
        }
    return result;
}

static int copy2(const struct copy2d *c, CUstream stream, bool waits)
{
    if (!c) return BAD_VALUE;
    struct copy3d full = {.from_x = c->from_x,
                          .from_y = c->from_y,
                          .from_type = c->from_type,
                          .from_host = c->from_host,
                          .from_device = c->from_device,
                          .from_pitch = c->from_pitch,
                          .to_x = c->to_x,
                          .to_y = c->to_y,
                          .to_type = c->to_type,
                          .to_host = c->to_host,
                          .to_device = c->to_device,
                          .to_pitch = c->to_pitch,
                          .width = c->width,
                          .height = c->height,
                          .depth = 1};
    return copy3(&full, stream, waits);
}

API_PT(cuMemcpy2D_v2, _ptds, const struct copy2d *, c) { return copy2(c, NULL, true); }
API_PT(cuMemcpy2DUnaligned_v2, _ptds, const struct copy2d *, c) { return copy2(c, NULL, true); }
API_PT(cuMemcpy3D_v2, _ptds, const struct copy3d *, c) { return copy3(c, NULL, true); }
API_PT(cuMemcpy3DPeer, _ptds, const struct copy3d *, c) { return copy3(c, NULL, true); }
API_PT(cuMemcpy2DAsync_v2, _ptsz, const struct copy2d *, c, CUstream, stream) { return copy2(c, stream, false); }
API_PT(cuMemcpy3DAsync_v2, _ptsz, const struct copy3d *, c, CUstream, stream) { return copy3(c, stream, false); }
API_PT(cuMemcpy3DPeerAsync, _ptsz, const struct copy3d *, c, CUstream, stream) { return copy3(c, stream, false); }

// A fill of device memory does not make the host wait.
static int fill(uintptr_t to, size_t pitch, unsigned value, unsigned width, size_t count, size_t height,
                CUstream stream)
{
    int result = OK;
    for (size_t y = 0; y < height && count > 0 && result == OK; y++) {
        struct sim_work work = {.op = OP_MEMSET, .to = to + y * pitch, .size = count, .value = value, .width = width};
        if (!sim_memory_has(work.to, count * width)) return BAD_VALUE;
        result = submit(stream, &work, false);
    }
    return result;
}

#define FILL(bits, type)                                                                                               \
    API_PT(cuMemsetD##bits##_v2, _ptds, CUdeviceptr, to, type, value, size_t, count)                                   \
    {                                                                                                                  \
        return fill(to, 0, value, bits / 8, count, 1, NULL);                                                           \
    }                                                                                                                  \
    API_PT(cuMemsetD##bits##Async, _ptsz, CUdeviceptr, to, type, value, size_t, count, CUstream, stream)               \
    {                                                                                                                  \
        return fill(to, 0, value, bits / 8, count, 1, stream);                                                         \
    }                                                                                                                  \
    API_PT(cuMemsetD2D##bits##_v2, _ptds, CUdeviceptr, to, size_t, pitch, type, value, size_t, width, size_t, height)  \
    {                                                                                                                  \
        return fill(to, pitch, value, bits / 8, width, height, NULL);                                                  \
    }                                                                                                                  \
    API_PT(cuMemsetD2D##bits##Async, _ptsz, CUdeviceptr, to, size_t, pitch, type, value, size_t, width, size_t,        \
           height, CUstream, stream)                                                                                   \
    {                                                                                                                  \
        return fill(to, pitch, value, bits / 8, width, height, stream);                                                \
    }
FILL(8, unsigned char)
FILL(16, unsigned short)
FILL(32, unsigned)

// Hints about managed memory: nothing moves here.
API_PT(cuMemPrefetchAsync, _ptsz, CUdeviceptr, address, size_t, size, int, device, CUstream, stream)
{
    NEED_CONTEXT(context);
    (void)device;
    return sim_memory_has(address, size) && sim_stream(stream) ? OK : BAD_VALUE;
}
API_PT(cuMemPrefetchAsync_v2, _ptsz, CUdeviceptr, address, size_t, size, uint64_t, location, unsigned, flags, CUstream,
       stream)
{
    NEED_CONTEXT(context);
    (void)location, (void)flags;
    return sim_memory_has(address, size) && sim_stream(stream) ? OK : BAD_VALUE;
}
API(cuMemAdvise, CUdeviceptr, address, size_t, size, int, advice, int, device)
{
    (void)advice, (void)device;
    return sim_memory_has(address, size) ? OK : BAD_VALUE;
}
API(cuMemAdvise_v2, CUdeviceptr, address, size_t, size, int, advice, uint64_t, location)
{
    (void)advice, (void)location;
    return sim_memory_has(address, size) ? OK : BAD_VALUE;
}
