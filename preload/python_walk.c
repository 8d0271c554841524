// python_walk.c - the Python frames of a thread, read from memory that may change or be nonsense.
#include "python_walk.h"

#include <string.h>

enum { MOST_STEPS = 512, MOST_INTERPRETERS = 64, MOST_THREADS = 4096, MOST_TABLE = 1 << 20, NO_LINE = -1 };
// _PyInterpreterFrame.owner: a generator's frame; from OWNED_BY_C on it is a marker of the interpreter's own, and there
// is nothing above 4.
enum { OWNED_BY_GENERATOR = 1, OWNED_BY_C = 3, LAST_OWNER = 4 };

struct walk {
    const struct nk_python_memory *memory;
    const struct nk_python *python;
    const struct nk_python_layout *at;
};

static bool get(const struct walk *w, uint64_t object, uint64_t offset, void *out, size_t size)
{
    return object && w->memory->read(w->memory->self, object + offset, out, size);
}

static bool get_u64(const struct walk *w, uint64_t object, uint64_t offset, uint64_t *out)
{
    return get(w, object, offset, out, sizeof *out);
}

static bool is_a(const struct walk *w, uint64_t object, uint64_t type)
{
    uint64_t found;
    return get_u64(w, object, w->at->object_type, &found) && found == type;
}

// ---- texts

// One code point as UTF-8; a lone surrogate (a byte of a file name that is no UTF-8) as Python escapes it.
static size_t encode(char *out, uint32_t c)
{
    static const char digits[] = "0123456789abcdef";
    if (!c || c > 0x10ffff) c = '?';
    if (c >= 0xd800 && c < 0xe000) {
        out[0] = '\\', out[1] = 'u';
        for (int i = 0; i < 4; i++) out[2 + i] = digits[c >> (12 - 4 * i) & 15];
        return 6;
    }
    size_t more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    out[0] = (char)(more ? (0xff00u >> (more + 1) & 0xffu) | c >> (6 * more) : c);
    for (size_t i = 1; i <= more; i++) out[i] = (char)(0x80u | (c >> (6 * (more - i)) & 0x3f));
    return more + 1;
}

static uint32_t character(const uint8_t *data, size_t index, size_t width)
{
    uint32_t c = 0;
    memcpy(&c, data + index * width, width); // little-endian, as all machines that CUDA is made for
    return c;
}

// `size` bytes of room; a text that does not fit ends with "...".
static bool get_text(const struct walk *w, uint64_t object, char *out, size_t size)
{
    enum { PIECE = 64, LONGEST = 6 };
    const struct nk_python_layout *at = w->at;
    uint64_t length;
    uint32_t state;
    uint8_t piece[PIECE * 4];
    if (!is_a(w, object, w->python->text_type) || !get_u64(w, object, at->text_length, &length) ||
        !get(w, object, at->text_state, &state, sizeof state))
        return false;
    state >>= at->text_kind_bit;
    size_t width = state & 7, used = 0;
    bool compact = state >> 3 & 1, ascii = state >> 4 & 1;
    if (!compact || (width != 1 && width != 2 && width != 4)) return false;
    uint64_t data = ascii ? at->text_ascii : at->text_wide;
    for (uint64_t i = 0; i < length; i++) {
        uint64_t left = length - i;
        if (i % PIECE == 0 && !get(w, object, data + i * width, piece, (size_t)(left < PIECE ? left : PIECE) * width))
            return false;
        if (used + LONGEST + 4 > size) {
            memcpy(out + used, "...", 3);
            used += 3;
            break;
        }
        used += encode(out + used, character(piece, i % PIECE, width));
    }
    out[used] = 0;
    return true;
}

// ---- lines: the bytes object in which a code object keeps them, read piece by piece

struct table {
    const struct walk *walk;
    uint64_t at, left;
    size_t position, have;
    uint8_t piece[256];
};

static bool open_table(struct table *t, const struct walk *w, uint64_t code)
{
    uint64_t bytes, size;
    if (!get_u64(w, code, w->at->code_lines, &bytes) || !is_a(w, bytes, w->python->bytes_type) ||
        !get_u64(w, bytes, w->at->object_size, &size) || size > MOST_TABLE)
        return false;
    *t = (struct table){.walk = w, .at = bytes + w->at->bytes_data, .left = size};
    return true;
}

// The next byte without taking it; -1 at the end.
static int peek(struct table *t)
{
    if (t->position == t->have) {
        size_t size = t->left < sizeof t->piece ? (size_t)t->left : sizeof t->piece;
        if (!size || !get(t->walk, t->at, 0, t->piece, size)) return -1;
        t->at += size;
        t->left -= size;
        t->have = size;
        t->position = 0;
    }
    return t->piece[t->position];
}

static int next(struct table *t)
{
    int byte = peek(t);
    if (byte >= 0) t->position++;
    return byte;
}

// 3.8, 3.9 (Objects/lnotab_notes.txt): steps of (bytes, lines).
static int64_t line_of_steps(struct table *t, int64_t line, int64_t offset)
{
    int64_t address = 0;
    for (;;) {
        int bytes = next(t), lines = next(t);
        if (lines < 0 || (address += bytes) > offset) return line;
        line += (int8_t)lines;
    }
}

// 3.10 (PEP 626): ranges of (bytes, lines), -128 for one without a line.
static int64_t line_of_ranges(struct table *t, int64_t line, int64_t offset)
{
    int64_t address = 0;
    for (;;) {
        int bytes = next(t), lines = next(t);
        if (lines < 0) return NO_LINE;
        bool none = (int8_t)lines == -128;
        if (!none) line += (int8_t)lines;
        if ((address += bytes) > offset) return none ? NO_LINE : line;
    }
}

// Six bits a byte, the lowest first, bit 6 says that more follow; bit 0 of the number is its sign.
static int64_t signed_number(struct table *t)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 36; shift += 6) {
        int byte = next(t);
        if (byte < 0) break;
        value |= (uint64_t)(byte & 63) << shift;
        if (!(byte & 64)) break;
    }
    return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

// 3.11 and newer (Objects/locations.md, InternalDocs/code_objects.md): an entry begins with a byte that has bit 7 set.
static int64_t line_of_entries(struct table *t, int64_t line, int64_t offset)
{
    enum { NO_COLUMNS = 13, LONG = 14, NONE = 15, ONE_LINE = 10 };
    int64_t address = 0;
    for (int first; (first = next(t)) >= 0;) {
        if (!(first & 0x80)) continue; // rest of an entry: columns
        int kind = first >> 3 & 15;
        if (kind == NO_COLUMNS || kind == LONG)
            line += signed_number(t);
        else if (kind >= ONE_LINE && kind < NO_COLUMNS)
            line += kind - ONE_LINE;
        address += ((first & 7) + 1) * 2;
        if (address > offset) return kind == NONE ? NO_LINE : line;
    }
    return NO_LINE;
}

// `offset`: bytes from the first instruction; negative before it.
static uint32_t line_of(const struct walk *w, uint64_t code, int64_t offset)
{
    struct table table;
    int32_t first;
    if (!get(w, code, w->at->code_first_line, &first, sizeof first) || first < 0) return 0;
    if (offset < 0) return (uint32_t)first;
    if (!open_table(&table, w, code)) return 0;
    int64_t line = w->at->minor < 10    ? line_of_steps(&table, first, offset)
                   : w->at->minor == 10 ? line_of_ranges(&table, first, offset)
                                        : line_of_entries(&table, first, offset);
    return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

// ---- frames

enum what { TORN, SKIPPED, SHOWN };

// Where the instructions lie that this frame executes: free-threaded builds have copies of them, one a thread.
static bool first_instruction(const struct walk *w, uint64_t frame, uint64_t code, uint64_t *out)
{
    uint64_t copies, count;
    int32_t index;
    *out = code + w->at->code_start;
    if (w->at->code_copies == NK_PYTHON_ABSENT || w->at->frame_copy == NK_PYTHON_ABSENT) return true;
    if (!get_u64(w, code, w->at->code_copies, &copies)) return false;
    if (!copies) return true;
    // _PyCodeArray: the count, then the addresses.
    return get(w, frame, w->at->frame_copy, &index, sizeof index) && get_u64(w, copies, 0, &count) && index >= 0 &&
           (uint64_t)index < count && get_u64(w, copies, 8 + 8 * (uint64_t)index, out);
}

// How far the frame has come, in bytes.
static enum what position(const struct walk *w, uint64_t frame, uint64_t code, uint8_t owner, int64_t *offset)
{
    uint64_t at, first, units;
    int32_t first_traced, last;
    if (w->at->code_start == NK_PYTHON_ABSENT) { // f_lasti: in bytes, in 3.10 in instructions
        if (!get(w, frame, w->at->frame_at, &last, sizeof last) || last < -2) return TORN;
        *offset = (int64_t)last * (w->at->minor == 10 ? 2 : 1);
        return SHOWN;
    }
    if (!get_u64(w, frame, w->at->frame_at, &at) || !first_instruction(w, frame, code, &first) ||
        !get_u64(w, code, w->at->object_size, &units) || units > MOST_TABLE * 64ull ||
        !get(w, code, w->at->code_first_traced, &first_traced, sizeof first_traced))
        return TORN;
    *offset = (int64_t)(at - first);
    if (*offset < -2 || *offset >= (int64_t)units * 2) return TORN;
    // A frame that is still being set up, or only helps to call a constructor: Python shows neither.
    return owner != OWNED_BY_GENERATOR && *offset < (int64_t)first_traced * 2 ? SKIPPED : SHOWN;
}

static enum what look_at(const struct walk *w, uint64_t frame, nk_python_frame_fn show, void *self)
{
    uint8_t owner = 0;
    uint64_t code, file, function;
    int64_t offset;
    char file_text[1024], function_text[256];
    if (w->at->frame_owner != NK_PYTHON_ABSENT && !get(w, frame, w->at->frame_owner, &owner, 1)) return TORN;
    if (owner > LAST_OWNER) return TORN;
    if (owner >= OWNED_BY_C) return SKIPPED;
    if (!get_u64(w, frame, w->at->frame_code, &code)) return TORN;
    code &= ~(uint64_t)7; // 3.14 keeps marks in the lowest bits
    if (!is_a(w, code, w->python->code_type)) return TORN;
    enum what what = position(w, frame, code, owner, &offset);
    if (what != SHOWN) return what;
    if (!get_u64(w, code, w->at->code_file, &file) || !get_text(w, file, file_text, sizeof file_text) ||
        !get_u64(w, code, w->at->code_name, &function) || !get_text(w, function, function_text, sizeof function_text))
        return TORN;
    show(self, &(struct nk_python_frame){file_text, function_text, line_of(w, code, offset)});
    return SHOWN;
}

size_t nk_python_walk(const struct nk_python *python, const struct nk_python_memory *memory, uint64_t thread,
                      nk_python_frame_fn show, void *self)
{
    struct walk w = {memory, python, &python->layout};
    uint64_t frame, back;
    size_t shown = 0;
    if (!get_u64(&w, thread, w.at->thread_frame, &frame)) return 0;
    if (w.at->cframe_frame != NK_PYTHON_ABSENT && !get_u64(&w, frame, w.at->cframe_frame, &frame)) return 0;
    for (int step = 0; frame && step < MOST_STEPS && shown < NK_PYTHON_FRAMES; step++) {
        if (!get_u64(&w, frame, w.at->frame_back, &back)) break;
        enum what what = look_at(&w, frame, show, self);
        if (what == TORN) break;
        shown += what == SHOWN;
        if (back == frame) break;
        frame = back;
    }
    return shown;
}

// ---- threads

bool nk_python_is_of(const struct nk_python *python, const struct nk_python_memory *memory, uint64_t thread,
                     uint64_t id)
{
    struct walk w = {memory, python, &python->layout};
    uint64_t found;
    return thread % 8 == 0 && get_u64(&w, thread, w.at->thread_id, &found) && found == id;
}

unsigned nk_python_threads(const struct nk_python *python, const struct nk_python_memory *memory, uint64_t runtime,
                           uint64_t id)
{
    struct walk w = {memory, python, &python->layout};
    uint64_t interpreter, thread;
    unsigned count = 0;
    if (w.at->interpreters == NK_PYTHON_ABSENT || !get_u64(&w, runtime, w.at->interpreters, &interpreter)) return 0;
    for (int i = 0; interpreter && i < MOST_INTERPRETERS; i++) {
        if (!get_u64(&w, interpreter, w.at->interpreter_threads, &thread)) return count;
        for (int k = 0; thread && k < MOST_THREADS && count < 2; k++) {
            count += nk_python_is_of(python, memory, thread, id);
            if (!get_u64(&w, thread, w.at->thread_next, &thread)) break;
        }
        if (count == 2 || !get_u64(&w, interpreter, w.at->interpreter_next, &interpreter)) return count;
    }
    return count;
}
