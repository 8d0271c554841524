// export_tables.c - the tables of private functions that NVIDIA's runtimes ask cuGetExportTable for, and the answer to
// their integrity check. Every undocumented fact that the simulated driver rests on is in this file.
//
// Why it exists: NVIDIA's own, unmodified runtimes (11.2 to 13.5) shall be test subjects on machines without a GPU, and
// they do not start without these answers. It is part of a test double, never installed, never shipped; the product
// does not need it and does not contain it.
//
// Where the facts come from. Nothing was disassembled.
//   - Names, numbers and meanings of the tables, the 16-byte key and the two constant answers were published in the
//     source of ZLUDA (github.com/vosen/ZLUDA, dark_api/src/lib.rs, MIT or Apache-2.0), which runs CUDA programs on
//     other makers' GPUs. No code was taken from there.
//   - Which slots are called with what, and which answers are accepted, was measured from outside: by logging the calls
//     of the runtimes named above and by changing the answers.
//   - The check is HMAC (RFC 2104, blocks of 16 bytes) over MD2 (RFC 1319): measured, and said nowhere else.
#include "module.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int (*slot)(void);
#define SLOT(function) ((slot)(void *)(function))

static int nothing(void) { return OK; }

// Slots that nobody was seen to call: each says in the log who it is. cuBLAS fails if one refuses.
static int unknown(const char *table, int number)
{
    sim_note("%s[%d] is called and not known", table, number);
    return OK;
}
#define UNKNOWN(table, n)                                                                                              \
    static int table##_##n(void) { return unknown(#table, n); }
#define UNKNOWN_TEN(table, ten)                                                                                        \
    UNKNOWN(table, ten##0)                                                                                             \
    UNKNOWN(table, ten##1)                                                                                             \
    UNKNOWN(table, ten##2)                                                                                             \
    UNKNOWN(table, ten##3)                                                                                             \
    UNKNOWN(table, ten##4)                                                                                             \
    UNKNOWN(table, ten##5) UNKNOWN(table, ten##6) UNKNOWN(table, ten##7) UNKNOWN(table, ten##8) UNKNOWN(table, ten##9)
#define TEN(table, ten)                                                                                                \
    table##_##ten##0, table##_##ten##1, table##_##ten##2, table##_##ten##3, table##_##ten##4, table##_##ten##5,        \
        table##_##ten##6, table##_##ten##7, table##_##ten##8, table##_##ten##9

// ---- CUDART_INTERFACE: 1, 6 and 8 load a fat binary (6 is the only way that the runtimes 11.x load anything)
static int primary_context(CUcontext *out, int device)
{
    if (!out || !sim_device(device)) return BAD_DEVICE;
    *out = (CUcontext)(void *)sim_device(device)->primary; // what cuDevicePrimaryCtxRetain gives too
    return OK;
}

static int load(const char *name, CUmodule *out, const void *code)
{
    const struct sim_site site = {name, false};
    const struct sim_arg args[] = {{'o', (uintptr_t)out}, {'x', (uintptr_t)code}};
    struct sim_module *module = NULL;
    int result;
    if (!sim_enter(&site, &result)) {
        result = out ? sim_module_load(code, false, &module) : BAD_VALUE;
        if (result == OK) *out = (CUmodule)(void *)module;
    }
    return sim_leave(&site, args, 2, result);
}

static int load_1(CUmodule *out, const void *code) { return load("slot1", out, code); }
static int load_6(CUmodule *out, const void *code) { return load("slot6", out, code); }
static int load_8(const void *code, CUmodule *out) { return load("slot8", out, code); }

UNKNOWN(CUDART_INTERFACE, 3)
UNKNOWN(CUDART_INTERFACE, 4)
UNKNOWN(CUDART_INTERFACE, 5)
UNKNOWN(CUDART_INTERFACE, 9)
UNKNOWN(CUDART_INTERFACE, 10)
UNKNOWN(CUDART_INTERFACE, 11)
static const slot cudart_interface[13] = {
    (slot)(uintptr_t)(13 * sizeof(slot)),
    SLOT(load_1),
    SLOT(primary_context),
    CUDART_INTERFACE_3,
    CUDART_INTERFACE_4,
    CUDART_INTERFACE_5,
    SLOT(load_6),
    nothing,
    SLOT(load_8),
    CUDART_INTERFACE_9,
    CUDART_INTERFACE_10,
    CUDART_INTERFACE_11,
    nothing,
};

// ---- TOOLS_RUNTIME_CALLBACK_HOOKS: two buffers in which a profiler would switch its callbacks on
static int hook_switches(void **buffer, size_t *count)
{
    static uint32_t switches[1024];
    *buffer = switches;
    *count = 1024;
    return OK;
}
static int hook_groups(void **buffer, size_t *count)
{
    static uint32_t groups[14];
    *buffer = groups;
    *count = 14;
    return OK;
}
UNKNOWN(TOOLS_RUNTIME_CALLBACK_HOOKS, 1)
UNKNOWN(TOOLS_RUNTIME_CALLBACK_HOOKS, 3)
UNKNOWN(TOOLS_RUNTIME_CALLBACK_HOOKS, 4)
UNKNOWN(TOOLS_RUNTIME_CALLBACK_HOOKS, 5)
static const slot hooks[7] = {
    (slot)(uintptr_t)(7 * sizeof(slot)),
    TOOLS_RUNTIME_CALLBACK_HOOKS_1,
    SLOT(hook_switches),
    TOOLS_RUNTIME_CALLBACK_HOOKS_3,
    TOOLS_RUNTIME_CALLBACK_HOOKS_4,
    TOOLS_RUNTIME_CALLBACK_HOOKS_5,
    SLOT(hook_groups),
};

static int tls_tool(const void *a, const void *b)
{
    sim_note("TOOLS_TLS[2](%p, %p)", a, b);
    return OK;
}
UNKNOWN(TOOLS_TLS, 1)
UNKNOWN(TOOLS_TLS, 3)
static const slot tools_tls[4] = {(slot)(uintptr_t)(4 * sizeof(slot)), TOOLS_TLS_1, SLOT(tls_tool), TOOLS_TLS_3};

// ---- CONTEXT_LOCAL_STORAGE: values by key in a context. This table alone begins with a function.
struct sim_storage {
    const void *key;
    void *value;
    struct sim_storage *next;
};

static struct sim_context *meant(CUcontext handle)
{
    struct sim_context *context = handle ? (void *)handle : sim_current();
    return sim_is(context, K_CONTEXT) ? context : NULL;
}

// The destructor that comes with a value is not called: the runtimes were seen to go on well without.
static int storage_put(CUcontext handle, const void *key, void *value, void *destructor)
{
    (void)destructor;
    struct sim_context *context = meant(handle);
    if (!context) return BAD_CONTEXT;
    struct sim_storage *made = malloc(sizeof *made);
    if (!made) return NO_MEMORY;
    pthread_mutex_lock(&sim_lock);
    *made = (struct sim_storage){key, value, context->storage};
    context->storage = made;
    pthread_mutex_unlock(&sim_lock);
    return OK;
}

static struct sim_storage **storage_find(struct sim_context *context, const void *key)
{
    struct sim_storage **at = &context->storage;
    while (*at && (*at)->key != key) at = &(*at)->next;
    return at;
}

static int storage_delete(CUcontext handle, const void *key)
{
    struct sim_context *context = meant(handle);
    if (!context) return BAD_CONTEXT;
    pthread_mutex_lock(&sim_lock);
    struct sim_storage **at = storage_find(context, key), *gone = *at;
    if (gone) *at = gone->next;
    pthread_mutex_unlock(&sim_lock);
    free(gone);
    return gone ? OK : BAD_HANDLE;
}

static int storage_get(void **value, CUcontext handle, const void *key)
{
    struct sim_context *context = meant(handle);
    if (!context) return BAD_CONTEXT;
    pthread_mutex_lock(&sim_lock);
    struct sim_storage *found = *storage_find(context, key);
    if (found) *value = found->value;
    pthread_mutex_unlock(&sim_lock);
    return found ? OK : BAD_HANDLE;
}

void sim_storage_clear(struct sim_context *context)
{
    while (context->storage) {
        struct sim_storage *gone = context->storage;
        context->storage = gone->next;
        free(gone);
    }
}

UNKNOWN(CONTEXT_LOCAL_STORAGE, 3)
static const slot storage[4] = {SLOT(storage_put), SLOT(storage_delete), SLOT(storage_get), CONTEXT_LOCAL_STORAGE_3};

// ---- CONTEXT_CHECKS
static int check_context(CUcontext handle, unsigned *out, void **ignored)
{
    (void)handle, (void)ignored;
    if (out) *out = 0;
    return OK;
}
UNKNOWN(CONTEXT_CHECKS, 1)
static const slot checks[4] = {(slot)(uintptr_t)(4 * sizeof(slot)), CONTEXT_CHECKS_1, SLOT(check_context), nothing};

// ---- TOOLS_CONTEXT: asked for by cuBLAS, cuFFT and the static runtimes from 13.4 on; slots 4 and 51 were seen called
// (51 by cuBLAS, before it uses a workspace of its own: a refusal there becomes CUBLAS_STATUS_INTERNAL_ERROR)
static int context_tool(CUcontext handle, uint64_t *out)
{
    sim_note("TOOLS_CONTEXT[4](%p, %p)", (void *)handle, (void *)out);
    if (out) *out = handle ? 1 : 0;
    return OK;
}
UNKNOWN_TEN(TOOLS_CONTEXT, 1)
UNKNOWN_TEN(TOOLS_CONTEXT, 2)
UNKNOWN_TEN(TOOLS_CONTEXT, 3)
UNKNOWN_TEN(TOOLS_CONTEXT, 4)
UNKNOWN_TEN(TOOLS_CONTEXT, 5)
UNKNOWN_TEN(TOOLS_CONTEXT, 6)
UNKNOWN_TEN(TOOLS_CONTEXT, 7)
UNKNOWN_TEN(TOOLS_CONTEXT, 8)
UNKNOWN(TOOLS_CONTEXT, 90)
UNKNOWN(TOOLS_CONTEXT, 91)
UNKNOWN(TOOLS_CONTEXT, 92)
UNKNOWN(TOOLS_CONTEXT, 93)
UNKNOWN(TOOLS_CONTEXT, 94)
UNKNOWN(TOOLS_CONTEXT, 0)
static const slot tools_context[95] = {
    (slot)(uintptr_t)(95 * sizeof(slot)),
    TOOLS_CONTEXT_0,
    TOOLS_CONTEXT_0,
    TOOLS_CONTEXT_0,
    SLOT(context_tool),
    TOOLS_CONTEXT_0,
    TOOLS_CONTEXT_0,
    TOOLS_CONTEXT_0,
    TOOLS_CONTEXT_0,
    TOOLS_CONTEXT_0,
    TEN(TOOLS_CONTEXT, 1),
    TEN(TOOLS_CONTEXT, 2),
    TEN(TOOLS_CONTEXT, 3),
    TEN(TOOLS_CONTEXT, 4),
    TEN(TOOLS_CONTEXT, 5),
    TEN(TOOLS_CONTEXT, 6),
    TEN(TOOLS_CONTEXT, 7),
    TEN(TOOLS_CONTEXT, 8),
    TOOLS_CONTEXT_90,
    TOOLS_CONTEXT_91,
    TOOLS_CONTEXT_92,
    TOOLS_CONTEXT_93,
    TOOLS_CONTEXT_94,
};

// ---- INTEGRITY_CHECK
static const unsigned char md2_table[256] = {
    // RFC 1319: a permutation made from the digits of pi
    41,  46,  67,  201, 162, 216, 124, 1,   61,  54,  84,  161, 236, 240, 6,   19,  98,  167, 5,   243, 192, 199,
    115, 140, 152, 147, 43,  217, 188, 76,  130, 202, 30,  155, 87,  60,  253, 212, 224, 22,  103, 66,  111, 24,
    138, 23,  229, 18,  190, 78,  196, 214, 218, 158, 222, 73,  160, 251, 245, 142, 187, 47,  238, 122, 169, 104,
    121, 145, 21,  178, 7,   63,  148, 194, 16,  137, 11,  34,  95,  33,  128, 127, 93,  154, 90,  144, 50,  39,
    53,  62,  204, 231, 191, 247, 151, 3,   255, 25,  48,  179, 72,  165, 181, 209, 215, 94,  146, 42,  172, 86,
    170, 198, 79,  184, 56,  210, 150, 164, 125, 182, 118, 252, 107, 226, 156, 116, 4,   241, 69,  157, 112, 89,
    100, 113, 135, 32,  134, 91,  207, 101, 230, 45,  168, 2,   27,  96,  37,  173, 174, 176, 185, 246, 28,  70,
    97,  105, 52,  64,  126, 15,  85,  71,  163, 35,  221, 81,  175, 58,  195, 92,  249, 206, 186, 197, 234, 38,
    44,  83,  13,  110, 133, 40,  132, 9,   211, 223, 205, 244, 65,  129, 77,  82,  106, 220, 55,  200, 108, 193,
    171, 250, 36,  225, 123, 8,   12,  189, 177, 74,  120, 136, 149, 139, 227, 99,  232, 109, 233, 203, 213, 254,
    59,  0,   29,  57,  242, 239, 183, 14,  102, 88,  208, 228, 166, 119, 114, 248, 235, 117, 75,  10,  49,  68,
    80,  180, 143, 237, 31,  26,  219, 153, 141, 51,  159, 17,  131, 20,
};

static void md2(const unsigned char *text, size_t length, unsigned char digest[16])
{
    unsigned char state[48] = {0}, sum[16] = {0}, last = 0;
    size_t blocks = length / 16 + 2; // the padding makes the text whole, the checksum is one block more
    for (size_t b = 0; b < blocks; b++) {
        unsigned char block[16];
        for (size_t i = 0; i < 16; i++) {
            size_t at = b * 16 + i;
            block[i] = b == blocks - 1 ? sum[i] : at < length ? text[at] : (unsigned char)(16 - length % 16);
        }
        for (int i = 0; i < 16 && b < blocks - 1; i++) last = sum[i] ^= md2_table[block[i] ^ last];
        for (int i = 0; i < 16; i++) {
            state[16 + i] = block[i];
            state[32 + i] = block[i] ^ state[i];
        }
        unsigned char t = 0;
        for (int round = 0; round < 18; round++) {
            for (int i = 0; i < 48; i++) t = state[i] ^= md2_table[t];
            t = (unsigned char)(t + round);
        }
    }
    memcpy(digest, state, 16);
}

static void hmac(const unsigned char key[16], const unsigned char *text, size_t length, unsigned char digest[16])
{
    unsigned char inner[16 + 1024], outer[32];
    for (int i = 0; i < 16; i++) {
        inner[i] = key[i] ^ 0x36;
        outer[i] = key[i] ^ 0x5c;
    }
    memcpy(inner + 16, text, length);
    md2(inner, 16 + length, outer + 16);
    md2(outer, 32, digest);
}

static int integrity(uint32_t version, uint64_t seconds, unsigned char answer[16]);
UNKNOWN(INTEGRITY_CHECK, 2)
static const slot integrity_check[3] = {(slot)(uintptr_t)(3 * sizeof(slot)), SLOT(integrity), INTEGRITY_CHECK_2};

struct message {
    unsigned char text[1024];
    size_t length;
};

static void put(struct message *message, const void *value, size_t size)
{
    memcpy(message->text + message->length, value, size);
    message->length += size;
}
#define PUT(message, value) put(message, &(value), sizeof(value))

// Three questions: version ends in 0, 1 and 2. The runtimes 11.7 and 11.8 check all three answers, 12.0 and later the
// last.
static int integrity(uint32_t version, uint64_t seconds, unsigned char answer[16])
{
    static const unsigned char key[16] = {0x14, 0x6a, 0xdd, 0xae, 0x53, 0xa9, 0xa7, 0x52,
                                          0xaa, 0x08, 0x41, 0x36, 0x0b, 0xf5, 0x5a, 0x9f};
    static const uint64_t fixed[2][2] = {{0x3341181C03CB675C, 0x8ED383AA1F4CD1E8},
                                         {0x1841181C03CB675C, 0x8ED383AA1F4CD1E8}};
    if (version % 10 < 2) {
        memcpy(answer, fixed[version % 10], 16);
        return OK;
    }
    uint32_t driver = (uint32_t)sim_set.driver, process = (uint32_t)getpid(),
             thread = (uint32_t)(uintptr_t)pthread_self();
    const void *tables[3] = {cudart_interface, integrity_check, (const void *)integrity_check[1]};
    struct message message = {.length = 0};
    PUT(&message, driver);
    PUT(&message, version);
    PUT(&message, process);
    PUT(&message, thread);
    PUT(&message, tables);
    PUT(&message, seconds);
    for (int i = 0; i < sim_device_count; i++) {
        int where[3] = {sim_device_attribute(&sim_devices[i], NK_ATTR_PCI_DOMAIN),
                        sim_device_attribute(&sim_devices[i], NK_ATTR_PCI_BUS),
                        sim_device_attribute(&sim_devices[i], NK_ATTR_PCI_DEVICE)};
        put(&message, sim_devices[i].uuid, 16);
        PUT(&message, where);
    }
    hmac(key, message.text, message.length, answer);
    return OK;
}

// ---- which table is which
static const struct {
    unsigned char id[16];
    const void *table;
} tables[] = {
    {{0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9},
     cudart_interface},
    {{0xa0, 0x94, 0x79, 0x8c, 0x2e, 0x74, 0x2e, 0x74, 0x93, 0xf2, 0x08, 0x00, 0x20, 0x0c, 0x0a, 0x66}, hooks},
    {{0x42, 0xd8, 0x5a, 0x81, 0x23, 0xf6, 0xcb, 0x47, 0x82, 0x98, 0xf6, 0xe7, 0x8a, 0x3a, 0xec, 0xdc}, tools_tls},
    {{0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11, 0xa8, 0xc3, 0x68, 0xf3, 0x55, 0xd8, 0x95, 0x93}, storage},
    {{0x26, 0x3e, 0x88, 0x60, 0x7c, 0xd2, 0x61, 0x43, 0x92, 0xf6, 0xbb, 0xd5, 0x00, 0x6d, 0xfa, 0x7e}, checks},
    {{0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b, 0x8d, 0x34, 0xba, 0x12, 0x3c, 0x66, 0xe1, 0xf2}, integrity_check},
    {{0x21, 0x31, 0x8c, 0x60, 0x97, 0x14, 0x32, 0x48, 0x8c, 0xa6, 0x41, 0xff, 0x73, 0x24, 0xc8, 0xf2}, tools_context},
};

API_EARLY(cuGetExportTable, const void **, out, const unsigned char *, id)
{
    if (!out || !id) return BAD_VALUE;
    *out = NULL;
    for (size_t i = 0; i < sizeof tables / sizeof *tables && !*out; i++)
        if (memcmp(id, tables[i].id, 16) == 0) *out = tables[i].table;
    if (!*out)
        sim_note("table %02x%02x%02x%02x-%02x%02x-%02x%02x-... is not there", id[0], id[1], id[2], id[3], id[4], id[5],
                 id[6], id[7]);
    return *out ? OK : BAD_VALUE;
}
