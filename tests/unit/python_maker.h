// python_maker.h - a small CPython in an array of bytes: a thread, its frames, their code, for any known layout.
#ifndef NK_TEST_PYTHON_MAKER_H
#define NK_TEST_PYTHON_MAKER_H

#include "../../preload/python_layout.c"
#include "../../preload/python_walk.c"

#include <stdio.h>

enum { LAYOUTS = 9, ROOM = 1 << 16, BASE = 0x100000, CODE_TYPE = 0x8000, TEXT_TYPE = 0x8100, BYTES_TYPE = 0x8200 };
static const uint32_t versions[LAYOUTS] = {0x030812f0, 0x030912f0, 0x030a0df0, 0x030b07f0, 0x030c01f0,
                                           0x030d00f0, 0x030d00f0, 0x030e00f0, 0x030e00f0};
static const char *const layout_names[LAYOUTS] = {"3.8",  "3.9",   "3.10", "3.11", "3.12",
                                                  "3.13", "3.13t", "3.14", "3.14t"};

static uint8_t bytes[ROOM]; // at the address BASE
static uint64_t used;
static size_t reads;
static struct nk_python made_python;

// The table that an interpreter of 3.13 or newer has at _PyRuntime, saying what the lists say.
__attribute__((unused)) static void make_table(uint8_t table[NK_PYTHON_TABLE_SIZE], size_t column)
{
    uint64_t version = versions[column], threaded = column == 6 || column == 8;
    memset(table, 0, NK_PYTHON_TABLE_SIZE);
    memcpy(table, "xdebugpy", 8);
    memcpy(table + 8, &version, 8);
    memcpy(table + 16, &threaded, 8);
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
            uint64_t value = rows[k].at[column];
            uint32_t at = entries[i].at[column >= 7];
            if (rows[k].member == entries[i].member && at != N && value != N) memcpy(table + at, &value, 8);
        }
}

__attribute__((unused)) static bool choose(struct nk_python_layout *layout, size_t column)
{
    uint8_t table[NK_PYTHON_TABLE_SIZE];
    make_table(table, column);
    return nk_python_layout(layout, versions[column], column >= 5 ? table : NULL);
}

static bool read_bytes(void *self, uint64_t address, void *out, size_t size)
{
    (void)self;
    reads++;
    if (address < BASE || address - BASE > ROOM || size > ROOM - (address - BASE)) return false;
    memcpy(out, bytes + (address - BASE), size);
    return true;
}

static const struct nk_python_memory memory = {read_bytes, NULL};

static uint64_t make(size_t size)
{
    uint64_t at = BASE + used;
    used += (size + 15) / 16 * 16;
    if (used > ROOM) abort();
    return at;
}

static void put(uint64_t object, uint64_t offset, uint64_t value, size_t size)
{
    memcpy(bytes + (object - BASE) + offset, &value, size);
}

static void put_bytes(uint64_t object, uint64_t offset, const void *data, size_t size)
{
    memcpy(bytes + (object - BASE) + offset, data, size);
}

__attribute__((unused)) static const struct nk_python_layout *make_python(size_t column)
{
    memset(bytes, 0, sizeof bytes);
    used = 64;
    reads = 0;
    made_python = (struct nk_python){.code_type = CODE_TYPE, .text_type = TEXT_TYPE, .bytes_type = BYTES_TYPE};
    if (!choose(&made_python.layout, column)) abort();
    return &made_python.layout;
}

static uint64_t make_object(uint64_t type, size_t size)
{
    uint64_t object = make(size);
    put(object, made_python.layout.object_type, type, 8);
    return object;
}

// `width`: bytes a character; 0: ASCII.
static uint64_t make_wide(const void *data, size_t length, unsigned width)
{
    const struct nk_python_layout *at = &made_python.layout;
    uint64_t object = make_object(TEXT_TYPE, at->text_wide + length * 4 + 4);
    unsigned state = (width ? width : 1) | 1u << 3 | (width ? 0 : 1u << 4);
    put(object, at->text_length, length, 8);
    put(object, at->text_state, state << at->text_kind_bit, 4);
    put_bytes(object, width ? at->text_wide : at->text_ascii, data, length * (width ? width : 1));
    return object;
}

static uint64_t make_text(const char *text) { return make_wide(text, strlen(text), 0); }

static uint64_t make_lines(const void *data, size_t size)
{
    uint64_t object = make_object(BYTES_TYPE, made_python.layout.bytes_data + size + 1);
    put(object, made_python.layout.object_size, size, 8);
    put_bytes(object, made_python.layout.bytes_data, data, size);
    return object;
}

// Code of 100 instructions.
static uint64_t make_code(uint64_t file, uint64_t function, int32_t first, uint64_t lines)
{
    const struct nk_python_layout *at = &made_python.layout;
    uint64_t code = make_object(CODE_TYPE, at->code_start == N ? 256 : at->code_start + 200);
    put(code, at->code_file, file, 8);
    put(code, at->code_name, function, 8);
    put(code, at->code_lines, lines, 8);
    put(code, at->code_first_line, (uint32_t)first, 4);
    if (at->code_start != N) put(code, at->object_size, 100, 8);
    return code;
}

// Bytes from the first instruction of its code.
static void put_position(uint64_t frame, uint64_t code, int32_t offset)
{
    const struct nk_python_layout *at = &made_python.layout;
    if (at->code_start != N)
        put(frame, at->frame_at, code + at->code_start + (uint64_t)offset, 8);
    else
        put(frame, at->frame_at, (uint32_t)(at->minor == 10 ? offset / 2 : offset), 4);
}

__attribute__((unused)) static uint64_t make_frame(uint64_t code, int32_t offset, uint64_t back)
{
    uint64_t frame = make(128);
    put(frame, made_python.layout.frame_code, code, 8);
    put(frame, made_python.layout.frame_back, back, 8);
    put_position(frame, code, offset);
    return frame;
}

__attribute__((unused)) static uint64_t make_thread(uint64_t frame, uint64_t id)
{
    const struct nk_python_layout *at = &made_python.layout;
    uint64_t thread = make(256), on_stack = make(16);
    put(thread, at->thread_id, id, 8);
    put(thread, at->thread_frame, at->cframe_frame == N ? frame : on_stack, 8);
    if (at->cframe_frame != N) put(on_stack, at->cframe_frame, frame, 8);
    return thread;
}

// A plain code object: NAME in FILE, all of it on `line`.
__attribute__((unused)) static uint64_t make_function(const char *file, const char *function, int32_t line)
{
    static const uint8_t step[] = {200, 0}, range[] = {200, 0}, entry[] = {0xe8 | 7, 0, 0xe8 | 7, 0};
    unsigned minor = made_python.layout.minor;
    uint64_t lines = minor < 10    ? make_lines(step, sizeof step)
                     : minor == 10 ? make_lines(range, sizeof range)
                                   : make_lines(entry, sizeof entry);
    return make_code(make_text(file), make_text(function), line, lines);
}

// ---- what the walk says: "file:line function" a frame, one a line

static char said[1 << 15];
static size_t shown;

static void say(void *self, const struct nk_python_frame *frame)
{
    (void)self;
    size_t size = strlen(said);
    snprintf(said + size, sizeof said - size, "%s:%u %s\n", frame->file, frame->line, frame->function);
}

__attribute__((unused)) static const char *walk(uint64_t thread)
{
    said[0] = 0;
    shown = nk_python_walk(&made_python, &memory, thread, say, NULL);
    return said;
}

#endif
