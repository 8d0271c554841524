// sim.h - what the files of the simulated driver share.
//
// The simulated driver is a libcuda.so.1 for tests: everything but the execution of kernels. It is never installed. Its
// rules, settings and sources are in README.md.
//
// Writing a driver function: API(cuName, type, parameter, type, parameter...) { body }. The macro defines the exported
// function; around the body it keeps the log, the injected failures (SIM_FAIL) and "not initialised". A function that
// takes a stream or reads the default stream is written with API_PT(cuName, _ptsz, ...), which exports both variants.
#ifndef SIM_H
#define SIM_H

#include "driver/abi.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { // the results that are used by name; the whole list is in results.c
    OK = 0,
    BAD_VALUE = 1,
    NO_MEMORY = 2,
    NOT_INITIALIZED = 3,
    NO_DEVICE = 100,
    BAD_DEVICE = 101,
    BAD_IMAGE = 200,
    BAD_CONTEXT = 201,
    NO_BINARY = 209,
    BAD_PTX = 218,
    PTX_TOO_NEW = 222,
    JIT_DISABLED = 223,
    NO_FILE = 301,
    BAD_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_READY = 600,
    PEER_ALREADY = 704,
    PEER_MISSING = 705,
    CONTEXT_GONE = 709,
    HOST_ALREADY = 712,
    HOST_MISSING = 713,
    NOT_SUPPORTED = 801,
    CAPTURE_UNSUPPORTED = 900,
    CAPTURE_INVALIDATED = 901,
    CAPTURE_MERGE = 902,
    CAPTURE_UNMATCHED = 903,
    CAPTURE_UNJOINED = 904,
    CAPTURE_ISOLATION = 905,
    CAPTURE_IMPLICIT = 906,
    CAPTURED_EVENT = 907,
    CAPTURE_WRONG_THREAD = 908,
};

// ---- settings.c: read once, at the first call of anything
enum sim_place {           // where a missing image shows (SIM_NO_IMAGE_AT)
    AT_LOAD = 1 << 0,      // cuLibraryLoadData, cuLibraryLoadFromFile
    AT_MODULE = 1 << 1,    // cuLibraryGetModule
    AT_GET = 1 << 2,       // cuLibraryGetKernel
    AT_MODGET = 1 << 3,    // cuModuleGetFunction
    AT_FUNCTION = 1 << 4,  // cuKernelGetFunction
    AT_ATTRIBUTE = 1 << 5, // cu{Func,Kernel}{Get,Set}Attribute
    AT_OCCUPANCY = 1 << 6, // cuOccupancy*
    AT_GLOBAL = 1 << 7,    // cu{Module,Library}GetGlobal, cuLibraryGetManaged
    AT_LAUNCH = 1 << 8,    // cuLaunch*, cuGraphAddKernelNode
};
enum { SIM_MAX_GPUS = 16 };
struct sim_settings {
    int driver;                                         // as of cuDriverGetVersion
    int gpus, sm[SIM_MAX_GPUS];                         // of the machine, before CUDA_VISIBLE_DEVICES
    char names[SIM_MAX_GPUS][96];                       //
    unsigned places;                                    // enum sim_place
    size_t memory;                                      // bytes per GPU
    const char *attributes, *lacks, *fail, *slow, *log; // as given, or NULL
    bool strict_capture, distinct;                      //
    uint64_t kernel_ns;                                 // how long a kernel keeps its stream busy
    bool force_ptx_jit, disable_ptx_jit;                // the driver's own environment, read by cuInit
    bool eager;                                         //
};
extern struct sim_settings sim_set;
void sim_boot(void);                                 // idempotent; every entry comes through it before anything else
void sim_settings_read_env(void);                    // what a real driver reads in cuInit
bool sim_listed(const char *list, const char *word); // is word an element of a comma list? list may be NULL

// ---- call.c: what happens around each call
struct sim_site {
    const char *name;
    bool early; // may be called before cuInit
};
struct sim_arg {
    char kind; // d number, x pointer, s text, f function or kernel, o handle that is handed out
    uintptr_t value;
};
enum { GATE_BOOT = 1, GATE_INIT = 2, GATE_FORKED = 4, GATE_WATCH = 8 };
extern _Atomic int sim_gate; // 0: nothing to do around a call
// True if the body must not run: *result is the answer.
bool sim_enter(const struct sim_site *site, int *result);
int sim_leave(const struct sim_site *site, const struct sim_arg *args, int count, int result);
void sim_call_setup(void);
void sim_note(const char *format, ...) __attribute__((format(printf, 1, 2))); // a line of its own in the log

extern _Thread_local bool sim_per_thread; // the running call came in through a _ptsz or _ptds name

#define SIM_PUBLIC                                                                                       __attribute__((visibility("default")))
#define SIM_CAT_(a, b)                                                                                   a##b
#define SIM_CAT(a, b)                                                                                    SIM_CAT_(a, b)
#define SIM_COUNT_(p, o, n, m, l, k, j, i, h, g, f, e, d, c, b, a, q12, r12, q11, r11, q10, r10, N, ...) N
#define SIM_COUNT(...)                                                                                   SIM_COUNT_(__VA_ARGS__, 11, 0, 10, 0, 9, 0, 8, 0, 7, 0, 6, 0, 5, 0, 4, 0, 3, 0, 2, 0, 1, 0, 0)
#define SIM_P1(t, a)                                                                                     t a
#define SIM_P2(t, a, ...)                                                                                t a, SIM_P1(__VA_ARGS__)
#define SIM_P3(t, a, ...)                                                                                t a, SIM_P2(__VA_ARGS__)
#define SIM_P4(t, a, ...)                                                                                t a, SIM_P3(__VA_ARGS__)
#define SIM_P5(t, a, ...)                                                                                t a, SIM_P4(__VA_ARGS__)
#define SIM_P6(t, a, ...)                                                                                t a, SIM_P5(__VA_ARGS__)
#define SIM_P7(t, a, ...)                                                                                t a, SIM_P6(__VA_ARGS__)
#define SIM_P8(t, a, ...)                                                                                t a, SIM_P7(__VA_ARGS__)
#define SIM_P9(t, a, ...)                                                                                t a, SIM_P8(__VA_ARGS__)
#define SIM_P10(t, a, ...)                                                                               t a, SIM_P9(__VA_ARGS__)
#define SIM_P11(t, a, ...)                                                                               t a, SIM_P10(__VA_ARGS__)
#define SIM_A1(t, a)                                                                                     a
#define SIM_A2(t, a, ...)                                                                                a, SIM_A1(__VA_ARGS__)
#define SIM_A3(t, a, ...)                                                                                a, SIM_A2(__VA_ARGS__)
#define SIM_A4(t, a, ...)                                                                                a, SIM_A3(__VA_ARGS__)
#define SIM_A5(t, a, ...)                                                                                a, SIM_A4(__VA_ARGS__)
#define SIM_A6(t, a, ...)                                                                                a, SIM_A5(__VA_ARGS__)
#define SIM_A7(t, a, ...)                                                                                a, SIM_A6(__VA_ARGS__)
#define SIM_A8(t, a, ...)                                                                                a, SIM_A7(__VA_ARGS__)
#define SIM_A9(t, a, ...)                                                                                a, SIM_A8(__VA_ARGS__)
#define SIM_A10(t, a, ...)                                                                               a, SIM_A9(__VA_ARGS__)
#define SIM_A11(t, a, ...)                                                                               a, SIM_A10(__VA_ARGS__)
#define SIM_L(a)                                                                                                       \
    {                                                                                                                  \
        SIM_KIND(a), (uintptr_t)(a)                                                                                    \
    }
#define SIM_L1(t, a)       SIM_L(a)
#define SIM_L2(t, a, ...)  SIM_L(a), SIM_L1(__VA_ARGS__)
#define SIM_L3(t, a, ...)  SIM_L(a), SIM_L2(__VA_ARGS__)
#define SIM_L4(t, a, ...)  SIM_L(a), SIM_L3(__VA_ARGS__)
#define SIM_L5(t, a, ...)  SIM_L(a), SIM_L4(__VA_ARGS__)
#define SIM_L6(t, a, ...)  SIM_L(a), SIM_L5(__VA_ARGS__)
#define SIM_L7(t, a, ...)  SIM_L(a), SIM_L6(__VA_ARGS__)
#define SIM_L8(t, a, ...)  SIM_L(a), SIM_L7(__VA_ARGS__)
#define SIM_L9(t, a, ...)  SIM_L(a), SIM_L8(__VA_ARGS__)
#define SIM_L10(t, a, ...) SIM_L(a), SIM_L9(__VA_ARGS__)
#define SIM_L11(t, a, ...) SIM_L(a), SIM_L10(__VA_ARGS__)
#define SIM_PARAMS(...)    SIM_CAT(SIM_P, SIM_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define SIM_ARGS(...)      SIM_CAT(SIM_A, SIM_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define SIM_LOGS(...)      SIM_CAT(SIM_L, SIM_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define SIM_KIND(a)                                                                                                    \
    _Generic((a), const char *: 's', CUfunction: 'f', CUkernel: 'f', int: 'd', unsigned: 'd', CUcontext *: 'o', \
        CUmodule *: 'o', CUlibrary *: 'o', CUfunction *: 'o', CUkernel *: 'o', CUstream *: 'o', CUevent *: 'o', \
        CUgraph *: 'o', CUgraphNode *: 'o', CUgraphExec *: 'o', CUdeviceptr *: 'o', default: 'x')

// The exported function: `call` is what it does when nothing stands in the way; it leaves its answer in `result`.
#define SIM_FRONT(exported, is_early, call, ...)                                                                       \
    SIM_PUBLIC int exported(SIM_PARAMS(__VA_ARGS__));                                                                  \
    SIM_PUBLIC int exported(SIM_PARAMS(__VA_ARGS__))                                                                   \
    {                                                                                                                  \
        static const struct sim_site site = {#exported, is_early};                                                     \
        int result;                                                                                                    \
        if (atomic_load_explicit(&sim_gate, memory_order_relaxed) == 0) return call;                                   \
        const struct sim_arg args[] = {SIM_LOGS(__VA_ARGS__)};                                                         \
        if (!sim_enter(&site, &result)) result = call;                                                                 \
        return sim_leave(&site, args, SIM_COUNT(__VA_ARGS__), result);                                                 \
    }
#define SIM_API(exported, is_early, ...)                                                                               \
    static int do_##exported(SIM_PARAMS(__VA_ARGS__));                                                                 \
    SIM_FRONT(exported, is_early, do_##exported(SIM_ARGS(__VA_ARGS__)), __VA_ARGS__)                                   \
    static int do_##exported(SIM_PARAMS(__VA_ARGS__))
#define API(exported, ...)       SIM_API(exported, false, __VA_ARGS__)
#define API_EARLY(exported, ...) SIM_API(exported, true, __VA_ARGS__)
#define API_PT(exported, suffix, ...)                                                                                  \
    static int do_##exported(SIM_PARAMS(__VA_ARGS__));                                                                 \
    SIM_FRONT(exported, false, do_##exported(SIM_ARGS(__VA_ARGS__)), __VA_ARGS__)                                      \
    SIM_FRONT(exported##suffix, false,                                                                                 \
              (sim_per_thread = true, result = do_##exported(SIM_ARGS(__VA_ARGS__)), sim_per_thread = false, result),  \
              __VA_ARGS__)                                                                                             \
    static int do_##exported(SIM_PARAMS(__VA_ARGS__))
// A function of no parameters, and a second name for a function of this file.
#define API0(exported)                                                                                                 \
    static int do_##exported(void);                                                                                    \
    SIM_PUBLIC int exported(void);                                                                                     \
    SIM_PUBLIC int exported(void)                                                                                      \
    {                                                                                                                  \
        static const struct sim_site site = {#exported, false};                                                        \
        int result;                                                                                                    \
        if (atomic_load_explicit(&sim_gate, memory_order_relaxed) == 0) return do_##exported();                        \
        if (!sim_enter(&site, &result)) result = do_##exported();                                                      \
        return sim_leave(&site, NULL, 0, result);                                                                      \
    }                                                                                                                  \
    static int do_##exported(void)
#define API_ALSO(exported, other, ...) SIM_FRONT(exported, false, do_##other(SIM_ARGS(__VA_ARGS__)), __VA_ARGS__)

// ---- symbols.c: symbols.def as a table
struct sim_row {
    const char *name;
    int since;
    bool per_thread;
    const char *exported;
    int (*function)(void), (*far)(void); // far: another address of it
};
extern const struct sim_row sim_functions[];
extern const size_t sim_function_count;

// ---- results.c
const char *sim_result_name(int code); // NULL for an unknown code
bool sim_is_sticky(int code);          // does this error end the context?

// ---- handles.c: every object that a handle points at. A handle is valid only while its object lives; any other value,
// NULL too, is told apart without being followed. A slot is used again soon after it was freed, as in a real driver.
enum sim_kind {
    K_NONE,
    K_CONTEXT,
    K_STREAM,
    K_EVENT,
    K_MODULE,
    K_LIBRARY,
    K_FUNCTION,
    K_KERNEL,
    K_GRAPH,
    K_NODE,
    K_EXEC,
    K_POOL,
    K_MEMORY,
    K_LINK,
};
void *sim_new(enum sim_kind kind); // zeroed; NULL if there are too many
void sim_delete(void *object);
bool sim_is(const void *handle, enum sim_kind kind);
enum sim_kind sim_kind_of(const void *handle); // K_NONE for anything that is not alive

extern pthread_mutex_t sim_lock; // guards every list and table; recursive

// ---- device.c
struct sim_context;
struct sim_device {
    int ordinal, physical, sm; // physical: position in SIM_SM, also its PCI bus
    bool tegra;
    unsigned char uuid[16];
    const char *name;
    struct sim_context *primary;
    size_t used; // bytes of memory handed out
    void *pool, *current_pool;
};
extern int sim_device_count;
extern struct sim_device sim_devices[SIM_MAX_GPUS];
int sim_devices_find(void);                 // by cuInit: fills the two; 0 or NO_DEVICE
struct sim_device *sim_device(int ordinal); // NULL if there is none
int sim_device_attribute(const struct sim_device *device, int attribute);

// ---- context.c
struct sim_capture;
struct sim_stream {
    _Atomic uint32_t kind;
    unsigned flags;
    int priority;
    unsigned long long id;
    struct sim_context *context;
    struct sim_capture *capture;
    _Atomic int late;        // an error of earlier work, told by the next synchronisation; nothing runs after it
    _Atomic bool stuck;      // it waits for an event that never comes, because the work before that failed
    _Atomic uint64_t busy;   // until when (sim_now) its last kernel seems to run: SIM_KERNEL_MS
    struct sim_stream *next; // of the context
    void *tails;             // capture.c: the nodes that the next captured one depends on
    size_t tail_count, tail_room;
};
struct sim_context {
    _Atomic uint32_t kind;
    bool primary, active;
    int retained;
    unsigned flags;
    unsigned long long id;
    struct sim_device *device;
    _Atomic int sticky;         // the error that ended it, or 0
    _Atomic int late;           // of a stream that was destroyed before anybody waited for it
    struct sim_stream *streams; // all, the default ones too
    struct sim_stream *legacy;
    struct sim_storage *storage; // export_tables.c: context-local storage
    unsigned peers;              // bit: device whose memory may be reached
    size_t limits[12];
    unsigned cache_config;
};
struct sim_context *sim_current(void);
// The calling thread's context, if calls that use the GPU may go on: else BAD_CONTEXT, CONTEXT_GONE or its sticky
// error.
int sim_usable(struct sim_context **context);
#define NEED_CONTEXT(c)                                                                                                \
    struct sim_context *c;                                                                                             \
    do {                                                                                                               \
        int unusable_ = sim_usable(&c);                                                                                \
        if (unusable_) return unusable_;                                                                               \
    } while (0)
int sim_context_boot(void);                        // by cuInit: a primary context for every device
int sim_context_sync(struct sim_context *context); // waits for all its work: 0, a late error or the sticky one
void sim_context_fail(struct sim_context *context, int code);
void sim_storage_clear(struct sim_context *context); // export_tables.c: runs the destructors

// ---- stream.c
// The stream of a handle (NULL, 1 and 2 are the default ones), as seen by the running call; NULL: not a stream.
struct sim_stream *sim_stream(CUstream handle);
struct sim_stream *sim_stream_new(struct sim_context *context, unsigned flags, int priority);
void sim_stream_free(struct sim_stream *stream); // under the lock
int sim_stream_sync(struct sim_stream *stream);
extern _Thread_local struct sim_stream *sim_last_stream; // of the running call, for SIM_FAIL's late errors
uint64_t sim_now(void);                                  // nanoseconds

// ---- memory.c. Device memory is ordinary memory, zeroed; its address is the device pointer.
enum sim_memory { M_DEVICE, M_HOST, M_MANAGED, M_REGISTERED, M_ASYNC, M_VIRTUAL };
struct sim_range {
    uintptr_t start;
    size_t size, mapped; // mapped: what was mmapped, 0 for the heap
    enum sim_memory type;
    struct sim_context *context;
    struct sim_device *device;
    unsigned flags;
    unsigned long long id;
    void *pool;
};
int sim_memory_new(struct sim_context *context, size_t size, enum sim_memory type, uintptr_t *start);
int sim_memory_free(uintptr_t start, enum sim_memory type);
bool sim_memory_find(uintptr_t address, struct sim_range *range); // false: not one of ours
bool sim_memory_has(uintptr_t address, size_t size);              // all of it in one range of ours?
int sim_memory_add(const struct sim_range *range);                // memory that is somebody else's
int sim_memory_drop(uintptr_t start);                             //
void sim_memory_clear(struct sim_context *context);               // frees all that is the context's
unsigned long long sim_next_id(void);

// ---- image.c, image_names.c
struct sim_symbol {
    const char *name;
    bool kernel;      // else a variable
    size_t size;      // of a variable
    const void *init; // its first value, or NULL for zeros
};
struct sim_names {
    struct sim_symbol *list; // sorted by name
    size_t count;
    bool known; // false: the image could not be read; every name is taken to be there
    void *text; // what the names lie in
};
struct sim_image { // one image of a container
    int kind;      // 1 PTX, 2 cubin, 0x40 relocatable PTX
    int sm;        //
    char variant;  // 0, 'a' or 'f'
    int isa;       // PTX: version * 10 (90 = 9.0)
    char codec;    // 0 stored, 'l' LZ4, 'z' zstd
    const unsigned char *data;
    size_t stored, size; // bytes in the container, and decoded
};
struct sim_pick { // what the driver would use of some code on one device
    int result;   // 0, or why there is nothing
    struct sim_image image;
    void *owned; // a decoded container of images that `image` points into
};
size_t sim_code_size(const void *code); // 0: not an image
void sim_pick(const void *code, const struct sim_device *device, struct sim_pick *pick);
void *sim_image_decode(const struct sim_image *image); // size + 1 bytes, NUL behind; NULL: damaged
void sim_names_read(const struct sim_image *image, struct sim_names *names);
void sim_names_free(struct sim_names *names);
const struct sim_symbol *sim_names_find(const struct sim_names *names, const char *name);

// ---- module.c
struct sim_function;
struct sim_module {
    _Atomic uint32_t kind;
    struct sim_context *context;
    struct sim_library *library; // NULL for one that was loaded by itself
    struct sim_pick pick;
    struct sim_names names;
    bool named; // names are read
    void *copy;
    struct sim_function *functions;
    struct sim_global *globals;
    struct sim_module *next; // of the library, or of all
};
struct sim_library {
    _Atomic uint32_t kind;
    const void *code;
    void *copy;
    struct sim_kernel *kernels;
    struct sim_module *modules; // one for each context that asked
    struct sim_library *next;
};
struct sim_function {
    _Atomic uint32_t kind;
    struct sim_module *module;
    char *name;
    int dynamic_shared, carveout;
    struct sim_function *next;
};
struct sim_kernel {
    _Atomic uint32_t kind;
    struct sim_library *library;
    char *name;
    struct sim_function *functions[SIM_MAX_GPUS]; // by device, of the context that used it last
    struct sim_kernel *next;
};
static_assert(sizeof(struct sim_kernel) <= 256, "a slot of handles.c holds it");
int sim_module_load(const void *code, bool copy, struct sim_module **module); // into the current context
void sim_module_free(struct sim_module *module);                              // under the lock
void sim_modules_clear(struct sim_context *context);                          // frees all that is the context's
int sim_module_function(struct sim_module *module, const char *name, struct sim_function **function);
int sim_library_module(struct sim_library *library, struct sim_context *context, struct sim_module **module);
// ---- function.c
// What a handle that may be a CUfunction or a CUkernel means in the current context. At a place where a missing image
// shows, its reason is the answer; elsewhere 0.
int sim_function(const void *handle, struct sim_context *context, unsigned place, struct sim_function **function);
const char *sim_function_name(const void *handle); // NULL if it is neither

// ---- capture.c, graph.c, graph_exec.c
extern _Atomic int sim_capturing; // how many captures are going on
enum sim_op {
    OP_KERNEL = 0,
    OP_MEMCPY = 1,
    OP_MEMSET = 2,
    OP_HOST = 3,
    OP_GRAPH = 4,
    OP_EMPTY = 5,
    OP_WAIT = 6,
    OP_RECORD = 7,
    OP_ALLOC = 10,
    OP_FREE = 11,
    OP_WRITE = 12,       // a value into memory: a batch of one memory operation
    OP_CONDITIONAL = 13, //
};
struct sim_work { // one thing that a stream or a graph does
    enum sim_op op;
    uintptr_t to, from;
    size_t size;           // bytes; of a memset: elements
    unsigned value, width; // of a memset: width in bytes
    const void *function;  // kernel: its handle; host: its code
    void *data;            // host: its argument; graph: the child; conditional: see graph_node.c
    int late;              // the error that it ends with (SIM_FAIL=...~CODE), or 0
};
void sim_work_run(const struct sim_work *work);
// Does, now or when the stream's kernels have ended, what is not a kernel; nothing if earlier work failed.
void sim_stream_do(struct sim_stream *stream, const struct sim_work *work);
// A kernel in a stream: it keeps the stream busy (SIM_KERNEL_MS) and may end with an error.
void sim_stream_kernel(struct sim_stream *stream, int late);
extern _Atomic bool sim_failed;                     // some work failed, or a context did
bool sim_stream_stopped(struct sim_stream *stream); // earlier work failed, and nothing comes after it
// Waits until the kernels of the stream (of the context: stream NULL) have ended.
void sim_stream_wait(struct sim_context *context, struct sim_stream *stream);
void sim_writes_due(void); // lets values arrive in memory whose time has come
int sim_late_take(void);   // call.c: the error that the running call's work ends with, for whom it is taken
// Before a call that puts work into a stream: *captured is set if it only became a node of a graph. Errors: 901, 906.
int sim_submit(struct sim_stream *stream, const struct sim_work *work, bool *captured);
int sim_capture_unsafe(void);                          // before a call that a capture forbids: 0 or 900
int sim_capture_sync(struct sim_stream *stream);       // before a synchronisation of a stream
int sim_capture_sync_all(struct sim_context *context); // before one of the whole context
int sim_capture_refuse(struct sim_stream *stream);     // before what cannot be captured: 900, or 906, or 0
void sim_capture_forget(struct sim_stream *stream);    // the stream ends

#endif
