// json_process.c - the process of a recording, and the recording itself, in the JSON report.
#define _GNU_SOURCE
#include "report/json_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static json_t *environment(const struct nk_json_at *at)
{
    json_t *object = json_object();
    for (uint32_t i = 0; at->run->env && i < at->run->process.envc; i++) {
        const char *pair = nk_run_text(at->run, at->run->env[i]), *equals = strchr(pair, '=');
        char *name = equals ? strndup(pair, (size_t)(equals - pair)) : NULL;
        if (name) json_object_set_new(object, name, nk_json_path(at, equals + 1));
        free(name);
    }
    return object;
}

static json_t *exit_of(const struct nk_run *run)
{
    static const char *const words[] = {"unknown", "exit", "quick_exit", "_exit", "unknown"};
    if (!run->has_exit) return json_null();
    return json_pack("{s:s, s:o, s:I, s:I}", "how", words[run->exit.how < 5 ? run->exit.how : 0], "status",
                     run->exit.how == NK_EXIT_UNKNOWN ? json_null() : json_integer(run->exit.status), "streams_at_work",
                     (json_int_t)run->exit.streams, "launches_at_work", (json_int_t)run->exit.unfinished);
}

static json_t *process(const struct nk_json_at *at)
{
    const struct nk_rec_process *p = &at->run->process;
    json_t *argv = json_array();
    for (uint32_t i = 0; at->run->args && i < p->argc; i++) {
        json_t *word = nk_json_path(at, nk_run_text(at->run, at->run->args[i]));
        json_array_append_new(argv, json_is_null(word) ? (json_decref(word), json_string("")) : word);
    }
    return json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "pid", (json_int_t)p->pid, "parent_pid",
                     (json_int_t)p->parent_pid, "parent_recording", nk_json_path(at, nk_run_text(at->run, p->parent)),
                     "started", nk_json_when(p->started), "exe", nk_json_path(at, nk_run_text(at->run, p->exe)),
                     "directory", nk_json_path(at, nk_run_text(at->run, p->directory)), "argv", argv, "environment",
                     environment(at), "sync", nk_json_id(at, p->sync), "exit", exit_of(at->run), "counts_behind",
                     at->run->reader.copied && !at->run->has_exit);
}

void nk_json_add_recording(const struct nk_json_at *at, const struct nk_sums *sums)
{
    struct nk_run *run = at->run;
    static const char *const loading[] = {"unknown", "eager", "lazy"};
    json_t *own = process(at);
    json_t *driver = json_pack("{s:o, s:o, s:o, s:s}", "path", nk_json_path(at, nk_run_text(run, run->driver.path)),
                               "version", nk_json_id(at, run->driver.version), "cuda", nk_json_cuda(run->driver.cuda),
                               "module_loading", loading[run->driver.loading < 3 ? run->driver.loading : 0]);
    bool failed = sums->missing || sums->missing_boxes || sums->other;
    if (!at->doc->process || (failed && !at->doc->failed)) {
        json_decref(at->doc->process);
        at->doc->process = json_incref(own);
        at->doc->failed = failed;
    }
    json_array_append_new(at->doc->recordings,
                          json_pack("{s:o, s:o, s:o, s:o, s:o, s:b, s:I}", "id",
                                    json_sprintf("%016" PRIx64, nk_run_identity(run)), "path",
                                    nk_json_path(at, run->path), "recorded_by", nk_json_id(at, run->process.tool),
                                    "process", own, "driver", driver, "complete", run->has_exit && !run->reader.cut,
                                    "damaged_records", (json_int_t)run->reader.skipped));
}
