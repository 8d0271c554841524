// finish.c - the end of the process: the last records and the report.
#define _GNU_SOURCE
#include "core.h"
#include "passed.h"

#include "report/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
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

void nk_core_say(const char *format, ...)
{
    char line[1024];
    va_list args;
    va_start(args, format);
    int size = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (size > 0) write_all(line, (size_t)size < sizeof line ? (size_t)size : sizeof line - 1);
}

static void say_what_is_lost(const struct nk_err *lost)
{
    if (lost->code && nk_core.unrecorded)
        nk_core_say("nokernel: the recording stops early: %s; calls that failed after that and are not in it: %llu\n",
                    lost->text, (unsigned long long)nk_core.unrecorded);
    else if (lost->code)
        nk_core_say("nokernel: the recording stops early: %s\n", lost->text);
    else if (nk_lacks())
        nk_core_say("nokernel: the recording is not complete: there was no memory for some of it\n");
}

// The same function, on the same file, as `nokernel report FILE`: the two cannot differ.
static void print_report(const char *path)
{
    struct nk_buf text = {0};
    struct nk_err err = {0};
    struct nk_text_options options = {.columns = 80};
    if (nk_report_text(&path, 1, &options, &text, &err))
        nk_core_say("nokernel: no report: %s\n", err.text);
    else if (text.data)
        write_all(text.data, text.size);
    nk_buf_free(&text);
}

static void add_passed(const char *name, uint64_t calls)
{
    struct nk_rec_passed passed = {.name = nk_core_text(name), .calls = calls};
    nk_writer_add(&nk_core.writer, NK_REC_PASSED, &passed, sizeof passed, NULL, 0);
}

void nk_record_finish(enum nk_exit how, int status)
{
    int saved;
    if (!nk_core.opened || nk_core.off || !nk_enter_quietly(&saved)) return;
    nk_core.finished = true;
    nk_pin = 0; // launches of other threads are no longer waited for
    nk_core_hollow_rest();
    nk_core_packages();
    nk_passed_each(add_passed);
    if (nk_lacks()) nk_core_note("there was no memory for some of what should be in this recording");
    struct nk_rec_exit end = {.how = how, .status = status, .time = nk_core_time()};
    nk_writer_add(&nk_core.writer, NK_REC_EXIT, &end, sizeof end, NULL, 0);
    struct nk_err lost = nk_core.writer.lost;
    nk_writer_close(&nk_core.writer);
    nk_leave(saved);
    bool wanted = strcmp(nk_core.settings.report, "none");
    say_what_is_lost(&lost);
    nk_thread.inside = true; // the report is ours: whatever it calls is not to be recorded
    // Of a file that stops before the first failure the report would say that all is well.
    bool misses_all = lost.code && nk_core.unrecorded && !nk_core.failures;
    if (wanted && !misses_all) print_report(nk_core.path);
    errno = saved;
}
