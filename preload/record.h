// record.h - the one door from a hook to the recording.
//
// A hook passes ids, handles and addresses; it knows neither verdicts nor text. Every function here may be called from
// any thread, keeps errno, never fails in a way that the hook would have to handle, and does nothing when the library
// is switched off, when the recording was lost, or when the thread is already inside (a signal handler that launches).
#ifndef NK_PRELOAD_RECORD_H
#define NK_PRELOAD_RECORD_H

#include "objects.h"
#include "real.h"
#include "recording/event.h"

#include <stdbool.h>

// A call of the runtime that is under way in this thread: what the driver's functions are called for.
struct nk_call {
    enum nk_entry_id api;
    const void *function; // the host function, or the cudaKernel_t, that the program named
    const void *caller;
    bool failed; // a failure of this call is already recorded
    struct nk_call *outer;
};

// What we keep for a thread. Zero at first.
struct nk_thread {
    struct nk_call *call;
    bool inside;       // our own code is at work
    bool pushed;       // a context was pushed, and nothing loaded since (hook_image.c)
    uint64_t launches; // kernels launched by this thread, through the runtime or the driver
    uint64_t number;   // of this thread among those that launched (trail.c); 0: none yet
    uint32_t id;       // as the system knows it; 0: not asked yet
};
extern _Thread_local struct nk_thread nk_thread;
// The system's number of this thread, asked for once.
uint32_t nk_thread_id(void);

// What is done about a launch that succeeds; and how many nanoseconds it is waited for at most (0: no limit). Set when
// the first CUDA call is seen; read without a lock.
enum nk_pin { NK_PIN_OFF, NK_PIN_LAUNCH, NK_PIN_TRAIL };
extern _Atomic int nk_pin;
extern uint64_t nk_pin_limit;
extern bool nk_pin_all; // trail: a marker behind each launch, whatever it costs

// Launches are counted in memory of our own, because the recording's file system does not let its files be mapped. What
// is counted is then copied into the file at most once a second, by a thread that comes by here.
extern _Atomic bool nk_counts_in_memory;
void nk_record_copy_counts(void);
static inline void nk_record_may_copy(void)
{
    if (__builtin_expect(atomic_load_explicit(&nk_counts_in_memory, memory_order_relaxed), 0)) nk_record_copy_counts();
}

// ---- images (hook_image.c, hook_register.c). `r` is what the driver answered, handles are only valid when it is 0.

// A load of `code` (or of the file `path`) into the library or module `handle`.
void nk_record_load(enum nk_entry_id api, enum nk_origin origin, const void *handle, const void *code, const char *path,
                    CUresult r, const void *caller);
// cuLibraryGetModule: `module` is the library's module in the current context.
void nk_record_module(const void *module, const void *library, CUresult r, const void *caller);
void nk_record_unload(const void *handle);
void nk_record_registered(const void *handle, const void *wrapper);
void nk_record_host_function(const void *handle, const void *host_function, const char *name);
void nk_record_unregistered(const void *handle);

// ---- the driver's linker (hook_link.c)

// An input, by its bytes or by its file, before the driver sees it.
void nk_record_link_input(const void *state, int type, const void *data, size_t size, const char *path);
// A call about the link failed.
void nk_record_link(enum nk_entry_id api, const void *state, CUresult r, const void *caller);
void nk_record_link_gone(const void *state);

// ---- kernels (hook_function.c, hook_launch.c)

// A look-up of `name` in `parent` (a library or module) that gave `function`.
void nk_record_lookup(enum nk_entry_id api, const void *function, const void *parent, const char *name, CUresult r,
                      const void *caller);
// cuKernelGetFunction: the same kernel under one more handle.
void nk_record_function(const void *function, const void *kernel, CUresult r, const void *caller);
// The first launch of a kernel: gives it a counter and counts. Every launch of a kernel that has one is counted by the
// hook itself.
void nk_record_first_launch(const void *function);
void nk_record_launch_failed(enum nk_entry_id api, const void *function, const void *stream, CUresult r,
                             enum nk_pinned pinned, const void *caller);
// A launch (of a graph: NULL) did not come to its end within the limit: from now on none is waited for.
void nk_record_gave_up(const void *function);
void nk_record_probe(enum nk_entry_id api, const void *function, CUresult r, const void *caller);
// A call that waits, or that returns errors of earlier work; about one stream, or NULL.
void nk_record_wait(enum nk_entry_id api, const void *stream, CUresult r, const void *caller);
void nk_record_gpu(CUdevice device);
// A context of that GPU (NK_NONE: of one that is not known) ended: its errors cannot come back.
void nk_record_context_ended(uint32_t gpu);

// ---- graphs (hook_graph.c)

// A kernel was refused as a node.
void nk_record_graph(enum nk_entry_id api, const void *function, CUresult r, const void *caller);
// The graphs that a conditional node may run; the array lives as long as the node.
void nk_record_graph_bodies(CUgraphNode node, const CUgraph *bodies, unsigned count);
// `exec` was made from `graph`, or took over all of it; the other calls change one node, named by the node of `graph`.
void nk_record_graph_made(CUgraphExec exec, CUgraph graph);
void nk_record_graph_updated(CUgraphExec exec, CUgraph graph);
void nk_record_graph_kernel(CUgraphExec exec, CUgraphNode node, const void *function);
void nk_record_graph_child(CUgraphExec exec, CUgraphNode node, CUgraph child);
void nk_record_graph_enabled(CUgraphExec exec, CUgraphNode node, bool enabled);
void nk_record_graph_gone(CUgraphExec exec);
// A graph was launched. What is in it counts as launched once, unless it was launched by itself before; while
// nk_graphs_new is 0 all that there are were counted.
extern _Atomic unsigned nk_graphs_new;
void nk_record_graph_ran(CUgraphExec exec);
// A launch of a graph that is not waited for (NOKERNEL_SYNC=trail).
void nk_record_graph_launched(CUgraphExec exec, CUstream stream, bool per_thread);
void nk_record_graph_failed(enum nk_entry_id api, CUgraphExec exec, const void *stream, CUresult r,
                            enum nk_pinned pinned, const void *caller);

// ---- the runtime (hook_runtime.c)

static inline void nk_call_begin(struct nk_call *call, enum nk_entry_id api, const void *function, const void *caller)
{
    *call = (struct nk_call){api, function, caller, false, nk_thread.call};
    nk_thread.call = call;
}
// Ends the call; when it failed and the driver's functions saw no failure meanwhile, records it. Returns `r`.
cudaError_t nk_call_end(struct nk_call *call, cudaError_t r);
// The kernel behind a cudaKernel_t, as __cudaGetKernel gave it for a host function.
void nk_record_runtime_kernel(const void *kernel, const void *host_function);
// An error was read by cudaGetLastError or cudaPeekAtLastError.
void nk_record_surfaced(enum nk_entry_id api, cudaError_t r, const void *caller);

// ---- the process (process.c)

// The process ends: writes what is left and prints the report. Called again when more of the end was seen: prints it
// again if something had failed meanwhile. After NK_EXIT_UNDERSCORE and NK_EXIT_QUICK nothing is recorded any more.
void nk_record_finish(enum nk_exit how, int status);
// Around fork: no half-written record in the child, and the child starts with an empty slate.
void nk_record_fork_prepare(void);
void nk_record_fork_parent(void);
void nk_record_fork_child(void);

#endif
