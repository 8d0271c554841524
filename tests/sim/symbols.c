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

const struct sim_row sim_functions[] = {
#define SIM_SYMBOL(name, since, per_thread, exported) {#name, since, per_thread, #exported, exported},
#include "symbols.def"
#undef SIM_SYMBOL
};
const size_t sim_function_count = sizeof sim_functions / sizeof *sim_functions;
