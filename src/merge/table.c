// table.c - a merge as Markdown, to paste into an issue, and as CSV.
#include "merge/show.h"
#include "base/cells.h"
#include "report/words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// An issue holds 65,536 characters: what stands first matters most, the JSON has all.
enum { MOST_ROWS = 40, NAME = 90 };

// ---- Markdown

static void number(struct nk_buf *out, uint64_t value) { nk_buf_format(out, " %" PRIu64 " |", value); }

// "torch 2.1.2, faiss-gpu 1.7": packages of which a kernel is missing or hollow; else all.
static void packages(struct nk_buf *out, const struct nk_merge_view *v, bool bad)
{
    struct nk_buf title = {0}, before = {0};
    size_t listed = 0;
    for (size_t i = 0; i < v->group_count; i++) {
        const struct nk_merge_group *g = &v->groups[i];
        if (bad && !g->of[NK_SEEN_MISSING].kernels && !g->of[NK_SEEN_HOLLOW].kernels) continue;
        nk_merge_title(&title, v, &v->rows[g->first]);
        if (!before.data || !title.data || strcmp(before.data, title.data)) {
            nk_buf_text(out, listed++ ? ", " : "");
            nk_cell_markdown(out, title.data ? title.data : "");
        }
        nk_buf_clear(&before);
        nk_buf_text(&before, title.data ? title.data : "");
        nk_buf_clear(&title);
    }
    nk_buf_free(&title);
    nk_buf_free(&before);
}

static void overview(struct nk_buf *out, const struct nk_merge_view *v)
{
    struct nk_buf text = {0};
    nk_buf_text(out, "| package | GPU | reports | runs natively | by JIT only | empty body | no image |\n"
                     "|---|---|---:|---:|---:|---:|---:|\n");
    for (size_t i = 0; i < v->group_count; i++) {
        const struct nk_merge_group *g = &v->groups[i];
        nk_buf_text(out, "|");
        nk_merge_title(&text, v, &v->rows[g->first]);
        nk_cell_markdown_next(out, &text);
        nk_merge_sm(&text, v->rows[g->first].key->sm);
        nk_cell_markdown_next(out, &text);
        number(out, g->reports);
        number(out, g->of[NK_SEEN_NATIVE].kernels);
        number(out, g->of[NK_SEEN_JIT].kernels);
        number(out, g->of[NK_SEEN_HOLLOW].kernels);
        number(out, g->of[NK_SEEN_MISSING].kernels);
        nk_buf_text(out, "\n");
    }
    nk_buf_free(&text);
}

static void markdown_row(struct nk_buf *out, const struct nk_merge_view *v, const struct nk_merge_row *row)
{
    struct nk_buf text = {0};
    nk_buf_text(out, "|");
    nk_merge_kernel(&text, v, row, NAME);
    nk_cell_markdown_next(out, &text);
    nk_merge_sm(&text, row->key->sm);
    nk_cell_markdown_next(out, &text);
    nk_merge_title(&text, v, row);
    nk_buf_text(&text, ": ");
    nk_merge_place(&text, v, row);
    nk_cell_markdown_next(out, &text);
    nk_merge_has(&text, nk_merge_row_text(v, row, NK_FACT_HAS));
    nk_cell_markdown_next(out, &text);
    number(out, row->reports);
    number(out, row->launches);
    nk_buf_text(out, "\n");
    nk_buf_free(&text);
}

// The rows of one kind in all groups, the most reported of each group first.
static void kind(struct nk_buf *out, const struct nk_merge_view *v, enum nk_seen seen, const char *title, bool all)
{
    size_t shown = 0, left = 0;
    if (!v->total[seen].kernels) return;
    nk_buf_format(out, "\n#### %s\n\n| kernel | GPU | in | has | reports | launches |\n|---|---|---|---|---:|---:|\n",
                  title);
    for (size_t i = 0; i < v->group_count; i++) {
        size_t count;
        const struct nk_merge_row **ranked = nk_merge_ranked(out, v, &v->groups[i], seen, &count);
        for (size_t k = 0; k < count; k++)
            if (all || shown < MOST_ROWS)
                markdown_row(out, v, ranked[k]), shown++;
            else
                left++;
        free(ranked);
    }
    if (left) nk_buf_format(out, "\nand %zu more (`nokernel merge --json` names all)\n", left);
}

static void contradictions(struct nk_buf *out, const struct nk_merge_view *v)
{
    size_t shown = 0;
    if (v->contradictions) nk_buf_text(out, "\n#### The driver against the rules (please report this to nokernel)\n\n");
    for (size_t i = 0; i < v->row_count; i++) {
        struct nk_buf text = {0};
        if (!v->rows[i].key->contradiction || shown++ >= MOST_ROWS) continue;
        nk_merge_kernel(&text, v, &v->rows[i], NAME);
        nk_buf_text(&text, " on ");
        nk_merge_sm(&text, v->rows[i].key->sm);
        nk_buf_format(&text, ": %s", nk_merge_doubt(&v->rows[i]));
        nk_buf_text(out, "- ");
        nk_cell_markdown(out, text.data ? text.data : "");
        nk_buf_text(out, "\n");
        nk_buf_free(&text);
    }
}

static void gpus(struct nk_buf *out, const struct nk_merge_view *v)
{
    struct nk_buf text = {0};
    if (!v->gpu_count) return;
    nk_buf_text(out, "\n#### GPUs\n\n| GPU | architecture | driver | its CUDA | reports |\n|---|---|---|---|---:|\n");
    for (size_t i = 0; i < v->gpu_count; i++) {
        const struct nk_merge_row *row = &v->gpus[i];
        nk_buf_text(out, "|");
        nk_buf_text(&text, nk_merge_row_text(v, row, NK_FACT_KERNEL));
        nk_cell_markdown_next(out, &text);
        nk_merge_sm(&text, row->key->sm);
        nk_cell_markdown_next(out, &text);
        nk_buf_text(&text, nk_merge_row_text(v, row, NK_FACT_VERSION));
        nk_cell_markdown_next(out, &text);
        nk_buf_text(&text, nk_merge_row_text(v, row, NK_FACT_LIBRARY));
        nk_cell_markdown_next(out, &text);
        number(out, row->reports);
        nk_buf_text(out, "\n");
    }
    nk_buf_free(&text);
}

void nk_merge_write_markdown(struct nk_buf *out, const struct nk_merge_view *v, const struct nk_merge_show *show)
{
    bool bad = v->total[NK_SEEN_MISSING].kernels || v->total[NK_SEEN_HOLLOW].kernels;
    nk_buf_text(out, bad ? "### Kernels that do not run on some GPUs: " : "### Kernels and the GPUs they ran on: ");
    packages(out, v, bad);
    nk_buf_text(out, "\n\nMerged from ");
    nk_words_count(out, v->report_count, "report", "reports");
    nk_buf_format(out, " by nokernel %s. Counts are numbers of kernels.\n\n", NK_VERSION);
    overview(out, v);
    kind(out, v, NK_SEEN_MISSING, "No image for the GPU", show->all);
    kind(out, v, NK_SEEN_HOLLOW, "Empty body: a launch does nothing, and no error says so", show->all);
    kind(out, v, NK_SEEN_JIT, "Only PTX: compiled by the driver at the first use", show->all);
    contradictions(out, v);
    gpus(out, v);
}

// ---- CSV (RFC 4180)

static void csv_row(struct nk_buf *out, const struct nk_merge_view *v, const struct nk_merge_row *row)
{
    static const enum nk_fact_text before[] = {NK_FACT_PACKAGE, NK_FACT_VERSION, NK_FACT_LIBRARY};
    struct nk_buf text = {0};
    for (size_t i = 0; i < 3; i++) {
        nk_buf_text(&text, nk_merge_row_text(v, row, before[i]));
        nk_cell_csv_next(out, &text, ",");
    }
    nk_buf_text(out, row->key->memory ? "true," : "false,");
    nk_buf_text(&text, nk_merge_row_text(v, row, NK_FACT_KERNEL));
    nk_cell_csv_next(out, &text, ",");
    nk_merge_kernel(&text, v, row, 0);
    nk_cell_csv_next(out, &text, ",");
    if (row->key->sm) nk_merge_sm(&text, row->key->sm);
    nk_cell_csv_next(out, &text, ",");
    nk_buf_format(out, "%s,%s,%s,%s,", nk_seen_word(row->key->seen), nk_runs_word(row->key->rules),
                  nk_merge_row_text(v, row, NK_FACT_REASON), row->key->contradiction ? "true" : "false");
    nk_buf_text(&text, nk_merge_row_text(v, row, NK_FACT_HAS));
    nk_cell_csv_next(out, &text, ",");
    nk_buf_format(out, "%" PRIu64 ",%" PRIu64 "\r\n", row->reports, row->launches);
    nk_buf_free(&text);
}

void nk_merge_write_csv(struct nk_buf *out, const struct nk_merge_view *v)
{
    nk_buf_text(out, "package,version,library,memory,kernel,demangled,sm,seen,rules,reason,contradiction,has,"
                     "reports,launches\r\n");
    for (size_t i = 0; i < v->row_count; i++) csv_row(out, v, &v->rows[i]);
}
