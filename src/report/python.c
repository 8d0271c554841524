// python.c - the Python stack of a failure as lines of the report.
#define _GNU_SOURCE
#include "report/python.h"

#include "report/words.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_FRAMES = 4 };
static const char arrow[] = "  <-  ";

// The standard library lies in PREFIX/lib/python3.11; a project may well lie in a folder named python3.
static bool is_installed(const char *file)
{
    static const char *const folders[] = {"/site-packages/", "/dist-packages/", "/lib/python3.", "/lib64/python3."};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (strstr(file, folders[i])) return true;
    return !strncmp(file, "<frozen ", 8);
}

// What of `file` lies below the folder; NULL when it does not.
static const char *below(const char *file, const char *folder, size_t size)
{
    while (size > 1 && folder[size - 1] == '/') size--;
    return size > 1 && !strncmp(file, folder, size) && file[size] == '/' ? file + size + 1 : NULL;
}

// As the program's author would say it: from the folder of the outermost file (where Python looks for modules), else
// from the folder that the program was started in, else its name; with its package where the name says nothing.
static void file_name(struct nk_buf *out, struct nk_run *run, const char *file, const char *outermost, bool full)
{
    const char *directory = nk_run_text(run, run->process.directory), *base = nk_words_base(file);
    const char *shown = below(file, outermost, (size_t)(nk_words_base(outermost) - outermost));
    if (!shown) shown = below(file, directory, strlen(directory));
    if (full || is_installed(file)) {
        nk_words_path(out, file, full);
        return;
    }
    if (!shown) shown = base;
    if (shown == base && !strncmp(base, "__", 2))
        for (int slashes = 0; shown > file && (shown[-1] != '/' || ++slashes < 2);) shown--;
    nk_words_redacted(out, shown, full);
}

bool nk_row_python(struct nk_page *page, struct nk_run *run, const struct nk_run_python *python, const char *label)
{
    struct nk_buf line = {0}, frame = {0};
    const char *outermost = "";
    bool own = false;
    uint32_t shown = 0, rows = 0;
    for (uint32_t i = 0; python && i < python->count; i++)
        if (!is_installed(python->frames[i].file)) own = true, outermost = python->frames[i].file;
    for (uint32_t i = 0; python && i < python->count && shown < MOST_FRAMES; i++) {
        const struct nk_run_python_frame *f = &python->frames[i];
        if (own && is_installed(f->file)) continue;
        if (shown++) nk_buf_text(&frame, line.size ? arrow : arrow + 2);
        file_name(&frame, run, f->file, outermost, page->full_paths);
        if (f->line) nk_buf_format(&frame, ":%u", f->line);
        nk_buf_format(&frame, " in %s", f->function);
        // A frame is broken over two lines only when one cannot hold it.
        if (line.size && line.size + frame.size > nk_page_room(page)) {
            nk_page_buf(page, 4, rows++ ? "" : label, NK_STYLE_PLAIN, &line);
            nk_buf_text(&line, frame.data + 2);
        } else
            nk_buf_text(&line, frame.data ? frame.data : "");
        nk_buf_clear(&frame);
    }
    nk_page_buf(page, 4, rows ? "" : label, NK_STYLE_PLAIN, &line);
    nk_buf_free(&line);
    nk_buf_free(&frame);
    return shown;
}
