// event.h - the records of a recording (.nkr): our only file format.
//
// A file is a 16-byte nk_file_header, then records to the end. A record is nk_record_header, then a fixed part of
// `head` bytes (one of the structs below), then a tail of `length - 8 - head` bytes (arrays, as each struct says), then
// zeros up to a multiple of 8. All numbers are little-endian.
//
// Growth: new members go to the end of a fixed part. A reader copies min(head, sizeof) bytes into a zeroed struct, so
// old readers read new files and new readers old ones. Unknown record types are skipped. A file may end anywhere: what
// follows the last whole record is ignored.
//
// Texts are interned: STRING records give them numbers 1, 2, 3, ...; 0 is "none". An id is defined before it is used.
// Ids of libraries, containers, kernels, failures and stacks (native, Python) count from 1 likewise; 0 is "unknown".
#ifndef NK_RECORDING_EVENT_H
#define NK_RECORDING_EVENT_H

#include <stdint.h>

// How the path of a recording begins that lives in memory, because no file could be written.
#define NK_IN_MEMORY         "/proc/self/fd/"
#define NK_RECORDING_MAGIC   "NKREC\r\n\032"
#define NK_RECORDING_VERSION 1
#define NK_NONE              UINT32_MAX // "no GPU", "count unknown"

struct nk_file_header {
    char magic[8];
    uint32_t version;
    uint32_t reserved;
};

struct nk_record_header {
    uint32_t length; // whole record, this header included; a multiple of 8
    uint16_t type;
    uint16_t head; // bytes of the fixed part
};

enum nk_record_type {
    NK_REC_STRING = 1,
    NK_REC_PROCESS = 2,
    NK_REC_DRIVER = 3,
    NK_REC_GPU = 4,
    NK_REC_LIBRARY = 5,
    NK_REC_PACKAGE = 6,
    NK_REC_CONTAINER = 7,
    NK_REC_LOAD = 8,
    NK_REC_KERNEL = 9,
    NK_REC_HOLDS = 10,
    NK_REC_NAMES = 11,
    NK_REC_FAILURE = 12,
    NK_REC_STACK = 13,
    NK_REC_SURFACED = 14,
    NK_REC_COUNTERS = 15,
    NK_REC_EXIT = 16,
    NK_REC_NOTE = 17,
    NK_REC_PYTHON = 18,
    NK_REC_GRAPH = 19,
    NK_REC_TRAIL = 20,
    NK_REC_PASSED = 21,
    NK_REC_PLACE = 22,
};

// Tail: `size` bytes of text, not NUL-terminated (it may hold any byte but NUL).
struct nk_rec_string {
    uint32_t id, size;
};

// The process that was watched. Tail: argc string ids, then envc string ids ("NAME=value").
struct nk_rec_process {
    uint64_t pid, parent_pid;
    uint64_t started; // nanoseconds since 1970
    uint32_t exe, directory, host;
    uint32_t tool;   // version of the library that wrote this
    uint32_t sync;   // the setting in force, as text ("launch", "off")
    uint32_t parent; // path of the recording of the process that forked this one
    uint32_t argc, envc;
    uint64_t random; // tells recordings apart wherever they are read; 0 in those of older libraries
};

// Written when libcuda is first seen; `cuda` is 0 until it could be asked (the last DRIVER record counts).
struct nk_rec_driver {
    uint32_t path;    // of libcuda.so.1
    uint32_t version; // "580.65.06", where it can be learnt without NVML
    uint32_t cuda;    // as cuDriverGetVersion: 13000
    uint32_t loading; // CUmoduleLoadingMode: 1 eager, 2 lazy, 0 unknown
    uint32_t jit;     // bit 0: CUDA_FORCE_PTX_JIT=1, bit 1: CUDA_DISABLE_PTX_JIT=1
    uint32_t reserved;
};

struct nk_rec_gpu {
    uint32_t ordinal; // as the process sees it
    uint32_t sm;      // 120 = compute capability 12.0
    uint32_t name;
    uint32_t integrated; // CU_DEVICE_ATTRIBUTE_INTEGRATED
    uint8_t uuid[16];
    uint64_t memory; // bytes
};

struct nk_rec_library {
    uint32_t id, path, build_id; // build_id: hex text
    uint32_t reserved;
};

// Which package a library belongs to. May follow its LIBRARY record at any distance; the last one counts.
struct nk_rec_package {
    uint32_t library, name, version;
    uint32_t source;    // "pip", "conda", "deb", as text
    uint32_t installer; // "pip", "uv", ..., as text
    uint32_t origin;    // where it came from when that was no index, as text (packages/package.h)
};

enum nk_origin {
    NK_ORIGIN_REGISTERED = 1, // __cudaRegisterFatBinary
    NK_ORIGIN_LIBRARY = 2,    // cuLibraryLoadData
    NK_ORIGIN_MODULE = 3,     // cuModuleLoadData, ...DataEx, ...FatBinary
    NK_ORIGIN_FILE = 4,       // cuModuleLoad, cuLibraryLoadFromFile
    NK_ORIGIN_PRIVATE = 5,    // the private load slots of 11.x runtimes
    NK_ORIGIN_SCANNED = 6,    // found in a file, whether or not the driver ever saw it
    NK_ORIGIN_LINKED = 7,     // an input of the driver's linker: cuLinkAddData, cuLinkAddFile
};

// A container of images (a fat binary, a bare cubin, PTX text). Tail: n_images nk_rec_image.
// SCANNED ones are summed up: `count` containers of that library have this same list of images.
// An id that was there before: only the images count, which are known better now.
struct nk_rec_container {
    uint32_t id;
    uint32_t library; // in whose file it lies; 0: in anonymous memory
    uint32_t loader;  // library whose code loaded it
    uint32_t origin;  // enum nk_origin
    uint32_t file;    // path, for ORIGIN_FILE and LINKED
    uint32_t count;   // 1, or for SCANNED how many are alike
    uint32_t n_images;
    uint32_t flags;  // NK_CONTAINER_*
    uint64_t offset; // from the library's load base (live), or in the file (scanned)
};
enum {
    NK_CONTAINER_OUTSIDE = 1,     // not in .nv_fatbin
    NK_CONTAINER_RELOCATABLE = 2, // in __nv_relfatbin: input of the device linker, never loaded by itself
    NK_CONTAINER_DAMAGED = 4,     // could not be walked to its end
};

// One image; the fields are those of struct nk_image (image/fatbin.h), to the bit.
struct nk_rec_image {
    uint16_t kind;                // enum nk_image_kind
    uint16_t arch;                // 90
    uint8_t suffix;               // 0, 'a' or 'f'
    uint8_t codec;                // enum nk_codec
    uint8_t isa_major, isa_minor; // PTX ISA (PTX), or the entry's code version (cubin: 1.7, 1.8)
    uint32_t flags;               // NK_IMAGE_*
    uint32_t kernels;             // how many kernels it holds, or NK_NONE
    uint64_t size;                // stored bytes
};

// A load or a look-up that was made by the program or its runtime: one a (container, api, result, gpu).
struct nk_rec_load {
    uint32_t container, api, gpu;
    int32_t result;
    uint32_t startup; // 1: made by the runtime for every fat binary at its start (EAGER), not for a kernel
    uint32_t reserved;
};

struct nk_rec_kernel {
    uint32_t id, name, container;
    uint32_t counter; // index of its launch count
    uint32_t gpu;     // where it was first looked up or launched
    uint32_t reserved;
};

enum nk_hold { NK_HOLD_ABSENT = 0, NK_HOLD_PRESENT = 1, NK_HOLD_HOLLOW = 2, NK_HOLD_UNKNOWN = 3 };

// Which images of its container hold the kernel. Tail: n bytes, enum nk_hold, in the order of the images.
struct nk_rec_holds {
    uint32_t kernel, n;
};

// The kernels of a container, where the driver was never told which one was wanted. Tail: n string ids.
struct nk_rec_names {
    uint32_t container, n;
    uint32_t total; // n may be fewer
    uint32_t reserved;
};

enum nk_failure_kind {
    NK_FAILED_LAUNCH = 1, // a launch was refused or failed, or a look-up that a launch made
    NK_FAILED_LOAD = 2,   // the program loaded an image itself and was refused
    NK_FAILED_LOOKUP = 3, // a kernel or a module was asked for, by whom cannot be seen (static runtime)
    NK_FAILED_PROBE = 4,  // a query was refused: attributes, occupancy
    NK_FAILED_GRAPH = 5,  // adding or launching a graph
    NK_FAILED_WAIT = 6,   // a call that waits returned an error of earlier work that no launch could be pinned to
};
enum nk_pinned {
    NK_PINNED_RETURNED = 1,     // the call itself returned the error
    NK_PINNED_SYNCHRONISED = 2, // the launch's stream was waited for
    NK_PINNED_TRAIL = 3,        // TRAIL records tell which launches had not ended
};

// The first of each (kind, kernel or container, result, gpu); `counter` counts them all.
struct nk_rec_failure {
    uint32_t id, kind;
    uint32_t api;    // the function that returned the error
    uint32_t inside; // the runtime's function that the program had called, when known
    int32_t result;
    uint32_t kernel, container;
    uint32_t library; // whose code made the call
    uint32_t gpu;
    uint32_t counter;
    uint32_t stack;
    uint32_t pinned;  // enum nk_pinned
    uint32_t runtime; // 1: `result` is a cudaError_t
    uint32_t python;  // id of a PYTHON record: the Python stack of the thread
    uint64_t thread, stream;
    uint64_t time;   // nanoseconds since 1970
    uint32_t graph;  // id of a GRAPH record: what was launched is a graph
    uint32_t at_end; // 1: the library asked when the program ended; nobody else had
};

struct nk_rec_frame {
    uint64_t address, offset; // offset: from the library's load base
    uint32_t library, symbol; // symbol: mangled name, 0 unknown
    uint64_t displacement;    // from the symbol's start
};

// Tail: n nk_rec_frame, innermost first.
struct nk_rec_stack {
    uint32_t id, n;
};

// As a Python traceback shows it. file: as the code object names it, UTF-8, a lone surrogate as "\udcXX".
struct nk_rec_python_frame {
    uint32_t file, function;
    uint32_t line; // 0 unknown
};

// Tail: n nk_rec_python_frame, innermost first; 128 at most.
struct nk_rec_python {
    uint32_t id, n;
};

// A failure came again, from another place than before. The first few of them are looked at, and later ever fewer.
struct nk_rec_place {
    uint32_t failure, stack, python;
    uint32_t reserved;
    uint64_t nth; // this time: 2 the second, ...
};

// The kernels that a graph launches, each once. Tail: n nk_rec_graph_kernel, in the order of the graph's nodes.
struct nk_rec_graph {
    uint32_t id;
    uint32_t nodes; // kernel nodes, those of child graphs and of conditional bodies included
    uint32_t n;
    uint32_t reserved;
};
struct nk_rec_graph_kernel {
    uint32_t kernel; // 0 unknown
    uint32_t nodes;  // of this kernel
};

// The launches of one stream when an error of earlier work came back (NOKERNEL_SYNC=trail): one record a stream. They
// are numbered from 1 in the order of their calls. Tail: n nk_rec_trail_launch: the last one that is known to have
// ended, if it is still known which it was, then those after it.
struct nk_rec_trail {
    uint32_t failure, gpu;
    uint64_t stream;   // the handle: 0 and 1 the legacy default stream, 2 the thread's own one
    uint64_t thread;   // whose own default stream it is, else 0
    uint64_t launched; // launches so far
    uint64_t complete; // the first so many are known to have ended
    uint64_t lost;     // of those after them, the first so many are no longer known
    uint32_t flags;    // NK_TRAIL_*
    int32_t stopped;   // why markers are off
    uint32_t n;
    uint32_t suspects; // of the launches after `complete`, one of the first so many failed, if one of this stream did.
                       // 0: of an older library, for which it was one
};
enum {
    NK_TRAIL_EVENTS = 1, // known by events, and only as of the stream's last launch
    NK_TRAIL_OFF = 2,    // a marker failed with `stopped`: what ended after that is not known
    NK_TRAIL_GONE = 4,   // the stream was destroyed
};
struct nk_rec_trail_launch {
    uint64_t number, thread;
    uint32_t kernel, graph; // kernel 0: a graph, or unknown
};

// Where an error that a failure left behind was read first.
struct nk_rec_surfaced {
    uint32_t failure, api;
    int32_t result;
    uint32_t library; // whose code read it
    uint32_t later;   // 1: the reading thread had launched something else, or was another thread
    uint32_t stack;
    uint64_t thread, time;
};

// A block of 64-bit counters that the library keeps mapped: counter `first + i` is the u64 at file offset
// `offset + 8 * i`, for i < n. The block lies in the tail, page-aligned.
struct nk_rec_counters {
    uint32_t first, n;
    uint64_t offset;
    uint32_t flags; // NK_COUNTERS_*
    uint32_t reserved;
};
enum { NK_COUNTERS_COPIED = 1 }; // not mapped, but copied to the file now and then, and when the process ends

enum nk_exit { NK_EXIT_EXIT = 1, NK_EXIT_QUICK = 2, NK_EXIT_UNDERSCORE = 3, NK_EXIT_UNKNOWN = 4 };

// The process ended in a way that could be seen. Without this record it was killed, or still runs.
struct nk_rec_exit {
    uint32_t how; // enum nk_exit
    int32_t status;
    uint64_t time;
    uint64_t unfinished; // launches in these streams that are not known to have ended
    uint32_t streams;    // that were still at work (NOKERNEL_SYNC=trail)
    uint32_t reserved;
};

// Something that the reader of a report should know: what was not recorded, a setting that was ignored.
struct nk_rec_note {
    uint32_t text, reserved;
};

// A function of the driver that the library does not know, though its name says that it loads or launches: how often
// the process called it. Written at the end.
struct nk_rec_passed {
    uint32_t name, reserved;
    uint64_t calls;
};

#endif
