// python_layout.c - chooses the layout of a CPython version.
#include "python_layout.h"

#include <string.h>

#define N NK_PYTHON_ABSENT
enum { COLUMNS = 9, FINAL = 0xf0, MOST = 4096 };

static const struct row {
    size_t member;
    uint32_t at[COLUMNS];
} rows[] = {
#define NK_PYTHON(member, ...) {offsetof(struct nk_python_layout, member), {__VA_ARGS__}},
#include "python_layout.def"
#undef NK_PYTHON
};

static const struct entry {
    size_t member;
    uint32_t at[2];
} entries[] = {
#define NK_PYTHON_TABLE(member, ...) {offsetof(struct nk_python_layout, member), {__VA_ARGS__}},
#include "python_layout.def"
#undef NK_PYTHON_TABLE
};

static uint32_t *member(struct nk_python_layout *layout, size_t offset)
{
    return (uint32_t *)(void *)((char *)layout + offset);
}

static uint64_t number(const uint8_t *table, uint32_t at)
{
    uint64_t value;
    memcpy(&value, table + at, sizeof value);
    return value;
}

// What the interpreter's own table says; what it does not say follows from how the structures are laid out.
static bool from_table(struct nk_python_layout *layout, const uint8_t *table)
{
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        uint32_t at = entries[i].at[layout->minor - 13], *to = member(layout, entries[i].member);
        if (at == N || *to == N) continue; // builds with a GIL have no copies of their code, and say 0
        uint64_t value = number(table, at);
        if (value >= MOST) return false;
        *to = (uint32_t)value;
    }
    layout->text_wide = layout->text_ascii + 16; // two more words: utf8_length, utf8
    // _co_firsttraceable (int), co_extra (pointer), co_tlbc (pointer), then the code.
    layout->code_first_traced = layout->code_start - (layout->code_copies == N ? 16 : 24);
    return true;
}

bool nk_python_layout(struct nk_python_layout *out, uint32_t version, const uint8_t *table)
{
    uint32_t minor = version >> 16 & 0xff;
    // The table changed between release candidates: only final releases have a layout that is known.
    if (version >> 24 != 3 || minor < 8 || minor > 14 || (version & FINAL) != FINAL) return false;
    bool has_table = minor >= 13, threaded = false;
    if (has_table) {
        if (!table || memcmp(table, "xdebugpy", 8) || number(table, 8) != version || number(table, 16) > 1)
            return false;
        threaded = number(table, 16);
    }
    size_t column = minor - 8u + (minor == 14) + threaded; // 3.13 and 3.14 have two columns each
    out->minor = minor;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) *member(out, rows[i].member) = rows[i].at[column];
    return !has_table || from_table(out, table);
}
