// stack_python.h - the Python stack of the calling thread, without the interpreter's lock.
#ifndef NK_PRELOAD_STACK_PYTHON_H
#define NK_PRELOAD_STACK_PYTHON_H

#include "python_walk.h"

// Calls `frame` for each Python frame of the calling thread, innermost first; returns how many. 0 when this thread runs
// no Python, when the interpreter is none that we know (CPython 3.8 to 3.14), or when it cannot be told for certain
// which stack is this thread's. One call at a time: the caller holds a lock. About 0.1 ms.
size_t nk_python_stack(nk_python_frame_fn frame, void *self);

#endif
