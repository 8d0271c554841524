// demangle.h - kernel names for people.
//
// Both add to `out`, which the caller owns, and add no line end; they fail only as nk_buf does (out->failed). The first
// call opens the C++ library of the machine (libstdc++.so.6) lazily and keeps it; where there is none, names are only
// taken apart as far as their namespaces. Any thread may call them; not for use inside a signal handler or under a lock
// of the loader.
#ifndef NK_BASE_DEMANGLE_H
#define NK_BASE_DEMANGLE_H

#include "base/buf.h"

#include <stddef.h>

// The whole name: "void at::native::k<4>(int*)". What is no mangled name, or too long for the demangler (libstdc++
// stops at 1 KB), comes out as it went in.
void nk_demangle(const char *mangled, struct nk_buf *out);

// The name for a line of a report, at most `columns` bytes (never less than 16): without result and parameters,
// template arguments left out from the right and from the inside as it must be:
// "at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, ...>".
void nk_demangle_short(const char *mangled, size_t columns, struct nk_buf *out);

#endif
