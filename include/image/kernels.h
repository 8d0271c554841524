// kernels.h - the kernels of an image by name, and what the size of their bodies tells.
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

// Of a body compiled away. Measured on torch 2.15.0, xformers 0.0.33, vllm 0.33: these have 128 to 512 bytes.
#define NK_HOLLOW_BODY 512u
// What a PTX body of nothing but "ret;" compiles to, on every architecture that was looked at.
#define NK_RETURN_BODY 128u

struct nk_kernel_view {
    struct nk_bytes name; // valid until the next nk_unpack with the same memory
    uint64_t body;        // cubin: bytes of machine code. PTX: characters of the body, without blanks at its ends
    bool local;           // static or in an anonymous namespace; never set for PTX
    bool bare_return;     // PTX: the body is empty or nothing but "ret;"
};

// Bytes of machine code of a kernel in an image of that kind; 0 where PTX does not tell.
static inline uint64_t nk_kernel_code(const struct nk_kernel_view *kernel, uint16_t kind)
{
    return kind == NK_KIND_CUBIN ? kernel->body : kernel->bare_return ? NK_RETURN_BODY : 0;
}

// Was a body of `size` bytes (0: not known) compiled away? `largest`: of the kernel in all images of the container.
//
// How right that is was measured on 29 wheels of PyPI and on torch 1.13.1, 2.0.1, 2.1.2, 2.15.0 and bitsandbytes
// 0.50.2, by reading the instructions: of 26,060 bodies that it finds, 8 of 384 and 512 bytes write to memory
// (onnxruntime 1.27.0, real kernels that were unrolled for other architectures), and 2 of 512 bytes for sm_35
// (torch 1.13.1) are probably real: false alarms in 0.04 %. 487 empty ones stay unnoticed, because the real one is not
// that much larger. A smaller bound than 512 bytes would miss half of them: many print that they were compiled for
// something else.
static inline bool nk_kernel_hollow(uint64_t size, uint64_t largest)
{
    return size && size <= NK_HOLLOW_BODY && largest > 4 * size;
}

// Is it certain that a body of `size` bytes is none of those, whatever the others are? PTX that is not a bare return
// has the size 0.
static inline bool nk_kernel_real(uint64_t size, uint16_t kind)
{
    return size > NK_HOLLOW_BODY || (!size && kind == NK_KIND_PTX);
}

// 0 goes on, a positive number ends the list.
typedef int (*nk_kernel_fn)(const struct nk_kernel_view *kernel, void *user);

// Decodes the image into `memory` (see image/unpack.h; at most `limit` bytes, 0: NK_UNPACK_MAX) and calls `each` for
// all its kernels; PTX may name one twice. Returns 0, the positive number of `each`, or -1 with a sentence when the
// image cannot be read (those before the damage were handed out) or is of a kind that holds no kernels which could be
// named (NK_ERR_UNSUPPORTED: LTO-IR, unknown).
int nk_image_kernels(const struct nk_entry_view *entry, struct nk_unpacked *memory, uint64_t limit, nk_kernel_fn each,
                     void *user, struct nk_err *err);

#endif
