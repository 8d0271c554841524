// markdown.c - the report to paste into an issue.
#include "report/markdown.h"
#include "report/words.h"

#include <string.h>

// In a table a bar ends the cell, and a backtick the code.
static void cell(struct nk_buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '|') nk_buf_text(out, "\\");
        nk_buf_add(out, *text == '`' ? "'" : text, 1);
    }
}

static void row(struct nk_buf *out, const char *name, struct nk_buf *value)
{
    if (value->size) {
        nk_buf_format(out, "| %s | ", name);
        cell(out, value->data);
        nk_buf_text(out, " |\n");
    }
    nk_buf_clear(value);
}

static void command(struct nk_buf *out, struct nk_run *run, bool full)
{
    for (uint32_t i = 0; run->args && i < run->process.argc && i < 32; i++) {
        if (i) nk_buf_text(out, " ");
        nk_words_redacted(out, nk_run_text(run, run->args[i]), full);
    }
}

// The packages that failures lie in, each once.
static void packages(struct nk_buf *out, const struct nk_run *run)
{
    for (size_t i = 0; i < run->failure_count; i++) {
        const struct nk_run_container *c = run->failures[i].container;
        bool again = false;
        if (run->failures[i].class != NK_CLASS_MISSING || !c || !c->library || !*c->library->package) continue;
        for (size_t k = 0; k < i; k++)
            again |= run->failures[k].class == NK_CLASS_MISSING && run->failures[k].container &&
                     run->failures[k].container->library == c->library;
        if (again) continue;
        if (out->size) nk_buf_text(out, ", ");
        nk_words_package(out, c->library);
    }
}

static void table(struct nk_buf *out, struct nk_run *run, bool full)
{
    struct nk_buf value = {0};
    nk_buf_text(out, "| | |\n|---|---|\n");
    for (size_t i = 0; i < run->gpu_count; i++) {
        char name[24] = "GPU";
        nk_words_gpu(&value, run, &run->gpus[i]);
        row(out, name, &value);
    }
    packages(&value, run);
    row(out, "Package", &value);
    command(&value, run, full);
    row(out, "Command", &value);
    nk_words_end(&value, run);
    row(out, "The program", &value);
    nk_buf_format(&value, "nokernel %s", NK_VERSION);
    row(out, "Report by", &value);
    nk_buf_free(&value);
}

// The text report, in a fence that nothing in it can close. Its last lines name the recording: of no use to others.
static int fenced(struct nk_buf *out, const char *path, const struct nk_text_options *options, struct nk_err *err)
{
    struct nk_text_options plain = *options;
    struct nk_buf text = {0};
    plain.colour = false;
    int result = nk_report_text(&path, 1, &plain, &text, err);
    if (text.data) {
        char *end = strstr(text.data, "\n\n  recording  ");
        if (end) end[1] = 0;
        nk_buf_text(out, "\n~~~~~~text\n");
        nk_buf_text(out, text.data);
        nk_buf_text(out, "~~~~~~\n");
    }
    nk_buf_free(&text);
    return result;
}

int nk_report_markdown(const char *const *paths, size_t count, const struct nk_text_options *options,
                       struct nk_buf *out, struct nk_err *err)
{
    int result = 0;
    unsigned lacks = nk_lacks();
    for (size_t i = 0; i < count; i++) {
        struct nk_run run;
        struct nk_sums sums;
        struct nk_err *first = result ? NULL : err;
        if (nk_run_open(&run, paths[i], first)) {
            result = -1;
        } else {
            nk_sums(&run, &sums);
            if (i) nk_buf_text(out, "\n");
            nk_buf_text(out, "### nokernel report\n\n");
            table(out, &run, options->full_paths);
            if (fenced(out, paths[i], options, first)) result = -1;
        }
        nk_run_free(&run);
    }
    if ((out->failed || nk_lacks() != lacks) && !result)
        result = nk_fail(err, NK_ERR_MEMORY, "%s: not enough memory for the report", paths[0]);
    return result;
}
