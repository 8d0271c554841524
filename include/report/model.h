// model.h - what a recording says, resolved: the one source of every format of the report.
//
// nk_run_open reads a recording of one process; nk_sums (report/sums.h) adds what follows from it. A run owns its file,
// its texts and its arrays; pointers between them live as long as the run. Ids that lead nowhere are NULL pointers,
// never errors: a recording may end anywhere. All texts are NUL-terminated, with control characters replaced by '?'.
#ifndef NK_REPORT_MODEL_H
#define NK_REPORT_MODEL_H

#include "base/buf.h"
#include "base/file.h"
#include "recording/reader.h"
#include "verdict/judge.h"

struct nk_run_gpu {
    struct nk_rec_gpu r;
    const char *name;
    bool asked; // not recorded: the one that --gpu asked for
};

struct nk_run_library {
    uint32_t id;
    const char *path, *build_id;                                 // "" when unknown
    const char *package, *version, *source, *installer, *origin; // as packages/package.h says
    bool scanned; // has SCANNED containers, which then list all of its file
};

struct nk_run_container {
    struct nk_rec_container r;
    struct nk_run_library *library, *loader;
    const char *file;
    const struct nk_image *images;
    size_t count;
    const uint32_t *names; // string ids of its kernels, where the driver was not told which one was wanted
    uint32_t names_count, names_total;
    bool refused;                        // at start-up
    const struct nk_run_gpu *judged_for; // memory of nk_sums_kernel: most kernels of a container have one verdict
    struct nk_verdict judged;
};

struct nk_run_kernel {
    uint32_t name;
    struct nk_run_container *container;
    struct nk_run_gpu *gpu;
    uint64_t launches;          // as counted, refused ones included
    uint64_t failed;            // by a missing image or otherwise, without probes
    const unsigned char *holds; // enum nk_hold an image of the container, or NULL
};

struct nk_run_load {
    struct nk_rec_load r;
    struct nk_run_container *container;
    struct nk_run_gpu *gpu;
};

// Why a frame's function has no name, or where the name comes from.
enum nk_named {
    NK_NAMED_NOT,        // by no table that was there
    NK_NAMED_BY_PROCESS, // by what the library exports, when it happened
    NK_NAMED_BY_FILE,    // by the symbol table of its file, when the report was made
    NK_NAMED_BY_DEBUG,   // by that of a separate file of symbols with the same build-id
    NK_NAMED_CHANGED,    // not: the file has another build-id now
    NK_NAMED_GONE,       // not: the file cannot be read
};

struct nk_run_frame {
    struct nk_rec_frame r;
    struct nk_run_library *library;
    const char *symbol;    // mangled; "" unknown
    uint64_t displacement; // from its start
    enum nk_named named;
};

struct nk_run_stack {
    struct nk_run_frame *frames;
    uint32_t count;
};

struct nk_run_python_frame {
    const char *file, *function;
    uint32_t line; // 0 unknown
};

struct nk_run_python {
    const struct nk_run_python_frame *frames; // innermost first
    uint32_t count;
};

struct nk_run_place {
    struct nk_rec_place r;
    const struct nk_run_stack *stack;   // or NULL
    const struct nk_run_python *python; // or NULL
};

struct nk_run_surfaced {
    struct nk_rec_surfaced r;
    struct nk_run_library *library;
};

// The kernels that a graph launches, each once.
struct nk_run_graph {
    uint32_t nodes, count; // kernel nodes; kernels
    const struct nk_run_graph_kernel {
        struct nk_run_kernel *kernel; // NULL unknown
        uint32_t nodes;
    } * kernels;
};

// One launch of a stream; kernel or graph, or neither where it is not known.
struct nk_run_launch {
    uint64_t number, thread;
    struct nk_run_kernel *kernel;
    struct nk_run_graph *graph;
};

// The launches of a stream when a failure came back.
struct nk_run_trail {
    struct nk_rec_trail r;
    struct nk_run_gpu *gpu;
    const struct nk_run_launch *launches; // r.n of them
};

enum nk_failure_class {
    NK_CLASS_MISSING, // no image could be used
    NK_CLASS_OTHER,   // failed for another reason
    NK_CLASS_ASKED,   // a query was refused: not a failure
};

struct nk_run_failure {
    struct nk_rec_failure r;
    struct nk_run_kernel *kernel;
    struct nk_run_container *container; // the kernel's, when the record names none
    struct nk_run_library *library;
    struct nk_run_gpu *gpu;
    const struct nk_run_stack *stack;
    const struct nk_run_python *python;     // or NULL
    const struct nk_run_surfaced *surfaced; // or NULL
    struct nk_run_graph *graph;             // what was launched is a graph; or NULL
    uint64_t count;
    // Filled by nk_sums:
    enum nk_failure_class class;
    struct nk_verdict verdict;
    bool contradiction; // the rules say that it runs
    bool barren;        // a refused query, and nothing in its library runs on that GPU
    bool coped;         // a refused query after which the library, that has code for that GPU, asked on
    uint32_t guess;     // string id of the kernel whose host function stands in the stack; 0 none
    bool guess_by_file; // that function was named by a file of this machine, not by the process
};

struct nk_run {
    const char *path; // absolute
    struct nk_file file;
    struct nk_reader reader;
    const char **texts; // by string id, made on first use
    struct nk_run_block *memory;

    struct nk_rec_process process;
    const uint32_t *args, *env; // string ids
    struct nk_rec_driver driver;
    struct nk_rec_exit exit;
    bool has_process, has_exit;
    struct nk_run_gpu *gpus;
    struct nk_run_library *libraries;
    struct nk_run_container *containers;
    struct nk_run_load *loads;
    struct nk_run_kernel *kernels;
    struct nk_run_stack *stacks;
    struct nk_run_python *pythons;
    struct nk_run_failure *failures;
    struct nk_run_surfaced *surfaced;
    struct nk_run_place *places; // further ones of failures
    struct nk_run_graph *graphs;
    struct nk_run_trail *trails; // those of a failure follow each other
    uint32_t *notes;             // string ids
    struct nk_rec_passed *passed;
    size_t gpu_count, library_count, container_count, load_count, kernel_count, stack_count, python_count,
        failure_count, surfaced_count, place_count, graph_count, trail_count, note_count, passed_count;
};

// 0, or -1 with a sentence that names the path: it cannot be read, or is no recording. Free it in both cases.
int nk_run_open(struct nk_run *run, const char *path, struct nk_err *err);
// The same from the recording alone, whatever files are on this machine: functions that the process itself could not
// name stay without a name.
int nk_run_read(struct nk_run *run, const char *path, struct nk_err *err);
void nk_run_free(struct nk_run *run);
// Tells recordings apart: the same for every copy of a file, and for the file of a process that still runs.
uint64_t nk_run_identity(const struct nk_run *run);
// An interned text; "" for 0 and for an unknown id. Never NULL.
const char *nk_run_text(struct nk_run *run, uint32_t id);
// `size` zeroed bytes that live as long as the run, or NULL.
void *nk_run_alloc(struct nk_run *run, size_t size);
// The GPU as something to judge for.
struct nk_target nk_run_target(const struct nk_run *run, const struct nk_run_gpu *gpu);

#endif
