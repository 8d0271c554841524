// words.c - the words that all formats of a merge share.
#define _GNU_SOURCE
#include "merge/show.h"
#include "report/words.h"

#include <stdlib.h>
#include <string.h>

void nk_merge_sm(struct nk_buf *out, uint32_t sm)
{
    if (sm)
        nk_buf_format(out, "sm_%u", sm);
    else
        nk_buf_text(out, "unknown");
}

void nk_merge_place(struct nk_buf *out, const struct nk_merge_view *view, const struct nk_merge_row *row)
{
    const char *library = nk_merge_row_text(view, row, NK_FACT_LIBRARY);
    if (row->key->memory) {
        nk_buf_text(out, "memory");
        if (*library) nk_buf_text(out, ", loaded by ");
    } else if (!*library) {
        nk_buf_text(out, "a library that is not known");
    }
    nk_buf_text(out, library);
}

void nk_merge_title(struct nk_buf *out, const struct nk_merge_view *view, const struct nk_merge_row *row)
{
    const char *package = nk_merge_row_text(view, row, NK_FACT_PACKAGE);
    const char *version = nk_merge_row_text(view, row, NK_FACT_VERSION);
    if (*package)
        nk_buf_format(out, "%s%s%s", package, *version ? " " : "", version);
    else
        nk_buf_text(out, "code of no package");
}

void nk_merge_kernel(struct nk_buf *out, const struct nk_merge_view *view, const struct nk_merge_row *row,
                     size_t columns)
{
    const char *name = nk_merge_row_text(view, row, NK_FACT_KERNEL);
    const char *one_of = nk_merge_row_text(view, row, NK_FACT_ONE_OF);
    size_t before = out->size, many = *one_of != 0;
    for (const char *c = one_of; *c; c++) many += *c == '\n';
    if (*name || many == 1) {
        nk_words_kernel(out, *name ? name : one_of, columns);
        return;
    }
    if (!many) {
        nk_buf_text(out, "(name not known)");
        return;
    }
    char *first = strdup(one_of);
    nk_buf_format(out, "one of %zu: ", many);
    size_t used = out->size - before;
    if (first) first[strcspn(first, "\n")] = 0;
    if (first) nk_words_kernel(out, first, columns > used + 21 ? columns - used - 5 : columns ? 16 : 0);
    nk_buf_text(out, ", ...");
    free(first);
}

void nk_merge_has(struct nk_buf *out, const char *has)
{
    for (const char *c = has; *c; c++) nk_buf_add(out, *c == ',' ? "" : c, *c != ',');
    if (*has && !strstr(has, "compute_")) nk_buf_text(out, ", no PTX");
}

const char *nk_merge_doubt(const struct nk_merge_row *row)
{
    return row->key->seen == NK_SEEN_RAN ? "ran, though by the rules it cannot"
                                         : "refused by the driver, though by the rules it runs";
}

static int by_weight(const void *a, const void *b)
{
    const struct nk_merge_row *x = *(const struct nk_merge_row *const *)a;
    const struct nk_merge_row *y = *(const struct nk_merge_row *const *)b;
    if (x->reports != y->reports) return x->reports > y->reports ? -1 : 1;
    if (x->launches != y->launches) return x->launches > y->launches ? -1 : 1;
    return x < y ? -1 : x > y; // rows lie in the order of the view
}

const struct nk_merge_row **nk_merge_ranked(struct nk_buf *out, const struct nk_merge_view *view,
                                            const struct nk_merge_group *group, enum nk_seen seen, size_t *count)
{
    const struct nk_merge_row **ranked = malloc(group->count * sizeof *ranked);
    *count = 0;
    if (!ranked) out->failed = true;
    for (size_t i = group->first; ranked && i < group->first + group->count; i++)
        if (view->rows[i].key->seen == seen) ranked[(*count)++] = &view->rows[i];
    if (*count) qsort(ranked, *count, sizeof *ranked, by_weight);
    if (*count) return ranked;
    free(ranked);
    return NULL;
}
