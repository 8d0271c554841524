// python_walk.h - the Python frames of a thread, read from memory that may change or be nonsense.
//
// No Python function is called, no lock taken, no reference counted, nothing allocated. Every address comes from memory
// that is not ours, so everything is read through the caller's reader and every object's type is compared with the one
// type that it can have: what does not fit ends the stack.
#ifndef NK_PRELOAD_PYTHON_WALK_H
#define NK_PRELOAD_PYTHON_WALK_H

#include "python_layout.h"

struct nk_python_memory {
    // Copies `size` bytes (1 to 512) from `address`; false when not all of them can be read.
    bool (*read)(void *self, uint64_t address, void *out, size_t size);
    void *self;
};

// An interpreter in this process. The types are addresses of PyCode_Type, PyUnicode_Type and PyBytes_Type.
struct nk_python {
    struct nk_python_layout layout;
    uint64_t code_type, text_type, bytes_type;
};

// UTF-8 texts that end with NUL, valid during the call. line: 0 when there is none.
struct nk_python_frame {
    const char *file, *function;
    uint32_t line;
};
typedef void (*nk_python_frame_fn)(void *self, const struct nk_python_frame *frame);

enum { NK_PYTHON_FRAMES = 128 }; // further ones are left out

// Calls `frame` for each frame that Python's own traceback would show, innermost first; returns how many there were.
// `thread`: a PyThreadState.
size_t nk_python_walk(const struct nk_python *python, const struct nk_python_memory *memory, uint64_t thread,
                      nk_python_frame_fn frame, void *self);
// Is this PyThreadState the one of the thread `id` (a pthread_t)? False for nonsense too.
bool nk_python_is_of(const struct nk_python *python, const struct nk_python_memory *memory, uint64_t thread,
                     uint64_t id);
// How many PyThreadStates of the interpreters at `runtime` (_PyRuntime) belong to the thread `id`; it stops at 2. 0
// from 3.12 on, where nobody needs to know.
unsigned nk_python_threads(const struct nk_python *python, const struct nk_python_memory *memory, uint64_t runtime,
                           uint64_t id);

#endif
