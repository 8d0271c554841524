// link.c - cuLink*, tensor maps and other small things that libraries ask for. "Linking" hands back the first input.
#include "sim.h"
#include "module.h"

#include <stdlib.h>
#include <string.h>

struct sim_link {
    _Atomic uint32_t kind;
    void *code;
    size_t size;
};

API(cuLinkCreate_v2, unsigned, count, int *, options, void **, values, void **, out)
{
    NEED_CONTEXT(context);
    (void)count, (void)options, (void)values;
    if (!out) return BAD_VALUE;
    *out = sim_new(K_LINK);
    return *out ? OK : NO_MEMORY;
}
API_ALSO(cuLinkCreate, cuLinkCreate_v2, unsigned, count, int *, options, void **, values, void **, out)

// An input that does not fit the device is refused at once.
static int add(void *handle, const void *code, size_t size)
{
    NEED_CONTEXT(context);
    struct sim_link *link = handle;
    if (!sim_is(link, K_LINK)) return BAD_HANDLE;
    if (!code || size == 0) return BAD_VALUE;
    char *copy = malloc(size + 16);
    if (!copy) return NO_MEMORY;
    memset((char *)memcpy(copy, code, size) + size, 0, 16);
    struct sim_pick pick;
    sim_pick(copy, context->device, &pick);
    free(pick.owned);
    // Object files of several kinds may be linked; those that are no image are taken as they are.
    bool refused = pick.result != OK && pick.result != BAD_IMAGE;
    if (refused || link->code) {
        free(copy);
        return refused ? pick.result : OK;
    }
    link->code = copy;
    link->size = size;
    return OK;
}

API(cuLinkAddData_v2, void *, link, int, type, void *, data, size_t, size, const char *, name, unsigned, count, int *,
    options, void **, values)
{
    (void)type, (void)name, (void)count, (void)options, (void)values;
    return add(link, data, size);
}
API_ALSO(cuLinkAddData, cuLinkAddData_v2, void *, link, int, type, void *, data, size_t, size, const char *, name,
         unsigned, count, int *, options, void **, values)

API(cuLinkAddFile_v2, void *, link, int, type, const char *, path, unsigned, count, int *, options, void **, values)
{
    (void)type, (void)count, (void)options, (void)values;
    void *content;
    int result = sim_file_read(path, &content);
    if (result != OK) return result;
    size_t size = sim_code_size(content);
    result = size ? add(link, content, size) : sim_is(link, K_LINK) ? OK : BAD_HANDLE;
    free(content);
    return result;
}
API_ALSO(cuLinkAddFile, cuLinkAddFile_v2, void *, link, int, type, const char *, path, unsigned, count, int *, options,
         void **, values)

API(cuLinkComplete, void *, handle, void **, code, size_t *, size)
{
    struct sim_link *link = handle;
    if (!sim_is(link, K_LINK)) return BAD_HANDLE;
    if (!code || !link->code) return BAD_VALUE;
    *code = link->code;
    if (size) *size = link->size;
    return OK;
}

API(cuLinkDestroy, void *, handle)
{
    struct sim_link *link = handle;
    if (!sim_is(link, K_LINK)) return BAD_HANDLE;
    free(link->code);
    sim_delete(link);
    return OK;
}

// A tensor map is 128 opaque bytes that only kernels read.
API(cuTensorMapEncodeTiled, void *, map, int, type, unsigned, rank, void *, address, const uint64_t *, sizes,
    const uint64_t *, strides, const unsigned *, box, const unsigned *, steps, int, interleave, int, swizzle, int,
    promotion)
{
    (void)type, (void)address, (void)sizes, (void)strides, (void)box, (void)steps, (void)interleave, (void)swizzle,
        (void)promotion;
    if (!map || rank < 1 || rank > 5) return BAD_VALUE;
    memset(map, 0, 128);
    return OK;
}
