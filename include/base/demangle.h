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

// The name for a line of a report, at most `columns` bytes (never less than 16), which tells kernels apart. Always
// gone: result, parameters, and namespaces inside template arguments; what is local to a function is written
// f<A>::lambda#2 (the second lambda of f; of lambdas in lambdas the innermost). Then, step by step until it fits,
// deepest and rightmost first:
//   1. "(anonymous namespace)::" of the function
//   2. two and more numbers or types of numbers in a row, inside an argument:  Op<float, float, Mul> -> Op<..., Mul>
//   3. arguments that only say how data lies in memory: names with array, metadata, policy, iterator, ...
//   4. the function's own literals behind its last named argument
//   5. wrappers of functors:  gpu_kernel_impl<MulFunctor<float>>::lambda -> MulFunctor<float>
//   6. the function's namespaces
//   7. single ones inside an argument; a list of which nothing is left goes:  Mul<float> -> Mul
//   8. "::lambda(float)":  f::lambda(float)#2 -> f#2
//   9. the marks: one "...>" at the end instead of a "..." for each
//  10. the function's own literals, then named arguments; the last of these is cut where it stands
// What an early step took comes back where a later one made room:
// "elementwise_kernel<128, 2, BUnaryFunctor<..., MulFunctor<float>>>". Where the demangler refuses a name, a part of it
// is all that is known, and types named for the second time are "...".
void nk_demangle_short(const char *mangled, size_t columns, struct nk_buf *out);

#endif
