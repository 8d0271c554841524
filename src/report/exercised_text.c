// exercised_text.c - what a program tried, as text and as Markdown.
#include "report/exercised.h"
#include "advice/texts.h"
#include "base/cells.h"
#include "report/page.h"
#include "report/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_UNREAD = 5 };

// Kinds that have anything to say, those with the most kernels that ran first; then by those in the libraries.
struct order {
    unsigned kind[NK_KINDS];
    size_t count;
};

static uint64_t launched(const struct nk_exercised_count *c)
{
    return c->native + c->jit + c->failed + c->empty + c->unknown;
}

static bool before(const struct nk_exercised *e, unsigned a, unsigned b)
{
    const struct nk_exercised_count *x = &e->of[a], *y = &e->of[b];
    if ((a == NK_KIND_OTHER) != (b == NK_KIND_OTHER)) return b == NK_KIND_OTHER;
    if (launched(x) != launched(y)) return launched(x) > launched(y);
    return x->held != y->held ? x->held > y->held : a < b;
}

static struct order ordered(const struct nk_exercised *e)
{
    struct order order = {.count = 0};
    for (unsigned kind = 0; kind < NK_KINDS; kind++) {
        const struct nk_exercised_count *c = &e->of[kind];
        if (!nk_kind_word(kind) || !(launched(c) || c->idle || c->held)) continue;
        size_t at = order.count++;
        for (; at && before(e, kind, order.kind[at - 1]); at--) order.kind[at] = order.kind[at - 1];
        order.kind[at] = kind;
    }
    return order;
}

static bool untried(const struct nk_exercised *e, unsigned kind)
{
    return kind != NK_KIND_OTHER && e->of[kind].held && !launched(&e->of[kind]);
}

static void headline(struct nk_buf *out, const struct nk_exercised *e)
{
    uint64_t tried = 0, left = 0, ran = e->total.native + e->total.jit + e->total.unknown;
    for (unsigned kind = 1; kind < NK_KINDS; kind++) {
        tried += nk_exercised_ran(&e->of[kind]);
        left += nk_kind_word(kind) && untried(e, kind);
    }
    nk_words_count(out, ran, "kernel", "kernels");
    nk_buf_text(out, " of ");
    nk_words_count(out, tried, "kind", "kinds");
    nk_buf_text(out, " ran");
    if (e->total.failed) nk_buf_format(out, "; %" PRIu64 " failed", e->total.failed);
    if (e->total.empty) nk_buf_format(out, "; %" PRIu64 " did nothing (empty)", e->total.empty);
    if (left) {
        nk_buf_text(out, "; ");
        nk_words_count(out, left, "kind", "kinds");
        nk_buf_text(out, " that the loaded libraries hold ");
        nk_buf_text(out, left == 1 ? "was not tried" : "were not tried");
    }
}

// Packages (or files) that hold kernels of the kind, with their number.
static void holders(struct nk_buf *out, const struct nk_exercised *e, unsigned kind)
{
    bool any = false;
    for (size_t i = 0; i < e->library_count; i++) {
        const struct nk_exercised_library *l = &e->libraries[i];
        uint64_t held = 0;
        bool again = false;
        for (size_t k = 0; k < e->library_count; k++) {
            bool same = *l->package ? !strcmp(l->package, e->libraries[k].package) : i == k;
            if (same) held += e->libraries[k].held[kind];
            again |= same && k < i;
        }
        if (!held || again) continue;
        nk_buf_format(out, "%s%" PRIu64 " in %s%s%s", any ? ", " : "", held,
                      *l->package ? l->package : nk_words_base(l->path), *l->package && *l->version ? " " : "",
                      *l->package ? l->version : "");
        any = true;
    }
}

static void notes(struct nk_buf *out, const struct nk_exercised *e)
{
    const enum nk_language language = nk_text_language();
    uint64_t of = launched(&e->total);
    size_t unread = 0;
    char first[24], second[24];
    snprintf(first, sizeof first, "%" PRIu64, e->classified);
    snprintf(second, sizeof second, "%" PRIu64, of);
    if (of) nk_text_add(out, language, NK_TEXT_KINDS_BY_NAME, first, second, NULL, NULL);
    for (size_t i = 1; i < e->library_count; i++) {
        const struct nk_exercised_library *l = &e->libraries[i];
        if (l->read || unread++ >= MOST_UNREAD) continue;
        if (unread == 1 && of && language == NK_ENGLISH) nk_buf_text(out, " ");
        nk_buf_text(out, unread == 1 ? nk_text_raw(language, NK_TEXT_NOT_LOOKED_INTO) : ", ");
        nk_buf_text(out, nk_words_base(l->path));
    }
    snprintf(first, sizeof first, "%zu", unread - MOST_UNREAD);
    if (unread > MOST_UNREAD) nk_text_add(out, language, NK_TEXT_AND_MORE, first, NULL, NULL, NULL);
    if (unread) nk_buf_text(out, language == NK_CHINESE ? "。" : ".");
}

static void text_row(struct nk_buf *out, const char *kind, const struct nk_exercised_count *c)
{
    nk_buf_format(out, "  %-20s %7" PRIu64 " %6" PRIu64 " %6" PRIu64 " %7" PRIu64 " %8" PRIu64, kind, c->native, c->jit,
                  c->empty, c->failed, c->unknown);
    nk_buf_format(out, " %6" PRIu64 " %9" PRIu64 "\n", c->idle, c->held);
}

void nk_exercised_text(struct nk_buf *out, const struct nk_exercised *e, size_t columns)
{
    struct nk_page page = {.out = out, .columns = columns ? columns : 80};
    struct order order = ordered(e);
    struct nk_buf line = {0};
    nk_buf_text(&line, "nokernel: ");
    headline(&line, e);
    nk_page_sentence(&page, 0, line.data ? line.data : "");
    nk_buf_clear(&line);
    nk_buf_format(out, "\n  %-20s %7s %6s %6s %7s %8s %6s %9s\n", "kind", "native", "JIT", "empty", "failed", "unknown",
                  "idle", "in files");
    for (size_t i = 0; i < order.count; i++) text_row(out, nk_kind_word(order.kind[i]), &e->of[order.kind[i]]);
    bool begun = false;
    for (size_t i = 0; i < order.count; i++) {
        if (!untried(e, order.kind[i])) continue;
        nk_buf_format(out, "%s", begun ? "" : "\n  not tried\n");
        begun = true;
        nk_buf_format(&line, "%s: ", nk_kind_word(order.kind[i]));
        holders(&line, e, order.kind[i]);
        nk_page_sentence(&page, 4, line.data ? line.data : "");
        nk_buf_clear(&line);
    }
    notes(&line, e);
    if (line.size) nk_page_gap(&page);
    nk_page_sentence(&page, 2, line.data ? line.data : "");
    nk_buf_free(&line);
}

void nk_exercised_markdown(struct nk_buf *out, const struct nk_exercised *e)
{
    struct order order = ordered(e);
    struct nk_buf text = {0};
    nk_buf_text(out, "### What ran, by kind of kernel\n\n");
    headline(out, e);
    nk_buf_text(
        out, "\n\n| kind | native | JIT | empty | failed | unknown | looked up only | in the files | not tried in |\n"
             "|---|---:|---:|---:|---:|---:|---:|---:|---|\n");
    for (size_t i = 0; i < order.count; i++) {
        const struct nk_exercised_count *c = &e->of[order.kind[i]];
        if (untried(e, order.kind[i])) holders(&text, e, order.kind[i]);
        nk_buf_format(out, "| %s | %" PRIu64 " | %" PRIu64 " | %" PRIu64 " | %" PRIu64, nk_kind_word(order.kind[i]),
                      c->native, c->jit, c->empty, c->failed);
        nk_buf_format(out, " | %" PRIu64 " | %" PRIu64 " | %" PRIu64 " | ", c->unknown, c->idle, c->held);
        nk_cell_markdown(out, text.data ? text.data : "");
        nk_buf_text(out, " |\n");
        nk_buf_clear(&text);
    }
    notes(&text, e);
    nk_buf_text(out, "\n");
    nk_cell_markdown(out, text.data ? text.data : "");
    nk_buf_text(out, "\n");
    nk_buf_free(&text);
}
