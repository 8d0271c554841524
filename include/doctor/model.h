// model.h - what `nokernel doctor` has looked at, layer by layer, and what it found.
//
// One owner: everything that is reachable from a nk_doctor belongs to it and lives until nk_doctor_free. Texts are
// never NULL ("" when unknown). Paths are as seen inside `root`, which is "" in real life. When memory was short
// `failed` is set and something is missing.
#ifndef NK_DOCTOR_MODEL_H
#define NK_DOCTOR_MODEL_H

#include "advice/advice.h"
#include "advice/findings.h"
#include "advice/installer.h"
#include "base/buf.h"
#include "image/image.h"
#include "verdict/judge.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { NK_DOCTOR_GPUS = 64, NK_DOCTOR_PATH = 4096 };

// What is to be examined.
struct nk_doctor_asked {
    const char *root;    // a folder that is taken for "/": an unpacked image, another disk; "" for this machine
    const char *python;  // interpreter or environment; NULL: the one that runs first
    const char *command; // "nokernel doctor --python ...", as it is shown
    const char *gpus;    // as --gpu takes them; NULL: those of the driver
    const char *const *recordings; // paths of recordings that may be evidence, oldest first
    size_t recording_count;
    bool full_paths;
};

struct nk_doctor_gpu {
    char name[128]; // "" when it was only asked about
    char text[64];  // "sm_120", "sm_120@580": as it is named in sentences
    int ordinal;    // -1: asked about
    struct nk_target target;
};

enum nk_driver_state {
    NK_DRIVER_UNASKED, // not opened: --gpu names GPUs
    NK_DRIVER_ABSENT,
    NK_DRIVER_HANGS,
    NK_DRIVER_REFUSES, // cuInit, or what follows it, returned `result`
    NK_DRIVER_WORKS,
};

struct nk_doctor_driver {
    enum nk_driver_state state;
    int result, cuda;             // as the driver returned them
    char library[NK_DOCTOR_PATH]; // behind links
    char version[32];             // "580.65.06" of the library
    char module[32];              // of the kernel module
    char why[256];                // what the loader said
    int all;                      // GPUs without CUDA_VISIBLE_DEVICES; -1 not known
    bool wsl, container, stub, compat;
};

enum nk_site_kind { NK_SITE_OWN, NK_SITE_PYTHONPATH, NK_SITE_USER, NK_SITE_BASE, NK_SITE_PTH };

struct nk_doctor_site {
    const char *path;
    enum nk_site_kind kind;
};

struct nk_doctor_python {
    const char *exe;              // the command to call, absolute
    const char *shown;            // the same as a shell takes it, the home directory as ~
    const char *prefix, *base;    // base: of a virtual environment the Python that it was made from, else ""
    const char *kind;             // "venv", "conda", "system", "" unknown
    const char *version, *full;   // "3.11", "3.11.7"
    bool uv;                      // uv made the environment, which so has no pip of its own
    const char *why;              // no Python: the sentence that says why
    struct nk_doctor_site *sites; // in the order in which they are searched
    size_t site_count, site_room;
};

// An installed distribution.
struct nk_doctor_package {
    const char *name, *version; // version with its local part (+cu121)
    const char *site, *info;    // folder of packages; name of its *.dist-info there
    const char *installer;
    const char *origin;   // as packages/package.h says
    const char *metadata; // text of METADATA, for the known ones; ""
    enum nk_site_kind kind;
    int cuda;           // as cuDriverGetVersion counts; 0 unknown or none; -1 a build for the CPU
    bool known;         // a framework or a companion
    bool hidden;        // another one of that name comes first
    const char *record; // a fingerprint of its RECORD: 16 hex digits, "" without one
    int64_t installed;  // seconds since 1970; 0 unknown
};

// Containers on a GPU; word: "native", "jit", "partly", "none", "unknown", or "" when there is nothing to cover.
struct nk_doctor_cover {
    size_t native, jit, none, unknown;
    const char *word;
    struct nk_verdict verdict; // of the first container that does not run (or, without one, of the first)
    size_t box;                // that container
};

struct nk_doctor_box {
    size_t first, count; // in images
};

// A library with device code.
struct nk_doctor_library {
    struct nk_doctor_package *package; // NULL: none
    const char *path;                  // absolute
    const char *shown;                 // "torch/lib/libtorch_cuda.so"
    const char *hash;                  // "sha256=...", as RECORD says; ""
    const char *build_id;
    struct nk_image *images;
    struct nk_doctor_box *boxes;
    size_t image_count, image_room, box_count, box_room;
    uint64_t size;
    uint16_t machine; // of ELF
    struct nk_doctor_cover cover[NK_DOCTOR_GPUS];
};

// A CUDA library that the loader would take.
struct nk_doctor_runtime {
    const char *name;                  // "libcudart.so.12"
    const char *path;                  // "" when there is none
    const char *by;                    // the library that needs it first
    const char *how;                   // "RPATH", "LD_LIBRARY_PATH", "RUNPATH", "cache", "default", "preloaded", ""
    struct nk_doctor_package *package; // of the path; may be NULL
};

struct nk_doctor_row {
    const char *area;
    struct nk_buf found;
    bool unchecked; // nothing about it could be looked at
};

struct nk_doctor_finding {
    enum nk_finding_name name;
    enum nk_severity severity;
    bool primary;
    const struct nk_doctor_package *package; // or NULL
    int gpu;                                 // index in gpus, or -1
    struct nk_buf sentence, remedy, command, verify;
    struct nk_buf evidence;  // a line each
    struct nk_advice advice; // beside remedy and command
};

struct nk_doctor {
    struct nk_doctor_asked asked;
    enum nk_language language;
    struct nk_doctor_gpu gpus[NK_DOCTOR_GPUS];
    size_t gpu_count;
    struct nk_doctor_driver driver;
    struct nk_doctor_python python;
    struct nk_doctor_package **packages;
    struct nk_doctor_library **libraries;
    struct nk_doctor_runtime *runtimes;
    struct nk_doctor_row *rows;
    struct nk_doctor_finding **findings;
    size_t package_count, package_room, library_count, library_room, runtime_count, runtime_room, row_count, row_room,
        finding_count, finding_room;
    struct nk_doctor_block *memory;
    bool failed;
};

// `size` zeroed bytes that live as long as the doctor, or NULL (and `failed`).
void *nk_doctor_alloc(struct nk_doctor *doctor, size_t size);
// A copy of a text; "" when memory is short.
const char *nk_doctor_keep(struct nk_doctor *doctor, const char *text, size_t size);
const char *nk_doctor_keep_text(struct nk_doctor *doctor, const char *text);
// The text of a buffer, which it frees.
const char *nk_doctor_keep_buf(struct nk_doctor *doctor, struct nk_buf *text);
// An array with room for one more, or NULL. size: of an element.
void *nk_doctor_grow(struct nk_doctor *doctor, void *array, size_t count, size_t *room, size_t size);

// The row of an area; made when it is not there. Never NULL.
struct nk_doctor_row *nk_doctor_row(struct nk_doctor *doctor, const char *area);
// A new finding, its sentence filled with what is put in for {1} to {3}. Never NULL.
struct nk_doctor_finding *nk_doctor_find(struct nk_doctor *doctor, enum nk_finding_name name, const char *first,
                                         const char *second, const char *third);
// The same about a package (NULL: none): commands are those of its installer.
struct nk_doctor_finding *nk_doctor_find_in(struct nk_doctor *doctor, const struct nk_doctor_package *package,
                                            enum nk_finding_name name, const char *first, const char *second,
                                            const char *third);
// "~/v/bin/python -m pip install ", or what the installer of the package (NULL: of this Python) says: the names come
// behind it. Kept; "" for what conda or Debian installed, whose names and versions are not pip's.
const char *nk_doctor_install(struct nk_doctor *doctor, const struct nk_doctor_package *package,
                              enum nk_installing what);
// Adds a line of evidence.
void nk_doctor_see(struct nk_doctor_finding *finding, const char *format, ...) __attribute__((format(printf, 2, 3)));
// The finding of that name about that package (NULL: none) and GPU (-1: none), or NULL.
struct nk_doctor_finding *nk_doctor_found(const struct nk_doctor *doctor, enum nk_finding_name name,
                                          const struct nk_doctor_package *package, int gpu);
// Takes a finding back. It is not to be used any more.
void nk_doctor_drop(struct nk_doctor *doctor, struct nk_doctor_finding *finding);

// A path with home directories as ~ unless full paths were asked for, kept.
const char *nk_doctor_shown(struct nk_doctor *doctor, const char *path);
// GPUs of one architecture and driver are one kind: is this the first of its kind? What is said about it is said of
// all.
bool nk_doctor_first_of_kind(const struct nk_doctor *doctor, size_t gpu);
// "sm_120"; where the machine has GPUs of several kinds "GPU 2 (sm_120)", "GPU 0, 1 (sm_80)". Kept.
const char *nk_doctor_gpu_title(struct nk_doctor *doctor, size_t gpu);
// The same as a word of a shell, for commands.
const char *nk_doctor_shell(struct nk_doctor *doctor, const char *path);
// Where a package came from, as it is shown, or (shell) as nk_install_origin takes it. Kept.
const char *nk_doctor_origin(struct nk_doctor *doctor, const struct nk_doctor_package *package, bool shell);
// Is it made of the characters of names and versions alone, so that it may go into a command as it is?
bool nk_doctor_plain(const char *text);
// A package that is imported under that name (case, "-", "_" and "." do not count), or NULL.
struct nk_doctor_package *nk_doctor_package(const struct nk_doctor *doctor, const char *name);
// The framework: torch, else the first other one; NULL.
struct nk_doctor_package *nk_doctor_framework(const struct nk_doctor *doctor);
// The value of an environment variable; "" when it is not set.
const char *nk_doctor_env(const char *name);

void nk_doctor_free(struct nk_doctor *doctor);

#endif
