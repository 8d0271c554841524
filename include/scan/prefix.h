// prefix.h - the kernels of a cubin and the sizes of their bodies, from its first bytes alone.
//
// ptxas writes names and symbols first, code behind them, and the table that says so at the end. The beginning (a
// twelfth of the bytes of 48,466 cubins of CUDA 11.4 to 13.5, much less of large ones) is enough when the names in
// .symtab are exactly those of the sections .nv.constant0.NAME; where they are not, this reader says that it cannot
// tell, and the whole image has to be decoded. Damage behind the beginning goes unnoticed.
#ifndef NK_SCAN_PREFIX_H
#define NK_SCAN_PREFIX_H

#include "image/kernels.h"
#include "scan/partial.h"

// What the ELF header says, wherever the kernels were read.
struct nk_prefix_head {
    bool relocatable, abi8;
};

// Calls `each` for all kernels. 0; the positive number of `each`; or -1 when it cannot tell (nothing was handed out).
int nk_prefix_kernels(struct nk_partial *partial, const struct nk_entry_view *entry, nk_kernel_fn each, void *user,
                      struct nk_prefix_head *head);

#endif
