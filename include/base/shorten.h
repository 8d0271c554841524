// shorten.h - C++ names on a line: what tells two kernels apart stays, the rest goes first.
//
// Behind nk_demangle_short, which states the rule; no other room needs this door.
#ifndef NK_BASE_SHORTEN_H
#define NK_BASE_SHORTEN_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

// Part of a text that somebody else owns.
struct nk_piece {
    const char *text;
    size_t size;
};

// Walks over demangled text and knows at which depth of brackets it is. '<' and '>' are brackets unless they belong to
// an operator's name or stand inside round ones that they do not pair in. Start with text and size, all else 0.
struct nk_scan {
    const char *text;
    size_t size;
    int depth;
    char open[128]; // brackets deeper than this are only counted
};

// Takes one step from i (< size), over one byte or the name of an operator, and returns the next position (<= size).
size_t nk_scan_step(struct nk_scan *scan, size_t i);

// Of "void ns::f<int>(int) const" the part "ns::f<int>"; the whole text where that would be nothing.
struct nk_piece nk_scan_function(const char *text);

// The template arguments of a function's name as a tree; node 0 is the function.
enum { NK_NODES = 256 };

struct nk_node {
    size_t word, word_size;   // "FillFunctor", in texts
    size_t tail, tail_size;   // what follows its arguments: "::lambda(float)#2", "*"
    size_t brief, brief_size; // the same with no more than the number of the lambda: "#2", "*"
    int parent, first, last, before, after, depth;
    bool named, lambda;          // named: neither a literal nor a type of numbers (float, Half)
    int hidden, unwrapped, curt; // > 0: the number of the step that left out it, all but its argument, its tail
};

struct nk_tree {
    struct nk_buf texts;
    struct nk_piece scope; // "at::native::", of the text that was parsed
    struct nk_node nodes[NK_NODES];
    int count;
    int no_anonymous, no_scope, no_marks; // > 0: the number of the step that left it out
};

// Takes a name without result and parameters apart. Never fails but for memory (texts.failed); what is nested too deep
// or too long becomes "...". Free texts.
void nk_tree_parse(struct nk_tree *tree, struct nk_piece name);

// Writes the name of the tree's function to `out`, which is emptied first, without what is left out.
void nk_tree_write(const struct nk_tree *tree, struct nk_buf *out);

// Adds the name of the function in demangled text (result and parameters may be there) to `out`: at most `columns`
// bytes, at least 1 where the text has any.
void nk_shorten(const char *text, size_t columns, struct nk_buf *out);

#endif
