// core.h - what the files behind record.h share. Nobody else includes it.
#ifndef NK_PRELOAD_CORE_H
#define NK_PRELOAD_CORE_H

#include "record.h"

#include "base/buf.h"
#include "base/settings.h"
#include "dso.h"
#include "recording/writer.h"
#include "verdict/judge.h"

enum { NK_MOST_PLACES = 8 };

// One failure that is already in the recording; more of the same only count, and tell where else they came from.
struct nk_failure {
    uint32_t id;
    int result;
    uint32_t gpu;
    bool over; // the context that it was in is gone: it cannot come back
    bool surfaced;
    const struct nk_thread *thread; // where it happened last, and after how many launches
    uint64_t launches;
    uint64_t *counter;
    uint64_t place[NK_MOST_PLACES]; // where it came from: see nk_core_place
    uint32_t places;
};

// All state of the recording. Guarded by the lock unless said otherwise.
struct nk_core {
    struct nk_settings settings;
    struct nk_writer writer;
    // Set under the lock, also read without it.
    _Atomic bool started;     // settings are read
    _Atomic bool off;         // switched off, or nothing can be recorded
    _Atomic bool blocks;      // CUDA_LAUNCH_BLOCKING: the driver itself waits for each launch
    _Atomic bool opened;      // the file was made, or tried in vain
    _Atomic bool reported;    // the report at exit was made; what fails after it is still recorded
    _Atomic bool failed_late; // something failed after the last report
    _Atomic bool finished;    // nothing is recorded any more
    _Atomic int pid;          // whose recording it is: the child of a vfork has our memory, and no fork handler told it
    _Atomic uint64_t gpus;    // bit n: GPU n is in the recording
    _Atomic int loading;      // CUmoduleLoadingMode, 0 while unknown
    int sm[64];               // of GPU n, 0 while unknown
    int cuda, jit;            // of the last DRIVER record
    struct nk_failure *_Atomic last_failure;
    char path[4096];   // of the recording; "" when there is none
    int memory;        // where no file could be written: the descriptor that `path` then names
    char parent[4096]; // of the recording of the process that forked this one
    char exe[4096];
    uint32_t libraries, containers, kernels, failures, stacks, python_stacks, graphs; // ids given out
    struct nk_table library_ids; // hash of a path, or of a spelling of it -> id
    struct nk_table unowned;     // id -> path, of libraries whose package is not recorded yet
    struct nk_table with_code;   // ids of libraries whose device code was loaded, or that loaded some from memory
    struct nk_table failures_by_key;
    struct nk_rec_exit end; // how the process ends, once it does
    uint64_t unrecorded;    // failed calls after the file was lost
    bool scanned;           // the process's libraries were looked through
    bool wants_stacks;      // libunwind is still to be opened, outside the lock
};
extern struct nk_core nk_core;

// Takes the lock and the thread's guard, opens the recording when it is the first time. False: do nothing.
bool nk_enter(int *saved_errno);
// The same, but without opening a recording: for what a program does before it touches CUDA.
bool nk_enter_quietly(int *saved_errno);
void nk_leave(int saved_errno);

// The process ends: errors of work that the program never asked about are failures, and what has not ended is counted.
void nk_core_last_look(void);

// ---- all below: with the lock held

uint32_t nk_core_text(const char *text);
// The id of the library at an address or of a file, recorded when it is new; 0 when the address is in none.
uint32_t nk_core_library_at(const void *address);
uint32_t nk_core_library(const char *path);
// Writes the container, with its images, when it is not yet in the recording.
void nk_core_container(struct nk_container *container, const void *loader);
// The container of a code address or a file; found again when its content is known already. NULL: no memory.
struct nk_container *nk_core_container_for(const void *code, const char *path, enum nk_origin origin);
void nk_core_kernel(struct nk_kernel *kernel, uint32_t gpu);
// Records the package of each library with device code that was used.
void nk_core_packages(void);
// The kernel that a host function stands for (registered with a shared runtime), or NULL.
struct nk_kernel *nk_core_host_kernel(const void *function);
void nk_core_note(const char *text);
// The GPU and the driver as something to judge for; its sm is 0 when the GPU is not known.
struct nk_target nk_core_target(uint32_t gpu);
// For a forked child: what was given an id in the parent's recording has none in ours.
void nk_core_forget_ids(void);

// A kernel whose look-up was not seen, under the name that the driver gives it. NULL: no memory.
struct nk_kernel *nk_core_adopt(const void *function);

// The kernels that a graph launches, each once, in the order of its nodes. Graphs with the same kernels share one,
// which lives until the process ends.
struct nk_graph {
    uint32_t id; // in the recording; 0 until it is written
    uint32_t nodes;
    uint32_t count;
    struct nk_graph_kernel {
        struct nk_kernel *kernel;
        uint32_t nodes;
    } kernel[];
};
void nk_core_graph(struct nk_graph *graph, uint32_t gpu); // writes it when it is not yet in the recording
void nk_core_graphs_forget(void);                         // for a forked child

// Looks whether launched kernels of the container have an empty body in the image that is used; before its bytes go.
void nk_core_hollow(struct nk_container *container);
// The same for all containers that are left, at the end of the process, with a note where something was left out.
void nk_core_hollow_rest(void);
void nk_core_hollow_forget(void);

struct nk_event {
    enum nk_failure_kind kind;
    enum nk_entry_id api;
    int result;
    bool runtime; // result is a cudaError_t that no driver call explains
    struct nk_kernel *kernel;
    struct nk_container *container;
    struct nk_graph *graph;
    const void *caller;
    const void *stream;
    enum nk_pinned pinned;
    uint32_t gpu;
    CUcontext context; // of an error of earlier work
    bool at_end;       // nobody asked but us, when the process ended
};
// Errors that are pinned though they are no missing image: the GPU's own, a short memory, source that does not compile.
bool nk_core_is_serious(int result);
// Where this thread is. Writes its stacks, unless it is one of the `count` places that are known; their ids are 0 where
// there is none (`python` NULL: the native one only). Returns what the place is known by; 0 when it was known already,
// or cannot be told.
uint64_t nk_core_place(uint32_t *stack, uint32_t *python, const uint64_t *known, size_t count);
// Is there a failure of that GPU that can have left this error behind?
bool nk_core_is_known(int result, uint32_t gpu);
// True when `r` is an earlier failure's error coming back: then only that is recorded.
bool nk_core_comes_back(enum nk_entry_id api, int r, uint32_t gpu, const void *caller);
// Is this an error of earlier work, because nobody waits for launches? Then the call that returned it did nothing
// wrong.
bool nk_core_is_late(int result);
// NOKERNEL_SYNC=trail: the kernel or graph that a late error is of, as far as it can only be one; and, once the failure
// is recorded, what was known of the launches of its context at that moment.
void nk_core_trail_suspect(struct nk_event *event);
void nk_core_trail(uint32_t failure);
// Records a failure, or counts it when it is known.
void nk_core_fail(const struct nk_event *event);
// Everything that explains a failure and may be gone later: which images hold the kernel, the container's kernels, the
// packages, and the GPU code of every other library in the process.
void nk_core_explain(struct nk_kernel *kernel, struct nk_container *container);

// ---- without the lock

// One line on stderr, without asking for memory: there may be none.
void nk_core_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
// A launch of a kernel or of a graph failed as the event says, whose GPU is the current one.
void nk_core_launch_failed(struct nk_event event);

// The current device, recorded when it is new, or NK_NONE.
uint32_t nk_core_gpu_here(void);
// For what is refused before there is a context: records all GPUs. The only one, or NK_NONE.
uint32_t nk_core_gpus_there(void);
// Whether the driver loads everything at start-up, so that a refused load is not yet a failure.
bool nk_core_eager(void);
uint64_t nk_core_time(void);

#endif
