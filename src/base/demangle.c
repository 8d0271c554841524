// demangle.c - kernel names for people.
//
// Three layers: the demangler of libstdc++ for whole names; `outline`, which reads as much of a mangled name as it
// understands, for those that the demangler refuses (CUTLASS writes names of several KB); and `shorten`, which makes a
// demangled name fit a line.
#define _GNU_SOURCE
#include "base/demangle.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    LONGEST = 16384, // longer names are not given to the demangler, which recurses
    NESTED = 4,      // template arguments inside template arguments that an outline shows
    BRACKETS = 128,  // open brackets at once that are told apart
    NARROWEST = 16,  // columns below which shortening makes no sense
};

typedef char *demangler(const char *mangled, char *buffer, size_t *size, int *status);

// Found once and kept. Two threads may both look: they find the same.
static demangler *library_demangler(void)
{
    static _Atomic(demangler *) known;
    static atomic_bool looked;
    if (!atomic_load(&looked)) {
        void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
        // A function cannot be assigned from void * in ISO C; POSIX makes the bytes the same.
        void *symbol = library ? dlsym(library, "__cxa_demangle") : NULL;
        demangler *found;
        memcpy(&found, &symbol, sizeof found);
        atomic_store(&known, found);
        atomic_store(&looked, true);
    }
    return atomic_load(&known);
}

// The mangled part of a name: all of it, or what follows the file's hash in the names that nvcc gives to static kernels
// of relocatable code ("__nv_static_30__5f6b1c2d_4_k_cu__Z6k_statPi"). NULL: no mangled name.
static const char *mangled_part(const char *name)
{
    if (!strncmp(name, "_Z", 2)) return name;
    if (strncmp(name, "__nv_static_", 12)) return NULL;
    const char *found = NULL;
    for (const char *at = name; (at = strstr(at, "__Z")); at++) found = at + 1;
    return found;
}

// The demangled name, which the caller frees, or NULL. Only names that start with _Z: the demangler takes types too,
// and would make "float" of a kernel that is called f.
static char *whole(const char *mangled)
{
    const char *part = mangled_part(mangled);
    if (!part || strnlen(part, LONGEST + 1) > LONGEST) return NULL;
    demangler *demangle = library_demangler();
    int status = -1;
    char *text = demangle ? demangle(part, NULL, NULL, &status) : NULL;
    if (!status) return text;
    free(text);
    return NULL;
}

void nk_demangle(const char *mangled, struct nk_buf *out)
{
    char *text = whole(mangled);
    nk_buf_text(out, text ? text : mangled);
    free(text);
}

// ---- outline: the names in a mangled name

struct reader {
    const char *at; // never moves beyond the NUL
    struct nk_buf *out;
};

static bool skip(struct reader *r, char c) { return *r->at == c ? r->at++, true : false; }

// "6k_anon": a length and so many bytes.
static bool identifier(struct reader *r)
{
    size_t size = 0;
    while (isdigit((unsigned char)*r->at) && size < LONGEST) size = size * 10 + (size_t)(*r->at++ - '0');
    if (!size || strnlen(r->at, size) != size) return false;
    if (size > 10 && !strncmp(r->at, "_GLOBAL__N", 10))
        nk_buf_text(r->out, "(anonymous namespace)");
    else
        nk_buf_add(r->out, r->at, size);
    r->at += size;
    return true;
}

// "Lb1E", "Li4E", "Lin1E": a literal of a built-in type.
static bool literal(struct reader *r)
{
    if (!islower((unsigned char)r->at[0])) return false;
    r->at++;
    if (skip(r, 'n')) nk_buf_text(r->out, "-");
    while (isdigit((unsigned char)*r->at)) nk_buf_add(r->out, r->at++, 1);
    return skip(r, 'E');
}

static bool builtin(struct reader *r)
{
    static const char letters[] = "vbcahstijlmxyfd";
    static const char *const names[] = {
        "void",         "bool", "char",          "signed char", "unsigned char",      "short", "unsigned short", "int",
        "unsigned int", "long", "unsigned long", "long long",   "unsigned long long", "float", "double"};
    const char *found = *r->at ? strchr(letters, *r->at) : NULL;
    if (!found) return false;
    nk_buf_text(r->out, names[found - letters]);
    r->at++;
    return true;
}

static bool name(struct reader *r, int depth);

// Behind an 'I'. True when all arguments were understood; else they end in "...".
static bool arguments(struct reader *r, int depth)
{
    bool first = true, good = depth > 0;
    nk_buf_text(r->out, "<");
    while (good && !skip(r, 'E')) {
        if (!first) nk_buf_text(r->out, ", ");
        first = false;
        size_t before = r->out->size;
        good = skip(r, 'L') ? literal(r) : builtin(r) || name(r, depth - 1);
        if (!good && r->out->size > before) nk_buf_text(r->out, ", ");
    }
    nk_buf_text(r->out, good ? ">" : "...>");
    return good;
}

// One part of a name. "St" is std: a part of its own in a nested name, else a prefix.
static bool component(struct reader *r, bool nested, bool first)
{
    skip(r, 'L'); // internal linkage
    bool std = !strncmp(r->at, "St", 2);
    if (!std && !isdigit((unsigned char)*r->at)) return false;
    if (!first) nk_buf_text(r->out, "::");
    if (!std) return identifier(r);
    r->at += 2;
    nk_buf_text(r->out, nested ? "std" : "std::");
    return nested || identifier(r);
}

// A name with its namespaces, "N2at6native4fillE" or "4fill", and its template arguments. False when it broke off.
static bool name(struct reader *r, int depth)
{
    bool nested = skip(r, 'N'), first = true;
    if (nested) r->at += strspn(r->at, "rVKRO");
    while (!(nested && skip(r, 'E'))) {
        if (!first && skip(r, 'I')) {
            if (!arguments(r, depth)) return false;
            continue;
        }
        if (!first && !nested) return true;
        if (!component(r, nested, first)) return false;
        first = false;
    }
    return !first;
}

// As much of the name as can be read, or false when that is nothing.
static bool outline(const char *mangled, struct nk_buf *out)
{
    const char *part = mangled_part(mangled);
    struct reader r = {part ? part + 2 : "", out};
    if (!part) return false;
    name(&r, NESTED);
    return out->size && !out->failed;
}

// ---- shorten: a demangled name on a line

// Walks over demangled text and knows at which depth of brackets it is. '<' and '>' are brackets unless they belong to
// an operator's name or stand inside round ones that they do not pair in.
struct scan {
    const char *text;
    size_t size;
    int depth;
    char open[BRACKETS];
};

static void enter(struct scan *s, char bracket)
{
    if (s->depth < BRACKETS) s->open[s->depth] = bracket;
    s->depth++;
}

static void leave(struct scan *s, char bracket)
{
    int depth = s->depth < BRACKETS ? s->depth : BRACKETS;
    if (bracket == '<') {
        if (s->depth && (s->depth > BRACKETS || s->open[depth - 1] == '<')) s->depth--;
        return;
    }
    while (depth > 0 && s->open[depth - 1] != bracket) depth--;
    if (s->depth > BRACKETS)
        s->depth--;
    else if (depth > 0)
        s->depth = depth - 1;
}

// Length of the word "operator" and what belongs to it, 0 when there is none at i.
static size_t operator_size(const struct scan *s, size_t i)
{
    static const char word[] = "operator";
    const size_t size = sizeof word - 1;
    if (s->size - i <= size || memcmp(s->text + i, word, size)) return 0;
    if (i && (isalnum((unsigned char)s->text[i - 1]) || s->text[i - 1] == '_')) return 0;
    const char *after = s->text + i + size;
    size_t left = s->size - i - size;
    if (*after == ' ') return size + 1; // conversions, new, delete
    if (left > 1 && (!memcmp(after, "()", 2) || !memcmp(after, "[]", 2))) return size + 2;
    size_t marks = 0;
    while (marks < left && strchr("<>=-+*/&|!^%~,", after[marks])) marks++;
    // "operator< <int>": the space parts the name from its arguments.
    return marks ? size + marks + (marks < left && after[marks] == ' ') : 0;
}

// Takes one step from i and returns the next position.
static size_t step(struct scan *s, size_t i)
{
    size_t skipped = operator_size(s, i);
    if (skipped) return i + skipped;
    char c = s->text[i];
    if (c == '(' || c == '<' || c == '[' || c == '{') enter(s, c);
    if (c == ')') leave(s, '(');
    if (c == '>') leave(s, '<');
    if (c == ']') leave(s, '[');
    if (c == '}') leave(s, '{');
    return i + 1;
}

struct piece {
    const char *text;
    size_t size;
};

static struct piece piece(const char *text, size_t size) { return (struct piece){text, size}; }

static struct piece trim(struct piece p)
{
    while (p.size && *p.text == ' ') p = piece(p.text + 1, p.size - 1);
    while (p.size && p.text[p.size - 1] == ' ') p.size--;
    return p;
}

// A group of round brackets that belongs to the name: "(anonymous namespace)::", "f(int) const::{lambda()#1}".
static bool scope_follows(const char *text)
{
    if (!strncmp(text, " const", 6)) text += 6;
    return !strncmp(text, "::", 2);
}

// Of "void ns::f<int>(int) const" the part "ns::f<int>".
static struct piece function_name(const char *text)
{
    struct scan s = {.text = text, .size = strlen(text)};
    size_t start = 0, end = s.size, group = 0;
    for (size_t i = 0, next; i < s.size; i = next) {
        int depth = s.depth;
        next = step(&s, i);
        if (!depth && text[i] == ' ') start = next;
        if (!depth && text[i] == '(' && s.depth) group = i;
        if (depth == 1 && !s.depth && text[i] == ')' && !scope_follows(text + next)) {
            end = group;
            break;
        }
    }
    struct piece found = start < end ? trim(piece(text + start, end - start)) : piece("", 0);
    return found.size ? found : piece(text, s.size);
}

// The text with what stands deeper than `keep` brackets replaced by "...".
static void elide(struct piece p, int keep, struct nk_buf *out)
{
    static const char anonymous[] = "(anonymous namespace)";
    const size_t size = sizeof anonymous - 1;
    struct scan s = {.text = p.text, .size = p.size};
    nk_buf_clear(out);
    for (size_t i = 0, next; i < p.size; i = next) {
        int depth = s.depth;
        bool name_part = p.size - i >= size && !memcmp(p.text + i, anonymous, size);
        next = name_part ? i + size : step(&s, i);
        if (depth <= keep || s.depth <= keep) nk_buf_add(out, p.text + i, next - i);
        // Empty brackets stay as they are.
        bool opens = depth <= keep && s.depth > keep;
        if (opens && next < p.size && !strchr(")>]}", p.text[next])) nk_buf_text(out, "...");
    }
}

// Where the last list of template arguments of the name opens, or its size when it does not end in one.
static size_t last_list(struct piece p)
{
    struct scan s = {.text = p.text, .size = p.size};
    size_t open = p.size;
    if (!p.size || p.text[p.size - 1] != '>') return p.size;
    for (size_t i = 0, next; i < p.size; i = next) {
        int depth = s.depth;
        next = step(&s, i);
        if (!depth && s.depth && p.text[i] == '<') open = i;
    }
    return s.depth ? p.size : open;
}

// The next argument of a list, cut off *rest.
static struct piece next_argument(struct piece *rest)
{
    struct scan s = {.text = rest->text, .size = rest->size};
    size_t i = 0;
    while (i < rest->size && (s.depth || rest->text[i] != ',')) i = step(&s, i);
    if (i > rest->size) i = rest->size;
    struct piece argument = trim(piece(rest->text, i));
    size_t cut = i < rest->size ? i + 1 : i;
    *rest = piece(rest->text + cut, rest->size - cut);
    return argument;
}

// Adds what of the arguments fits: whole, with their own lists left out, or "...".
static void add_arguments(struct piece list, size_t columns, struct nk_buf *line)
{
    struct nk_buf brief = {0};
    nk_buf_text(line, "<");
    for (bool first = true; list.size; first = false) {
        struct piece argument = next_argument(&list);
        size_t room = columns - line->size, frame = (first ? 0 : 2) + (list.size ? sizeof ", ...>" - 1 : 1);
        struct piece fitting = argument;
        for (int keep = NESTED; keep >= 0 && fitting.size + frame > room && !brief.failed; keep--) {
            elide(argument, keep, &brief);
            fitting = piece(brief.data, brief.size);
        }
        nk_buf_text(line, first ? "" : ", ");
        if (brief.failed || fitting.size + frame > room) {
            nk_buf_text(line, "...");
            break;
        }
        nk_buf_add(line, fitting.text, fitting.size);
    }
    nk_buf_text(line, ">");
    nk_buf_free(&brief);
}

// The end of a name that is too long even without arguments: without its first namespaces, at last cut.
static void add_tail(struct piece head, size_t columns, struct nk_buf *line)
{
    size_t from = head.size > columns - 3 ? head.size - (columns - 3) : 0;
    for (size_t i = from; i + 2 < head.size; i++)
        if (!memcmp(head.text + i, "::", 2)) {
            nk_buf_text(line, "...");
            nk_buf_add(line, head.text + i, head.size - i);
            return;
        }
    nk_buf_add(line, head.text, columns - 3);
    nk_buf_text(line, "...");
}

static void shorten(struct piece p, size_t columns, struct nk_buf *line)
{
    const size_t least = sizeof "<...>" - 1;
    size_t open = last_list(p);
    bool list = open < p.size;
    struct piece head = piece(p.text, open);
    struct nk_buf brief = {0};
    if (p.size <= columns) {
        nk_buf_add(line, p.text, p.size);
        return;
    }
    if (head.size + (list ? least : 0) > columns) {
        elide(head, 0, &brief);
        head = brief.failed ? piece(p.text, 0) : piece(brief.data, brief.size);
    }
    if (head.size + (list ? least : 0) > columns) {
        add_tail(head, list ? columns - least : columns, line);
        nk_buf_text(line, list ? "<...>" : "");
    } else {
        nk_buf_add(line, head.text, head.size);
        if (list) add_arguments(piece(p.text + open + 1, p.size - open - 2), columns, line);
    }
    nk_buf_free(&brief);
}

void nk_demangle_short(const char *mangled, size_t columns, struct nk_buf *out)
{
    struct nk_buf line = {0}, names = {0};
    char *text = whole(mangled);
    struct piece shown = piece(mangled, strlen(mangled));
    if (columns < NARROWEST) columns = NARROWEST;
    if (text)
        shown = function_name(text);
    else if (outline(mangled, &names))
        shown = piece(names.data, names.size);
    shorten(shown, columns, &line);
    if (line.failed) out->failed = true;
    if (!line.failed) nk_buf_add(out, line.data, line.size);
    nk_buf_free(&line);
    nk_buf_free(&names);
    free(text);
}
