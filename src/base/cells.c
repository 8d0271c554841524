// cells.c - texts in tables of other formats.
#include "base/cells.h"

#include <string.h>

void nk_cell_csv(struct nk_buf *out, const char *text)
{
    bool quoted = strpbrk(text, ",\"\r\n") != NULL;
    if (quoted) nk_buf_text(out, "\"");
    for (const char *c = text; *c; c++) {
        if (*c == '"') nk_buf_text(out, "\"");
        nk_buf_add(out, c, 1);
    }
    if (quoted) nk_buf_text(out, "\"");
}

void nk_cell_markdown(struct nk_buf *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        if (strchr("|\\`*_<>[]", *c)) nk_buf_text(out, "\\");
        nk_buf_add(out, c, 1);
    }
}

void nk_cell_csv_next(struct nk_buf *out, struct nk_buf *text, const char *end)
{
    if (text->failed) out->failed = true;
    nk_cell_csv(out, text->data ? text->data : "");
    nk_buf_text(out, end);
    nk_buf_clear(text);
}

void nk_cell_markdown_next(struct nk_buf *out, struct nk_buf *text)
{
    if (text->failed) out->failed = true;
    nk_buf_text(out, " ");
    nk_cell_markdown(out, text->data ? text->data : "");
    nk_buf_text(out, " |");
    nk_buf_clear(text);
}
