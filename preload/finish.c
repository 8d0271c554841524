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

// Nothing is recorded any more: the descriptor is free, and other threads launch in vain.
static void stop(void)
{
    nk_core.finished = true;
    nk_writer_close(&nk_core.writer);
}

// The same function, on the same file, as `nokernel report FILE`: the two cannot differ.
static bool print_report(struct nk_err *err)
{
    struct nk_buf text = {0};
    struct nk_text_options options = {.columns = 80};
    bool made = !nk_report_text(&(const char *){nk_core.path}, 1, &options, &text, err);
    if (made && text.data) write_all(text.data, text.size);
    nk_buf_free(&text);
    return made;
}

// A process without a descriptor for reading the recording still has the one that it is written by.
static void print_somehow(void)
{
    int saved;
    struct nk_err err = {0};
    if (print_report(&err)) return;
    nk_thread.inside = false;
    if (nk_enter_quietly(&saved)) {
        stop();
        nk_leave(saved);
    }
    nk_thread.inside = true;
    if (!print_report(&err)) nk_core_say("nokernel: no report: %s\n", err.text);
}

static void add_passed(const char *name, uint64_t calls)
{
    struct nk_rec_passed passed = {.name = nk_core_text(name), .calls = calls};
    nk_writer_add(&nk_core.writer, NK_REC_PASSED, &passed, sizeof passed, NULL, 0);
}

// The last that is known of the program but its end.
static void add_rest(void)
{
    nk_pin = 0; // launches of other threads are no longer waited for
    nk_core_hollow_rest();
    nk_core_packages();
    nk_passed_each(add_passed);
    if (nk_lacks()) nk_core_note("there was no memory for some of what should be in this recording");
}

// Later calls of a process tell how it ends only if they know.
static void add_end(enum nk_exit how, int status)
{
    if (!nk_core.reported || how != NK_EXIT_UNKNOWN) {
        nk_core.end.how = how;
        nk_core.end.status = status;
        nk_core.end.time = nk_core_time();
    }
    nk_writer_add(&nk_core.writer, NK_REC_EXIT, &nk_core.end, sizeof nk_core.end, NULL, 0);
}

static void tell(const struct nk_err *lost, bool again)
{
    bool wanted = strcmp(nk_core.settings.report, "none");
    say_what_is_lost(lost);
    // Of a file that stops before the first failure the report would say that all is well.
    if (!wanted || (lost->code && nk_core.unrecorded && !nk_core.failures)) return;
    if (again) nk_core_say("nokernel: more failed while the program ended, after this report: here it is again\n");
    print_somehow();
}

// An exit handler may call the driver: the runtime's own do, after ours. _exit and quick_exit may come from anywhere,
// out of the driver too, with its locks held.
static bool may_ask(enum nk_exit how)
{
    return how == NK_EXIT_EXIT && nk_pin == NK_PIN_TRAIL && !nk_core.reported && !nk_core.finished &&
           !nk_thread.inside && nk_core.pid == getpid();
}

void nk_record_finish(enum nk_exit how, int status)
{
    int saved;
    bool last = how == NK_EXIT_UNDERSCORE || how == NK_EXIT_QUICK;
    // Without the lock: other threads that still launch would keep it, and the runtime may be half taken apart.
    if (nk_core.reported && !nk_core.failed_late && !last) return;
    if (!nk_core.opened || nk_core.off) return;
    if (may_ask(how)) nk_core_last_look();
    if (!nk_enter_quietly(&saved)) return;
    bool first = !nk_core.reported, news = first || nk_core.failed_late;
    if (first) add_rest();
    add_end(how, status);
    nk_core.reported = true;
    nk_core.failed_late = false;
    struct nk_err lost = nk_core.writer.lost;
    // After exit there come destructors and more handlers, which may launch; after _exit only other threads.
    if (last) stop();
    nk_leave(saved);
    if (!news) return;
    nk_thread.inside = true; // the report is ours: whatever it calls is not to be recorded
    tell(&lost, !first);
    nk_thread.inside = false;
    errno = saved;
}
