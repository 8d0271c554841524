// objects.h - which image a library, module, kernel or function handle came from.
//
// Keyed by lifetime: handles and code addresses are used again after an unload, so both are forgotten then. Containers
// and kernels themselves live until the process ends (their number is bounded by distinct code), so a pointer to one
// never dangles. Reading the map of kernels takes no lock; everything else is called with the recording's lock held.
#ifndef NK_PRELOAD_OBJECTS_H
#define NK_PRELOAD_OBJECTS_H

#include "image/image.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nk_holdings; // image/holdings.h
struct nk_handle;   // a live handle, in the list of its container

// A fat binary, a bare cubin or PTX text that was registered or loaded.
struct nk_container {
    uint64_t key;      // content or address: see record_container
    const void *code;  // what was passed to the driver, or NULL for a file
    char *file;        // path, for what was loaded from a file; else NULL
    uint32_t id;       // in the recording; 0 until it is written
    uint32_t origin;   // enum nk_origin
    uint32_t loads;    // successful loads that were not unloaded yet
    bool lives;        // `code` still holds the image
    bool names_done;   // its kernels are in the recording
    bool targets_done; // what its PTX says itself is in the recording, where its header says otherwise
    bool refused;      // at a runtime's start
    struct nk_image *images;
    size_t n_images;
    struct nk_holdings *holdings; // read when a kernel of it first fails; NULL before
    struct nk_handle *handles;
    struct nk_kernel *kernels; // those that are in the recording
};

struct nk_kernel {
    const char *name;               // mangled; owned
    struct nk_container *container; // NULL: unknown
    _Atomic(uint64_t *) launches;   // its counter; NULL until it was first launched
    uint32_t id;                    // in the recording; 0 until it is written
    uint32_t gpu;                   // where it was first looked up or launched
    bool holds_done, looked_at;     // its HOLDS record is written; see hollow.c
    struct nk_kernel *next;         // in the container's list
};

// The kernel behind a CUfunction or CUkernel (a runtime passes either where CUfunction is declared), or NULL.
struct nk_kernel *nk_kernel_of(const void *handle);
// The container behind a CUlibrary or CUmodule, or NULL.
struct nk_container *nk_container_of(const void *handle);

// The kernel of that name in that container (may be NULL), made when it is new. NULL when memory is short.
struct nk_kernel *nk_kernel_get(struct nk_container *container, const char *name);
// The container with that key, made when it is new (*created tells). With created NULL only looked for. NULL: absent,
// or memory is short.
struct nk_container *nk_container_get(uint64_t key, bool *created);

// The one container whose code lies in [start, end) and was refused at start-up; NULL when there is none, or several.
struct nk_container *nk_container_refused_in(uintptr_t start, uintptr_t end);
// All containers that are found by their key: start with *cursor = 0; NULL at the end.
struct nk_container *nk_container_next(size_t *cursor);
// Another image may come to that address: the container is not found by its key any more.
void nk_container_drop(struct nk_container *container);
// For a forked child, whose recording knows nothing yet: forgets everything.
void nk_objects_reset(void);

void nk_bind_kernel(const void *handle, struct nk_kernel *kernel);
void nk_bind_container(const void *handle, struct nk_container *container);
// A library or module is gone: its handle is forgotten, and with the last one the handles of its kernels.
void nk_unbind_container(const void *handle);

#endif
