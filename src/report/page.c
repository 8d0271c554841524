// page.c - lays words out on lines of a given width.
#include "report/page.h"

#include <string.h>

size_t nk_page_room(const struct nk_page *page)
{
    return page->columns > NK_PAGE_TEXT + 20 ? page->columns - NK_PAGE_TEXT : 20;
}

// How much of `text` goes on this line; *skip is how many spaces follow it.
static size_t fit(const char *text, size_t room, size_t *skip)
{
    size_t size = strlen(text);
    *skip = 0;
    if (size <= room) return size;
    size_t at = room;
    while (at && text[at] != ' ') at--;
    if (!at) at = room + strcspn(text + room, " "); // a word longer than the line stays whole
    while (at && text[at - 1] == ' ') at--;
    *skip = strspn(text + at, " ");
    return at;
}

size_t nk_page_fit(const char *text, size_t room)
{
    size_t skip;
    return fit(text, room, &skip);
}

// A character of UTF-8: how many bytes it has, and in *columns how wide a terminal shows it.
static size_t character(const char *at, size_t *columns)
{
    unsigned char c = (unsigned char)*at;
    size_t size = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    *columns = c >= 0xe2 ? 2 : 1; // from U+2000 on: what Chinese text uses of it is wide
    for (size_t i = 1; i < size; i++)
        if (!at[i]) return i;
    return size;
}

// Marks that do not begin a line: 、 。 ， ； ： ）
static bool clings(const char *at)
{
    static const char *const marks[] = {"、", "。", "，", "；", "：", "）"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (!strncmp(at, marks[i], strlen(marks[i]))) return true;
    return false;
}

size_t nk_page_piece(const char *text, size_t room)
{
    size_t used = 0, best = 0, at = 0, columns;
    bool wide = false;
    while (text[at]) {
        size_t size = character(text + at, &columns);
        bool between = at && (wide || columns == 2) && !clings(text + at);
        if (text[at] == ' ' || between) best = at;
        if (used + columns > room && best) return best;
        wide = columns == 2;
        used += columns;
        at += size;
    }
    return at;
}

// `prose`: as nk_page_piece breaks lines.
static void broken(struct nk_page *page, const char *text, size_t room, size_t indent, bool prose)
{
    for (size_t skip, size; *text; text += size + skip) {
        if (prose) {
            size = nk_page_piece(text, room);
            skip = strspn(text + size, " ");
        } else {
            size = fit(text, room, &skip);
        }
        nk_buf_add(page->out, text, size);
        nk_buf_text(page->out, "\n");
        if (!size && !skip) return;
        if (text[size + skip]) nk_buf_fill(page->out, ' ', indent);
    }
}

static void begin(struct nk_page *page, int indent, const char *label, enum nk_style style)
{
    static const char *const on[] = {"", "\033[1m", "\033[1;31m", "\033[2m"};
    size_t used = (size_t)indent + strlen(label);
    nk_buf_fill(page->out, ' ', (size_t)indent);
    bool coloured = page->colour && style != NK_STYLE_PLAIN && *label;
    if (coloured) nk_buf_text(page->out, on[style]);
    nk_buf_text(page->out, label);
    if (coloured) nk_buf_text(page->out, "\033[0m");
    nk_buf_fill(page->out, ' ', used < NK_PAGE_TEXT ? NK_PAGE_TEXT - used : 1);
}

void nk_page_row(struct nk_page *page, int indent, const char *label, enum nk_style style, const char *text)
{
    if (!*text) return;
    begin(page, indent, label, style);
    broken(page, text, nk_page_room(page), NK_PAGE_TEXT, false);
}

void nk_page_prose(struct nk_page *page, int indent, const char *label, enum nk_style style, const char *text)
{
    if (!*text) return;
    begin(page, indent, label, style);
    broken(page, text, nk_page_room(page), NK_PAGE_TEXT, true);
}

void nk_page_whole(struct nk_page *page, int indent, const char *label, enum nk_style style, const char *text)
{
    begin(page, indent, label, style);
    nk_buf_text(page->out, text);
    nk_buf_text(page->out, "\n");
}

void nk_page_buf(struct nk_page *page, int indent, const char *label, enum nk_style style, struct nk_buf *text)
{
    if (text->size) nk_page_row(page, indent, label, style, text->data);
    nk_buf_clear(text);
}

void nk_page_sentence(struct nk_page *page, int indent, const char *text)
{
    nk_buf_fill(page->out, ' ', *text ? (size_t)indent : 0);
    broken(page, text, page->columns > (size_t)indent + 20 ? page->columns - (size_t)indent : 20, (size_t)indent, true);
}

void nk_page_gap(struct nk_page *page) { nk_buf_text(page->out, "\n"); }
