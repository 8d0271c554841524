// record_place.c - where a call came from: the native and the Python stack of its thread.
#define _GNU_SOURCE
#include "core.h"

#include "stack.h"
#include "stack_python.h"

#include <string.h>

enum { MOST_FRAMES = 64 };

// Guarded by the lock. Not on the stack: the thread may have 64 KB of it, and be deep in it.
static struct place {
    const void *address[MOST_FRAMES];
    size_t count;
    struct nk_rec_python_frame line[NK_PYTHON_FRAMES];
    uint32_t lines;
} here;

static struct nk_rec_frame frame_at(const void *address)
{
    struct nk_rec_frame frame = {.address = (uintptr_t)address};
    // A return address may be the first byte after a call that does not return: look one byte before it.
    const char *call = (const char *)address - 1;
    struct nk_dso dso;
    struct nk_symbol symbol;
    if (!nk_dso_find(call, &dso)) return frame;
    frame.library = nk_core_library_at(call);
    frame.offset = (uintptr_t)address - dso.base;
    if (nk_stack_symbol(call, &symbol)) return frame;
    frame.symbol = nk_core_text(symbol.name);
    frame.displacement = symbol.displacement + 1;
    return frame;
}

// Without our own frames: they tell nothing about the program.
static void look_native(void)
{
    void *addresses[MOST_FRAMES];
    size_t walked = nk_stack_walk(addresses, MOST_FRAMES);
    struct nk_dso ours = {0};
    nk_dso_find(&nk_core, &ours);
    here.count = 0;
    for (size_t i = 0; i < walked; i++) {
        uintptr_t address = (uintptr_t)addresses[i];
        if (address < ours.start || address >= ours.end) here.address[here.count++] = addresses[i];
    }
}

static void keep_line(void *unused, const struct nk_python_frame *seen)
{
    (void)unused;
    here.line[here.lines++] = (struct nk_rec_python_frame){
        .file = nk_core_text(seen->file), .function = nk_core_text(seen->function), .line = seen->line};
}

static void look_python(void)
{
    if (!strcmp(nk_core.settings.stack, "off") || !nk_python_stack(keep_line, NULL)) here.lines = 0;
}

// What the runtime does inside of a call is another thing the first time than later: the place is where it was called.
static uint64_t key_of(void)
{
    size_t from = 0;
    while (nk_thread.call && from < here.count && here.address[from] != nk_thread.call->caller) from++;
    if (from == here.count) from = 0;
    return nk_hash_bytes(here.address + from, (here.count - from) * sizeof *here.address) ^
           nk_hash_u64(nk_hash_bytes(here.line, here.lines * sizeof *here.line));
}

static uint32_t add_native(void)
{
    static struct nk_rec_frame frames[MOST_FRAMES];
    if (!here.count) return 0;
    for (size_t i = 0; i < here.count; i++) frames[i] = frame_at(here.address[i]);
    struct nk_rec_stack stack = {.id = ++nk_core.stacks, .n = (uint32_t)here.count};
    nk_writer_add(&nk_core.writer, NK_REC_STACK, &stack, sizeof stack, frames, here.count * sizeof *frames);
    return stack.id;
}

static uint32_t add_python(void)
{
    if (!here.lines) return 0;
    struct nk_rec_python python = {.id = ++nk_core.python_stacks, .n = here.lines};
    nk_writer_add(&nk_core.writer, NK_REC_PYTHON, &python, sizeof python, here.line, here.lines * sizeof *here.line);
    return python.id;
}

uint64_t nk_core_place(uint32_t *stack, uint32_t *python, const uint64_t *known, size_t count)
{
    look_native();
    here.lines = 0;
    if (python) look_python();
    uint64_t key = here.count || here.lines ? key_of() | 1 : 0;
    for (size_t i = 0; i < count; i++)
        if (known[i] == key) return 0;
    *stack = add_native();
    if (python) *python = add_python();
    return key;
}
