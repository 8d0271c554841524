// kinds.h - what kind of work a kernel does, by its name and its library: knowledge/kernel_kinds.tsv.
//
// A name is all that is known of a kernel, so this is a reading of names: what none of the table's words stands in is
// "other". The first row that fits counts.
#ifndef NK_REPORT_KINDS_H
#define NK_REPORT_KINDS_H

enum { NK_KINDS = 64, NK_KIND_OTHER = 0 }; // numbers of kinds are below NK_KINDS, with gaps

// `library`: path or file name of the library that holds it, or "".
unsigned nk_kind_of(const char *mangled, const char *library);
// "matrix product", "other"; NULL for a number that is no kind.
const char *nk_kind_word(unsigned kind);

#endif
