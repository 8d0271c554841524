// demangle.c - kernel names for people.
//
// Two layers: the demangler of libstdc++ for whole names; and `outline`, which reads as much of a mangled name as it
// understands, for those that the demangler refuses (CUTLASS writes names of several KB).
#define _GNU_SOURCE
#include "base/demangle.h"
#include "base/shorten.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    LONGEST = 16384, // longer names are not given to the demangler, which recurses
    NESTED = 12,     // template arguments inside template arguments that an outline reads
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

// "S_", "S1A_": something that was named before, which is skipped.
static bool substitution(struct reader *r)
{
    size_t size = 1;
    if (*r->at != 'S') return false;
    while (isdigit((unsigned char)r->at[size]) || isupper((unsigned char)r->at[size])) size++;
    if (r->at[size] != '_') return false;
    r->at += size + 1;
    return true;
}

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

static bool name(struct reader *r, int depth);

// "Lb1E", "Li4E", "Lin1E", "LN2at4KindE2E": a literal of a built-in type or of an enumeration, whose name is not shown.
static bool literal(struct reader *r, int depth)
{
    size_t before = r->out->size;
    if (islower((unsigned char)*r->at))
        r->at++;
    else if (!substitution(r) && !name(r, depth))
        return false;
    r->out->size = before;
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

// A type as an argument. One that is given as a substitution was named before: "...".
static bool type(struct reader *r, int depth)
{
    bool pointer = skip(r, 'P');
    r->at += strspn(r->at, "RKO");
    bool good = true;
    if (substitution(r))
        nk_buf_text(r->out, "...");
    else
        good = builtin(r) || name(r, depth);
    if (pointer) nk_buf_text(r->out, "*");
    return good;
}

// Behind an 'I'. True when all arguments were understood; else they end in "...".
static bool arguments(struct reader *r, int depth)
{
    bool first = true, good = depth > 0;
    int packs = 0;
    nk_buf_text(r->out, "<");
    while (good) {
        if (skip(r, 'J') && ++packs) continue; // a pack is written as the arguments that it holds
        if (skip(r, 'E')) {
            if (!packs--) break;
            continue;
        }
        if (!first) nk_buf_text(r->out, ", ");
        first = false;
        size_t before = r->out->size;
        good = skip(r, 'L') ? literal(r, depth - 1) : type(r, depth - 1);
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
    if (nested) substitution(r); // its first namespaces
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

void nk_demangle_short(const char *mangled, size_t columns, struct nk_buf *out)
{
    struct nk_buf names = {0};
    char *text = whole(mangled);
    const char *shown = mangled;
    if (columns < NARROWEST) columns = NARROWEST;
    if (text)
        shown = text;
    else if (outline(mangled, &names))
        shown = names.data;
    // A name that is not C++'s has neither result nor parameters to drop.
    if (shown == mangled && strlen(mangled) <= columns)
        nk_buf_text(out, mangled);
    else
        nk_shorten(shown, columns, out);
    nk_buf_free(&names);
    free(text);
}
