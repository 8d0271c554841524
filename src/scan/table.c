// table.c - a scan as Markdown and as CSV: one row a library and GPU.
#include "scan/text.h"
#include "base/cells.h"
#include "scan/words.h"

#include <inttypes.h>

struct cell_row {
    const struct nk_scan_item *item;
    const struct nk_scan_library *library;
    const struct nk_scan_sum *sum;
    const struct nk_scan_gpu *gpu; // NULL: none was asked about
};

typedef void (*row_fn)(struct nk_buf *out, const struct cell_row *row, const struct nk_scan_show *show);

static void each_row(struct nk_buf *out, const struct nk_scan *scan, const struct nk_scan_show *show, row_fn write)
{
    for (size_t i = 0; i < scan->count; i++)
        for (size_t k = 0; k < scan->items[i]->count; k++) {
            struct nk_scan_sum sum;
            struct cell_row row = {scan->items[i], scan->items[i]->libraries[k], &sum, NULL};
            nk_scan_sum(row.library, &sum);
            if (!show->gpus->count) write(out, &row, show);
            for (size_t g = 0; g < show->gpus->count; g++) {
                row.gpu = &show->gpus->gpu[g];
                write(out, &row, show);
            }
            if (sum.failed) out->failed = true;
            nk_scan_sum_free(&sum);
        }
}

// ---- Markdown

// Adds a text so that it stays in its cell, and empties it.
static void cell(struct nk_buf *out, struct nk_buf *text)
{
    nk_buf_text(out, " ");
    nk_cell_markdown(out, text->data ? text->data : "");
    nk_buf_text(out, " |");
    nk_buf_free(text);
}

static void markdown_row(struct nk_buf *out, const struct cell_row *row, const struct nk_scan_show *show)
{
    struct nk_buf text = {0};
    nk_buf_text(out, "|");
    nk_scan_title(&text, row->item, show->full_paths);
    cell(out, &text);
    nk_scan_shown(&text, row->library->path, show->full_paths);
    cell(out, &text);
    nk_scan_archs(&text, row->sum, NK_KIND_CUBIN, false);
    cell(out, &text);
    nk_scan_archs(&text, row->sum, NK_KIND_PTX, false);
    cell(out, &text);
    if (row->gpu) {
        struct nk_scan_counts counts;
        enum nk_scan_word word = nk_scan_judge(row->library, &row->gpu->target, &counts);
        nk_buf_text(&text, row->gpu->text);
        cell(out, &text);
        nk_buf_text(&text, nk_scan_word(word));
        cell(out, &text);
        nk_scan_detail(&text, word, &counts);
        cell(out, &text);
    } else {
        nk_scan_number(&text, row->sum->kernels);
        cell(out, &text);
    }
    nk_buf_text(out, "\n");
}

void nk_scan_write_markdown(struct nk_buf *out, const struct nk_scan *scan, const struct nk_scan_show *show)
{
    bool gpus = show->gpus->count > 0;
    nk_buf_format(out, "| package | library | SASS | PTX | %s\n|---|---|---|---|%s\n",
                  gpus ? "GPU | verdict | kernels |" : "kernels |", gpus ? "---|---|---|" : "---:|");
    each_row(out, scan, show, markdown_row);
    for (size_t i = 0; i < scan->problem_count; i++) {
        struct nk_buf text = {0};
        nk_buf_text(out, i ? "" : "\nNot read:\n\n");
        nk_scan_shown(&text, scan->problems[i].path, show->full_paths);
        nk_buf_format(out, "- `%s`: %s\n", text.data ? text.data : "", scan->problems[i].text);
        nk_buf_free(&text);
    }
}

// ---- CSV (RFC 4180)

static void field(struct nk_buf *out, struct nk_buf *text, const char *end)
{
    nk_cell_csv(out, text->data ? text->data : "");
    nk_buf_text(out, end);
    nk_buf_free(text);
}

static void csv_counts(struct nk_buf *out, const struct cell_row *row)
{
    struct nk_scan_counts c;
    if (!row->gpu) {
        nk_buf_text(out, ",,,,,,,\r\n");
        return;
    }
    enum nk_scan_word word = nk_scan_judge(row->library, &row->gpu->target, &c);
    nk_buf_format(out, "%s,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s\r\n", row->gpu->text,
                  nk_scan_word(word), c.native, c.jit, c.hollow, c.none, c.unknown, nk_reason_key(c.reason));
}

static void csv_row(struct nk_buf *out, const struct cell_row *row, const struct nk_scan_show *show)
{
    struct nk_buf text = {0};
    nk_scan_shown(&text, row->item->path, show->full_paths);
    field(out, &text, ",");
    nk_scan_clean(&text, row->item->package.name);
    field(out, &text, ",");
    nk_scan_clean(&text, row->item->package.version);
    field(out, &text, ",");
    nk_scan_shown(&text, row->library->path, show->full_paths);
    field(out, &text, ",");
    nk_scan_archs(&text, row->sum, NK_KIND_CUBIN, false);
    field(out, &text, ",");
    nk_scan_archs(&text, row->sum, NK_KIND_PTX, false);
    field(out, &text, ",");
    nk_scan_codecs(&text, row->sum);
    field(out, &text, ",");
    nk_buf_format(out, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", row->sum->containers, row->sum->outside,
                  row->sum->kernels, row->sum->names);
    csv_counts(out, row);
}

void nk_scan_write_csv(struct nk_buf *out, const struct nk_scan *scan, const struct nk_scan_show *show)
{
    nk_buf_text(out, "item,package,version,library,sass,ptx,codecs,containers,outside,kernels,names,"
                     "gpu,verdict,native,jit,hollow,none,unknown,reason\r\n");
    each_row(out, scan, show, csv_row);
}
