// finish.c - the end of the process: the last records and the report.
#define _GNU_SOURCE
#include "core.h"

#include "report/text.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void write_all(const char *text, size_t size)
{
    while (size) {
        ssize_t done = write(STDERR_FILENO, text, size);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return;
        text += done;
        size -= (size_t)done;
    }
}

// The same function, on the same file, as `nokernel report FILE`: the two cannot differ.
static void print_report(const char *path)
{
    struct nk_buf text = {0};
    struct nk_err err = {0};
    struct nk_text_options options = {.columns = 80};
    if (nk_report_text(&path, 1, &options, &text, &err)) nk_buf_format(&text, "nokernel: no report: %s\n", err.text);
    if (text.data) write_all(text.data, text.size);
    nk_buf_free(&text);
}

void nk_record_finish(enum nk_exit how, int status)
{
    int saved;
    if (!nk_core.opened || nk_core.off || !nk_enter_quietly(&saved)) return;
    nk_core.finished = true;
    nk_pin = 0; // launches of other threads are no longer waited for
    nk_core_hollow_rest();
    nk_core_packages();
    struct nk_rec_exit end = {.how = how, .status = status, .time = nk_core_time()};
    nk_writer_add(&nk_core.writer, NK_REC_EXIT, &end, sizeof end, NULL, 0);
    struct nk_err lost = nk_core.writer.lost;
    nk_writer_close(&nk_core.writer);
    nk_leave(saved);
    bool wanted = strcmp(nk_core.settings.report, "none");
    if (lost.code) {
        struct nk_buf line = {0};
        nk_buf_format(&line, "nokernel: the recording is not complete: %s\n", lost.text);
        if (line.data) write_all(line.data, line.size);
        nk_buf_free(&line);
    }
    nk_thread.inside = true; // the report is ours: whatever it calls is not to be recorded
    if (wanted) print_report(nk_core.path);
    errno = saved;
}
