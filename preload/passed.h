// passed.h - functions of the driver that are not in entries.def, though their names say that they load or launch.
#ifndef NK_PRELOAD_PASSED_H
#define NK_PRELOAD_PASSED_H

#include <stdint.h>

// What to hand out for a real function that has no wrapper: a stub that counts the call and jumps on, with all
// arguments untouched, if the name looks like a load, a launch or the beginning of a capture (wait.h); else `real`
// itself. No lock, no memory.
void *nk_passed(void *real, const char *name);
// Calls `each` for every such function that was called. Names may come twice.
void nk_passed_each(void (*each)(const char *name, uint64_t calls));
// For a forked child: none was called yet.
void nk_passed_forget(void);

#endif
