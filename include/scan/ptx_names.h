// ptx_names.h - the kernels of PTX text as compilers write it, without reading every character of it.
//
// One large library holds 240 MB of PTX, of which the names are a few thousand lines.
#ifndef NK_SCAN_PTX_NAMES_H
#define NK_SCAN_PTX_NAMES_H

#include "image/kernels.h"

// Calls `each` for all kernels; of their bodies only bare_return is told. 0; the positive number of `each`; or -1 when
// the text is not laid out as compilers do: image/ptx.h then reads it, and what was handed out before does not count.
int nk_ptx_names(struct nk_bytes text, nk_kernel_fn each, void *user);

#endif
