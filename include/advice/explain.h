// explain.h - what an error, an architecture, a reason or a GPU means: what runs where, from the tables alone.
#ifndef NK_ADVICE_EXPLAIN_H
#define NK_ADVICE_EXPLAIN_H

#include "advice/texts.h"

#include <stdbool.h>
#include <stddef.h>

// A line of an explanation. A list has an item a line in `text`.
struct nk_explain_row {
    const char *key, *label; // "made_by", "made by"
    struct nk_buf text;
    bool list;
};

enum { NK_EXPLAIN_ROWS = 12 };
struct nk_explained {
    const char *kind; // "error", "architecture", "reason", "message"
    struct nk_buf title;
    struct nk_explain_row row[NK_EXPLAIN_ROWS];
    size_t count;
};

// `word`: a number or name of a result ("209", "cudaErrorNoKernelImageForDevice"), an architecture ("sm_120",
// "compute_90a", "12.0"), the key of a reason ("arch-specific"), the name of a GPU ("RTX 5090"), or a message: one that
// the tables know, or that holds the text of a result or the name of an architecture. False when it is none of these;
// *out is to be freed all the same. Prose is in the reader's language (nk_text_language).
bool nk_explain(const char *word, struct nk_explained *out);
void nk_explained_free(struct nk_explained *explained);
// Are these words the name of a GPU or a message that is known, and not as many questions?
bool nk_explain_is_one(const char *words);
// The words that nk_explain knows, for suggestions: i = 0, 1, ...; NULL at the end.
const char *nk_explain_word(size_t i);

// What src/advice/explain_arch.c adds for an architecture.
struct nk_arch;
void nk_explain_arch(struct nk_explained *out, const struct nk_arch *arch);
// "CUDA 12.9 or newer", in Chinese without "CUDA": the toolkits that make code for it. False: none is known.
bool nk_explain_toolkits(struct nk_buf *out, enum nk_language language, const struct nk_arch *arch);
// What src/advice/explain_message.c says of a message that the tables know. Where that is a result, *code is its number
// and *out stays as it is. False: not known.
bool nk_explain_message(struct nk_explained *out, const char *message, int *code);
// The first "sm_..." or "compute_..." in a text that names an architecture. False: there is none.
bool nk_explain_arch_within(const char *text, struct nk_arch *arch);
// The next row, to be filled; a row that stays empty is left out at the end.
struct nk_buf *nk_explain_row(struct nk_explained *out, const char *key, const char *label, bool list);

#endif
