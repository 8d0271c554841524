// table.c - a scan as Markdown and as CSV: one row a library and GPU.
#include "scan/text.h"
#include "base/cells.h"
#include "scan/words.h"

#include <inttypes.h>
#include <string.h>

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

static void markdown_row(struct nk_buf *out, const struct cell_row *row, const struct nk_scan_show *show)
{
    struct nk_buf text = {0};
    nk_buf_text(out, "|");
    nk_scan_title(&text, row->item, show->full_paths);
    nk_cell_markdown_next(out, &text);
    nk_scan_shown(&text, row->library->path, show->full_paths);
    nk_cell_markdown_next(out, &text);
    nk_scan_archs(&text, row->sum, NK_KIND_CUBIN, false);
    nk_cell_markdown_next(out, &text);
    nk_scan_archs(&text, row->sum, NK_KIND_PTX, false);
    nk_cell_markdown_next(out, &text);
    if (row->gpu) {
        struct nk_scan_counts counts;
        enum nk_scan_word word = nk_scan_judge(row->library, &row->gpu->target, &counts);
        nk_buf_text(&text, row->gpu->text);
        nk_cell_markdown_next(out, &text);
        nk_buf_text(&text, nk_scan_word(word));
        nk_cell_markdown_next(out, &text);
        nk_scan_detail(&text, word, &counts);
        nk_cell_markdown_next(out, &text);
    } else {
        nk_scan_number(&text, row->sum->kernels);
        nk_cell_markdown_next(out, &text);
    }
    nk_buf_text(out, "\n");
    nk_buf_free(&text);
}

static void name_item(struct nk_buf *out, const char *word, const char *name)
{
    struct nk_buf text = {0};
    nk_scan_kernel_name(&text, name);
    nk_buf_format(out, "- %s%s", word, *word ? " " : "");
    nk_cell_markdown(out, text.data ? text.data : "");
    nk_buf_text(out, "\n");
    if (text.failed) out->failed = true;
    nk_buf_free(&text);
}

// Below the table: the kernels that do not run natively, or without a GPU all.
static void name_list(struct nk_buf *out, const struct cell_row *row, const struct nk_scan_show *show)
{
    struct nk_buf names = {0}, title = {0};
    const struct nk_scan_library *library = row->library;
    if (row->gpu) nk_scan_not_native(&names, library, &row->gpu->target, name_item);
    for (size_t i = 0; !row->gpu && i < library->kernel_count; i++)
        name_item(&names, "", nk_scan_text(library, library->kernels[i].name));
    nk_scan_title(&title, row->item, show->full_paths);
    if (strcmp(row->item->path, library->path)) {
        nk_buf_text(&title, ", ");
        nk_scan_shown(&title, library->path, show->full_paths);
    }
    if (names.size) {
        nk_buf_text(out, "\nKernels of ");
        nk_cell_markdown(out, title.data ? title.data : "");
        if (row->gpu) nk_buf_text(out, " that do not run natively on ");
        if (row->gpu) nk_cell_markdown(out, row->gpu->text);
        nk_buf_text(out, ":\n\n");
        nk_buf_add(out, names.data, names.size);
    }
    out->failed |= names.failed || title.failed;
    nk_buf_free(&names);
    nk_buf_free(&title);
}

void nk_scan_unread_markdown(struct nk_buf *out, const struct nk_scan *scan, const struct nk_scan_show *show)
{
    struct nk_buf path = {0};
    for (size_t i = 0; i < scan->problem_count; i++) {
        nk_scan_shown(&path, scan->problems[i].path, show->full_paths);
        nk_buf_format(out, "- `%s`: %s\n", path.data ? path.data : "", scan->problems[i].text);
        nk_buf_clear(&path);
    }
    nk_buf_free(&path);
}

void nk_scan_write_markdown(struct nk_buf *out, const struct nk_scan *scan, const struct nk_scan_show *show)
{
    bool gpus = show->gpus->count > 0;
    nk_buf_format(out, "| package | library | SASS | PTX | %s\n|---|---|---|---|%s\n",
                  gpus ? "GPU | verdict | kernels |" : "kernels |", gpus ? "---|---|---|" : "---:|");
    each_row(out, scan, show, markdown_row);
    if (show->names) each_row(out, scan, show, name_list);
    if (scan->problem_count) nk_buf_text(out, "\nNot read:\n\n");
    nk_scan_unread_markdown(out, scan, show);
}

// ---- CSV (RFC 4180)

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
    nk_cell_csv_next(out, &text, ",");
    nk_scan_clean(&text, row->item->package.name);
    nk_cell_csv_next(out, &text, ",");
    nk_scan_clean(&text, row->item->package.version);
    nk_cell_csv_next(out, &text, ",");
    nk_scan_shown(&text, row->library->path, show->full_paths);
    nk_cell_csv_next(out, &text, ",");
    nk_scan_archs(&text, row->sum, NK_KIND_CUBIN, false);
    nk_cell_csv_next(out, &text, ",");
    nk_scan_archs(&text, row->sum, NK_KIND_PTX, false);
    nk_cell_csv_next(out, &text, ",");
    nk_scan_codecs(&text, row->sum);
    nk_cell_csv_next(out, &text, ",");
    nk_buf_format(out, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", row->sum->containers, row->sum->outside,
                  row->sum->kernels, row->sum->names);
    csv_counts(out, row);
    nk_buf_free(&text);
}

void nk_scan_write_csv(struct nk_buf *out, const struct nk_scan *scan, const struct nk_scan_show *show)
{
    nk_buf_text(out, "item,package,version,library,sass,ptx,codecs,containers,outside,kernels,names,"
                     "gpu,verdict,native,jit,hollow,none,unknown,reason\r\n");
    each_row(out, scan, show, csv_row);
}
