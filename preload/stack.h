// stack.h - the native stack of the calling thread.
#ifndef NK_PRELOAD_STACK_H
#define NK_PRELOAD_STACK_H

#include <stddef.h>

// Opens libunwind (lazily, RTLD_LOCAL: as a dependency it would capture every C++ exception of the host, for it exports
// _Unwind_*). `who` is the setting NOKERNEL_STACK. Call it once, early, while no loader lock can be held against us.
void nk_stack_open(const char *who);
// Return addresses, innermost first; returns how many. 0 when the stack is switched off.
size_t nk_stack_walk(void **frames, size_t room);

struct nk_symbol {
    const char *name; // mangled; in the library's own memory, valid while it is loaded
    size_t displacement;
};
// The exported function around an address, from the dynamic symbol table in memory: no file, no lock. 0 or -1.
int nk_stack_symbol(const void *address, struct nk_symbol *out);

#endif
