// python_layout.h - where one CPython keeps the parts of a stack. See python_layout.def for what each member is.
#ifndef NK_PRELOAD_PYTHON_LAYOUT_H
#define NK_PRELOAD_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NK_PYTHON_ABSENT UINT32_MAX // this version has no such member

struct nk_python_layout {
    uint32_t minor; // 11 for 3.11
    uint32_t interpreters, interpreter_next, interpreter_threads, thread_next;
    uint32_t thread_id, thread_frame, cframe_frame;
    uint32_t frame_code, frame_back, frame_at, frame_owner, frame_copy;
    uint32_t code_file, code_name, code_lines, code_first_line, code_first_traced, code_copies, code_start;
    uint32_t object_type, object_size, bytes_data;
    uint32_t text_length, text_state, text_ascii, text_wide, text_kind_bit;
};

enum { NK_PYTHON_TABLE_SIZE = 760 }; // bytes at _PyRuntime that a layout is made of, from 3.13 on

// The layout of the interpreter whose PY_VERSION_HEX is `version`; `table`: the NK_PYTHON_TABLE_SIZE bytes at its
// _PyRuntime, or NULL where they cannot be read. False: not known to us (another version, no final release, a table
// that makes no sense), and then there is nothing to be done.
bool nk_python_layout(struct nk_python_layout *out, uint32_t version, const uint8_t *table);

#endif
