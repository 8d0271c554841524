// kernels.h - the kernels of an image by name, and which images of a container hold a given one.
#ifndef NK_IMAGE_KERNELS_H
#define NK_IMAGE_KERNELS_H

#include "image/fatbin.h"
#include "image/unpack.h"

#include <stdbool.h>

// enum nk_hold of a recording, to the value.
enum {
    NK_KERNEL_ABSENT = 0,
    NK_KERNEL_PRESENT = 1,
    NK_KERNEL_HOLLOW = 2, // there, but its body was compiled away for this architecture: a launch does nothing
    NK_KERNEL_UNKNOWN = 3,
};

// A body of at most so many bytes is hollow when another image of the container has one more than 4 times as large.
// Measured on torch 2.15.0, xformers 0.0.33, vllm 0.33: bodies compiled away have 128 to 512 bytes.
#define NK_HOLLOW_BODY 512u
// nk_container_holds leaves larger images (decoded) unread: it runs inside somebody else's process.
#define NK_HOLDS_LIMIT (256ull << 20)

struct nk_kernel_view {
    struct nk_bytes name; // valid until the next nk_unpack with the same memory
    uint64_t body;        // cubin: bytes of machine code. PTX: characters of the body, without blanks at its ends
    bool local;           // static or in an anonymous namespace; never set for PTX
    bool bare_return;     // PTX: the body is empty or nothing but "ret;"
};

// 0 goes on, a positive number ends the list.
typedef int (*nk_kernel_fn)(const struct nk_kernel_view *kernel, void *user);

// Decodes the image into `memory` (see image/unpack.h; at most `limit` bytes, 0: NK_UNPACK_MAX) and calls `each` for
// all its kernels; PTX may name one twice. Returns 0, the positive number of `each`, or -1 with a sentence when the
// image cannot be read (those before the damage were handed out) or is of a kind that holds no kernels which could be
// named (NK_ERR_UNSUPPORTED: LTO-IR, unknown).
int nk_image_kernels(const struct nk_entry_view *entry, struct nk_unpacked *memory, uint64_t limit, nk_kernel_fn each,
                     void *user, struct nk_err *err);

// Which images of `container` (or bare image) hold the kernel `name`: holds[i] for i < n_images, in the order in which
// nk_fatbin_next hands them out. Images that are not there or cannot be read are UNKNOWN.
// Allocates at most NK_HOLDS_LIMIT + 8 bytes an image + 1 MB, and gives all of it back.
// 0, or -1 with a sentence: the container cannot be walked to its end (what was filled before stands, the rest is
// UNKNOWN), or memory is short (all UNKNOWN).
int nk_container_holds(struct nk_bytes container, const char *name, unsigned char holds[], size_t n_images,
                       struct nk_err *err);

#endif
