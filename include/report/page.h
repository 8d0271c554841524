// page.h - lays words out on lines of a given width: labels on the left, text from column 10 on.
#ifndef NK_REPORT_PAGE_H
#define NK_REPORT_PAGE_H

#include "base/buf.h"

enum { NK_PAGE_TEXT = 10 }; // column where text begins

enum nk_style { NK_STYLE_PLAIN, NK_STYLE_STRONG, NK_STYLE_BAD, NK_STYLE_FAINT };

struct nk_page {
    struct nk_buf *out;
    size_t columns;
    bool colour, full_paths;
};

// Columns that text has beside its label.
size_t nk_page_room(const struct nk_page *page);
// How many bytes of `text` go on a line of `room` columns: up to a space, or a word that is longer.
size_t nk_page_fit(const char *text, size_t room);
// The same of prose in either language: up to a space, or next to a Chinese character, which is two columns wide.
size_t nk_page_piece(const char *text, size_t room);
// A line: `label` after `indent` spaces, then `text`, broken at spaces. An empty text gives no line at all.
void nk_page_row(struct nk_page *page, int indent, const char *label, enum nk_style style, const char *text);
// Prose in either language, broken as nk_page_piece does.
void nk_page_prose(struct nk_page *page, int indent, const char *label, enum nk_style style, const char *text);
// nk_page_row for the contents of a buffer, which it empties.
void nk_page_buf(struct nk_page *page, int indent, const char *label, enum nk_style style, struct nk_buf *text);
// One line that is not broken, whatever its length.
void nk_page_whole(struct nk_page *page, int indent, const char *label, enum nk_style style, const char *text);
// A sentence in either language over the whole width, indented.
void nk_page_sentence(struct nk_page *page, int indent, const char *text);
void nk_page_gap(struct nk_page *page);

#endif
