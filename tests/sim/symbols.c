// symbols.c - every function of the driver as a table, and the answer of those that no file here models: 801.
#include "sim.h"

// A weak definition of each: the one that another file has takes its place.
#define SIM_SYMBOL(name, since, per_thread, exported)                                                                  \
    SIM_PUBLIC int exported(void);                                                                                     \
    __attribute__((weak)) SIM_PUBLIC int exported(void)                                                                \
    {                                                                                                                  \
        static const struct sim_site site = {#exported, true};                                                         \
        int result;                                                                                                    \
        if (!sim_enter(&site, &result)) result = NOT_SUPPORTED;                                                        \
        return sim_leave(&site, NULL, 0, result);                                                                      \
    }
#include "symbols.def"
#undef SIM_SYMBOL

// The same function at another address: what cuGetProcAddress hands out with SIM_ADDRESSES=distinct, because nothing
// promises that it is the address that dlsym gives.
#ifdef __x86_64__
#define JUMP     "jmp "
#define JUMP_END "@PLT\n"
#else
#define JUMP     "b "
#define JUMP_END "\n"
#endif
#define SIM_SYMBOL(name, since, per_thread, exported)                                                                  \
    __asm__(".text\n.type sim_far_" #exported ", @function\nsim_far_" #exported ":\n" JUMP #exported JUMP_END);        \
    int sim_far_##exported(void) __attribute__((visibility("hidden")));
#include "symbols.def"
#undef SIM_SYMBOL

const struct sim_row sim_functions[] = {
#define SIM_SYMBOL(name, since, per_thread, exported)                                                                  \
    {#name, since, per_thread, #exported, exported, sim_far_##exported},
#include "symbols.def"
#undef SIM_SYMBOL
};
const size_t sim_function_count = sizeof sim_functions / sizeof *sim_functions;
