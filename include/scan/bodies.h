// bodies.h - the kernels of the images of a box and the sizes of their bodies, read with as little decoding as there
// can be.
//
// Of cubins the beginning is nearly always enough (scan/prefix.h). PTX has to be decoded whole, and wants more of that
// than all cubins together; it is read only where its kernels can matter:
// - where the box has no cubin for its target: nothing else names them;
// - where one of the GPUs that were asked about would compile it, because no cubin of the box fits there;
// - where somebody needs all (`tools->all`).
// Elsewhere it is taken to hold what the cubin for its target holds: both come from one compilation. 3,074 PTX images
// of wheels and libraries of CUDA 10 to 13 have such a cubin beside them; the names are the same in each.
//
// Cubins of all architectures are read, also for one GPU. Reading only the one that it would run takes 2.4 to 2.7 times
// less of the processor (libtorch_cuda 2.15 0.25 s -> 0.09 s, libcublasLt 13 0.14 s -> 0.06 s; the onnxruntime-gpu 1.27
// wheel 0.50 s -> 0.37 s), but then nothing tells of a kernel that only the other images hold (on sm_75: 15 in torch
// 2.15, 98 in onnxruntime-gpu 1.27, 4 in torch 1.13; 2 in NCCL), nor that a body is empty (4,572 of 24,172 kernels of
// torch 2.15 there): a verdict would leave out the first and call the second native. Of 26 wheels, packages and
// libraries that were looked at, 5 had the first, 10 the second.
#ifndef NK_SCAN_BODIES_H
#define NK_SCAN_BODIES_H

#include "scan/box.h"

// What the text of PTX says about its target, into the image. (Of PTX in zstd only when its kernels are read.)
void nk_bodies_target(struct nk_entry_view *entry, const struct nk_box_tools *tools);
// Reads the kernels of the image that was added to the box last, or keeps it for nk_bodies_late. What that needs of
// the payload is copied if it passes by (`tools->passing`).
void nk_bodies_read(struct nk_box *box, struct nk_entry_view *entry, struct nk_box_tools *tools);
// After the last image of the box.
void nk_bodies_late(struct nk_box *box, struct nk_box_tools *tools);

#endif
