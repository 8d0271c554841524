// cells.h - texts in tables of other formats.
#ifndef NK_BASE_CELLS_H
#define NK_BASE_CELLS_H

#include "base/buf.h"

// A field of CSV (RFC 4180): in quotes where it has to be.
void nk_cell_csv(struct nk_buf *out, const char *text);
// Words of Markdown that stay in their cell and are no markup.
void nk_cell_markdown(struct nk_buf *out, const char *text);

// What a buffer holds, as the next field or cell of a row; the buffer is empty then. `end`: "," or what ends the line.
void nk_cell_csv_next(struct nk_buf *out, struct nk_buf *text, const char *end);
void nk_cell_markdown_next(struct nk_buf *out, struct nk_buf *text);

#endif
