// ptx.c - PTX text: its version, its target, the kernels in it.
//
// A scanner, no parser: the words that matter here are found outside comments and strings (PTX ISA, "Syntax").
#include "image/ptx.h"

#include <string.h>

static bool is_blank(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }
static bool is_word(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '$' || c == '%';
}

// The text ends at its first NUL, if it has one.
static struct nk_bytes trimmed(struct nk_bytes text)
{
    const uint8_t *nul = text.size ? memchr(text.data, 0, text.size) : NULL;
    return nul ? nk_bytes(text.data, (size_t)(nul - text.data)) : text;
}

static bool word_at(struct nk_bytes text, size_t at, const char *word)
{
    size_t size = strlen(word);
    return nk_bytes_holds(text, at, size) && memcmp(text.data + at, word, size) == 0;
}

static size_t after(struct nk_bytes text, size_t from, const char *needle)
{
    int64_t hit = nk_bytes_find(text, from, needle, strlen(needle));
    return hit < 0 ? text.size : (size_t)hit + strlen(needle);
}

// If a comment or a string starts at `at`: the place after it. Else `at`.
static size_t skip_quiet(struct nk_bytes text, size_t at)
{
    if (text.data[at] == '"') {
        size_t end = at + 1;
        while (end < text.size && text.data[end] != '"' && text.data[end] != '\n') end++;
        return end < text.size ? end + 1 : end;
    }
    if (word_at(text, at, "//")) return after(text, at, "\n");
    if (word_at(text, at, "/*")) return after(text, at + 2, "*/");
    return at;
}

static size_t skip_blanks(struct nk_bytes text, size_t at)
{
    while (at < text.size) {
        if (is_blank(text.data[at])) {
            at++;
            continue;
        }
        size_t end = text.data[at] == '/' ? skip_quiet(text, at) : at;
        if (end == at) break;
        at = end;
    }
    return at;
}

// Reads a decimal number of at most `limit`; false when there is none.
static bool number(struct nk_bytes text, size_t *at, unsigned limit, unsigned *out)
{
    size_t start = *at;
    unsigned value = 0;
    for (; *at < text.size && is_digit(text.data[*at]); ++*at) {
        value = value * 10 + (text.data[*at] - '0');
        if (value > limit) return false;
    }
    *out = value;
    return *at > start;
}

bool nk_ptx_looks(struct nk_bytes text)
{
    // The comment that nvcc puts first has a few hundred bytes; do not search a large file that is something else.
    if (text.size > 65536) text.size = 65536;
    text = trimmed(text);
    size_t at = skip_blanks(text, 0);
    return word_at(text, at, ".version") && at + 8 < text.size && is_blank(text.data[at + 8]);
}

static int read_version(struct nk_bytes text, size_t *at, struct nk_ptx_head *head, struct nk_err *err)
{
    unsigned major, minor;
    *at = skip_blanks(text, 0);
    if (!word_at(text, *at, ".version"))
        return nk_fail(err, NK_ERR_BAD_INPUT, "PTX text was expected to start with .version, in %zu bytes it does not",
                       text.size);
    *at = skip_blanks(text, *at + strlen(".version"));
    if (!number(text, at, UINT8_MAX, &major) || !word_at(text, *at, ".") ||
        (++*at, !number(text, at, UINT8_MAX, &minor)))
        return nk_fail(err, NK_ERR_BAD_INPUT, "a number such as 8.7 was expected after .version of the PTX text");
    head->isa_major = (uint8_t)major;
    head->isa_minor = (uint8_t)minor;
    return 0;
}

// The rest of the list: ", debug", ", texmode_independent", ... up to the end of the line.
static bool list_has_debug(struct nk_bytes text, size_t at)
{
    size_t end = at;
    while (end < text.size && text.data[end] != '\n') end++;
    return nk_bytes_find(nk_bytes(text.data, end), at, "debug", 5) >= 0;
}

int nk_ptx_read_head(struct nk_bytes text, struct nk_ptx_head *head, struct nk_err *err)
{
    size_t at;
    unsigned arch;
    *head = (struct nk_ptx_head){0};
    text = trimmed(text);
    if (read_version(text, &at, head, err)) return -1;
    at = skip_blanks(text, at);
    if (!word_at(text, at, ".target"))
        return nk_fail(err, NK_ERR_BAD_INPUT,
                       "PTX text was expected to name its .target after .version, in %zu bytes it does not", text.size);
    at = skip_blanks(text, at + strlen(".target"));
    if (!word_at(text, at, "sm_") || (at += 3, !number(text, &at, UINT16_MAX, &arch)))
        return nk_fail(err, NK_ERR_BAD_INPUT, "a target such as sm_90 was expected after .target of the PTX text");
    head->arch = (uint16_t)arch;
    if (at < text.size && is_word(text.data[at])) head->suffix = text.data[at++];
    if (head->suffix && head->suffix != 'a' && head->suffix != 'f')
        return nk_fail(err, NK_ERR_UNSUPPORTED, "the PTX target sm_%u ends with '%c', which is not known", arch,
                       head->suffix);
    head->debug = list_has_debug(text, at);
    return 0;
}

int nk_ptx_image(struct nk_bytes text, struct nk_image *image, struct nk_err *err)
{
    struct nk_ptx_head head;
    if (nk_ptx_read_head(text, &head, err)) return -1;
    *image = (struct nk_image){.kind = NK_KIND_PTX,
                               .arch = head.arch,
                               .suffix = head.suffix,
                               .isa_major = head.isa_major,
                               .isa_minor = head.isa_minor,
                               .flags = head.debug ? NK_IMAGE_DEBUG : 0,
                               .kernels = UINT32_MAX,
                               .size = trimmed(text).size};
    return 0;
}

// ---- kernels

void nk_ptx_entries_begin(struct nk_ptx_entries *walk, struct nk_bytes text)
{
    *walk = (struct nk_ptx_entries){.text = trimmed(text)};
}

// The place of the next `a` or `b` outside comments and strings; the end when there is none.
static size_t next_of(struct nk_bytes text, size_t at, char a, char b)
{
    while (at < text.size) {
        uint8_t c = text.data[at];
        if (c == a || c == b) return at;
        size_t end = c == '"' || c == '/' ? skip_quiet(text, at) : at;
        at = end > at ? end : at + 1;
    }
    return at;
}

// Takes the body that starts at the brace at `at`; returns the place after it.
static size_t take_body(struct nk_bytes text, size_t at, struct nk_bytes *body)
{
    size_t start = at + 1;
    for (unsigned depth = 0; at < text.size; at++) {
        at = next_of(text, at, '{', '}');
        if (at >= text.size) break;
        if (text.data[at] == '{') depth++;
        if (text.data[at] == '}' && --depth == 0) {
            *body = nk_bytes(text.data + start, at - start);
            return at + 1;
        }
    }
    return text.size;
}

bool nk_ptx_entries_next(struct nk_ptx_entries *walk, struct nk_ptx_entry *out)
{
    struct nk_bytes text = walk->text;
    for (size_t at = walk->at; (at = next_of(text, at, '.', '.')) < text.size; at++) {
        if (!word_at(text, at, ".entry") || (at && is_word(text.data[at - 1]))) continue;
        size_t start = at + strlen(".entry");
        if (start < text.size && is_word(text.data[start])) continue;
        start = skip_blanks(text, start);
        size_t end = start;
        while (end < text.size && is_word(text.data[end])) end++;
        if (end == start) continue;
        *out = (struct nk_ptx_entry){.name = nk_bytes(text.data + start, end - start)};
        at = next_of(text, end, '{', ';');
        walk->at = at < text.size && text.data[at] == '{' ? take_body(text, at, &out->body) : at;
        return true;
    }
    walk->at = text.size;
    return false;
}
