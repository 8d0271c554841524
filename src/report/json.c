// json.c - the report as JSON, of the schema "nokernel-report/1".
#define _GNU_SOURCE
#include "base/json_text.h"
#include "report/json.h"
#include "driver/results.h"
#include "report/fix_json.h"
#include "report/words.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct doc {
    json_t *recordings, *gpus, *libraries, *kernels, *failures, *probes, *refused, *contradictions, *notes, *advice;
    struct nk_sums sum; // over all recordings
    size_t none;        // with --gpu: kernels that would be missing there
    json_t *process;    // of the first recording with a failure, else of the first
    bool failed;        // that one has a failure
};

// What functions of one recording pass on.
struct at {
    struct doc *doc;
    struct nk_run *run;
    json_int_t index;
    const struct nk_text_options *options;
    const struct nk_run_gpu *asked; // with --gpu
};

// ---- values

static json_t *text_or_null(const char *from) { return from && *from ? nk_json_text(from) : json_null(); }

static json_t *id(const struct at *at, uint32_t string) { return text_or_null(nk_run_text(at->run, string)); }

// The contents of a buffer, which it empties.
static json_t *buf(struct nk_buf *from)
{
    json_t *value = text_or_null(from->data);
    nk_buf_free(from);
    return value;
}

static json_t *path(const struct at *at, const char *from)
{
    struct nk_buf out = {0};
    nk_words_redacted(&out, from, at->options->full_paths);
    return buf(&out);
}

static json_t *library_path(const struct at *at, const struct nk_run_library *library)
{
    return library ? path(at, library->path) : json_null();
}

static json_t *demangled(const char *mangled)
{
    struct nk_buf out = {0};
    nk_words_kernel(&out, mangled, 0);
    return buf(&out);
}

static json_t *sm(unsigned number) { return json_sprintf("sm_%u", number); }

static json_t *cuda(uint32_t version)
{
    return version ? json_sprintf("%u.%u", version / 1000, version % 1000 / 10) : json_null();
}

static json_t *ordinal(const struct nk_run_gpu *gpu)
{
    return gpu && !gpu->asked ? json_integer(gpu->r.ordinal) : json_null();
}

static json_t *when(uint64_t nanoseconds)
{
    char out[40];
    time_t seconds = (time_t)(nanoseconds / 1000000000u);
    struct tm utc;
    if (!nanoseconds || !gmtime_r(&seconds, &utc) || !strftime(out, sizeof out, "%Y-%m-%dT%H:%M:%SZ", &utc))
        return json_null();
    return json_string(out);
}

static json_t *number(uint64_t value) { return json_integer((json_int_t)(value > INT64_MAX ? INT64_MAX : value)); }

// ---- lists of architectures

static json_t *arch_list(const struct nk_archs *archs, int kind) // kind -1: all
{
    json_t *list = json_array();
    for (size_t i = 0; i < archs->count; i++) {
        struct nk_buf name = {0};
        if (kind >= 0 && archs->item[i].kind != kind) continue;
        nk_words_arch(&name, &archs->item[i], true);
        json_array_append_new(list, buf(&name));
    }
    return list;
}

static json_t *has(const struct nk_run_container *c, const unsigned char *holds)
{
    struct nk_archs archs = {0};
    if (c) nk_archs_add(&archs, c, holds);
    return arch_list(&archs, -1);
}

static json_t *needs(const struct at *at, const struct nk_run_container *c, const unsigned char *holds,
                     const struct nk_run_gpu *gpu, struct nk_verdict verdict)
{
    struct nk_buf out = {0};
    if (verdict.runs == NK_RUNS_NONE || verdict.runs == NK_RUNS_HOLLOW) nk_words_needs(&out, at->run, c, holds, gpu);
    return buf(&out);
}

// The members that say how something would run: in kernels and in failures.
static void add_verdict(const struct at *at, json_t *object, const struct nk_run_container *c,
                        const unsigned char *holds, const struct nk_run_gpu *gpu, struct nk_verdict verdict)
{
    json_object_set_new(object, "runs", json_string(nk_runs_word(verdict.runs)));
    json_object_set_new(object, "reason", text_or_null(nk_reason_key(verdict.reason)));
    json_object_set_new(object, "has", has(c, holds));
    json_object_set_new(object, "needs", needs(at, c, holds, gpu, verdict));
}

static void add_place(const struct at *at, json_t *object, const struct nk_run_container *c)
{
    const struct nk_run_library *library = c ? c->library : NULL;
    json_object_set_new(object, "library", library ? library_path(at, library) : c ? path(at, c->file) : json_null());
    json_object_set_new(object, "package", library ? text_or_null(library->package) : json_null());
    json_object_set_new(object, "version", library ? text_or_null(library->version) : json_null());
    json_object_set_new(object, "loaded_by", c ? library_path(at, c->loader) : json_null());
}

// ---- process

static json_t *environment(const struct at *at)
{
    json_t *object = json_object();
    for (uint32_t i = 0; at->run->env && i < at->run->process.envc; i++) {
        const char *pair = nk_run_text(at->run, at->run->env[i]), *equals = strchr(pair, '=');
        char *name = equals ? strndup(pair, (size_t)(equals - pair)) : NULL;
        if (name) json_object_set_new(object, name, path(at, equals + 1));
        free(name);
    }
    return object;
}

static json_t *exit_of(const struct nk_run *run)
{
    static const char *const words[] = {"unknown", "exit", "quick_exit", "_exit", "unknown"};
    if (!run->has_exit) return json_null();
    return json_pack("{s:s, s:o}", "how", words[run->exit.how < 5 ? run->exit.how : 0], "status",
                     run->exit.how == NK_EXIT_UNKNOWN ? json_null() : json_integer(run->exit.status));
}

static json_t *process(const struct at *at)
{
    const struct nk_rec_process *p = &at->run->process;
    json_t *argv = json_array();
    for (uint32_t i = 0; at->run->args && i < p->argc; i++) {
        json_t *word = path(at, nk_run_text(at->run, at->run->args[i]));
        json_array_append_new(argv, json_is_null(word) ? (json_decref(word), json_string("")) : word);
    }
    return json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "pid", (json_int_t)p->pid, "parent_pid",
                     (json_int_t)p->parent_pid, "parent_recording", path(at, nk_run_text(at->run, p->parent)),
                     "started", when(p->started), "exe", path(at, nk_run_text(at->run, p->exe)), "directory",
                     path(at, nk_run_text(at->run, p->directory)), "argv", argv, "environment", environment(at), "sync",
                     id(at, p->sync), "exit", exit_of(at->run));
}

static void add_recording(const struct at *at, const struct nk_sums *sums)
{
    struct nk_run *run = at->run;
    static const char *const loading[] = {"unknown", "eager", "lazy"};
    json_t *own = process(at);
    json_t *driver = json_pack("{s:o, s:o, s:o, s:s}", "path", path(at, nk_run_text(run, run->driver.path)), "version",
                               id(at, run->driver.version), "cuda", cuda(run->driver.cuda), "module_loading",
                               loading[run->driver.loading < 3 ? run->driver.loading : 0]);
    bool failed = sums->missing || sums->missing_boxes || sums->other;
    if (!at->doc->process || (failed && !at->doc->failed)) {
        json_decref(at->doc->process);
        at->doc->process = json_incref(own);
        at->doc->failed = failed;
    }
    json_array_append_new(at->doc->recordings,
                          json_pack("{s:o, s:o, s:o, s:o, s:b, s:I}", "path", path(at, run->path), "recorded_by",
                                    id(at, run->process.tool), "process", own, "driver", driver, "complete",
                                    run->has_exit && !run->reader.cut, "damaged_records",
                                    (json_int_t)run->reader.skipped));
}

// ---- GPUs and libraries

static void add_gpu(const struct at *at, const struct nk_run_gpu *gpu)
{
    json_array_append_new(at->doc->gpus,
                          json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "recording", at->index, "ordinal",
                                    ordinal(gpu), "name", text_or_null(gpu->name), "sm", sm(gpu->r.sm), "driver",
                                    id(at, at->run->driver.version), "cuda", cuda(at->run->driver.cuda), "memory",
                                    number(gpu->r.memory), "asked", gpu->asked));
}

static json_t *coverage(const struct at *at, const struct nk_run_library *library)
{
    json_t *object = json_object();
    for (size_t i = 0; i < (at->asked ? 1 : at->run->gpu_count); i++) {
        const struct nk_run_gpu *gpu = at->asked ? at->asked : &at->run->gpus[i];
        struct nk_cover cover = nk_sums_cover(at->run, library, gpu);
        char key[24] = "sm_";
        struct nk_buf name = {0};
        nk_buf_format(&name, "sm_%u", gpu->r.sm);
        if (name.data && name.size < sizeof key) memcpy(key, name.data, name.size + 1);
        nk_buf_free(&name);
        if (cover.word) json_object_set_new(object, key, json_string(cover.word));
    }
    return object;
}

static void add_library(const struct at *at, const struct nk_run_library *library)
{
    struct nk_archs archs = {0};
    size_t containers = 0;
    for (size_t i = 0; i < at->run->container_count; i++) {
        const struct nk_run_container *c = &at->run->containers[i];
        if (c->library == library && nk_sums_stands(c)) containers += c->r.origin == NK_ORIGIN_SCANNED ? c->r.count : 1;
    }
    if (!containers) return; // its code only stands in a stack
    nk_archs_library(&archs, at->run, library);
    json_array_append_new(at->doc->libraries,
                          json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:b, s:o}", "recording", at->index,
                                    "path", library_path(at, library), "build_id", text_or_null(library->build_id),
                                    "package", text_or_null(library->package), "version",
                                    text_or_null(library->version), "source", text_or_null(library->source), "sass",
                                    arch_list(&archs, NK_KIND_CUBIN), "ptx", arch_list(&archs, NK_KIND_PTX),
                                    "containers", (json_int_t)containers, "scanned", library->scanned, "coverage",
                                    coverage(at, library)));
}

// ---- kernels

static void add_kernel(const struct at *at, const struct nk_run_kernel *kernel)
{
    const char *name = nk_run_text(at->run, kernel->name);
    const struct nk_run_gpu *gpu = at->asked ? at->asked : kernel->gpu;
    json_t *object =
        json_pack("{s:I, s:o, s:o}", "recording", at->index, "name", text_or_null(name), "demangled", demangled(name));
    add_place(at, object, kernel->container);
    json_object_set_new(object, "launches", number(kernel->launches));
    json_object_set_new(object, "failed", number(kernel->failed));
    json_object_set_new(object, "gpu", ordinal(gpu));
    add_verdict(at, object, kernel->container, kernel->holds, gpu, nk_sums_kernel(at->run, kernel, gpu));
    json_array_append_new(at->doc->kernels, object);
    if (!at->asked && nk_sums_runs_against_rules(at->run, kernel))
        json_array_append_new(at->doc->contradictions,
                              json_pack("{s:I, s:o, s:o, s:s, s:s, s:s}", "recording", at->index, "kernel",
                                        text_or_null(name), "gpu", ordinal(kernel->gpu), "driver", "ran", "rules",
                                        "none", "reason",
                                        nk_reason_key(nk_sums_kernel(at->run, kernel, kernel->gpu).reason)));
}

// ---- failures

static json_t *python_stack(const struct at *at, const struct nk_run_python *python)
{
    json_t *array = json_array();
    for (uint32_t i = 0; python && i < python->count; i++) {
        const struct nk_run_python_frame *f = &python->frames[i];
        json_array_append_new(array, json_pack("{s:o, s:o, s:o}", "file", path(at, f->file), "line",
                                               f->line ? json_integer(f->line) : json_null(), "function",
                                               nk_json_text(f->function)));
    }
    return array;
}

static json_t *native_stack(const struct at *at, const struct nk_run_stack *stack)
{
    json_t *list = json_array();
    for (uint32_t i = 0; stack && i < stack->count; i++) {
        const struct nk_run_frame *frame = &stack->frames[i];
        const char *symbol = nk_run_text(at->run, frame->r.symbol);
        json_array_append_new(list,
                              json_pack("{s:o, s:o, s:o, s:o, s:o}", "library", library_path(at, frame->library),
                                        "offset", number(frame->r.offset), "symbol", text_or_null(symbol), "demangled",
                                        demangled(symbol), "displacement", number(frame->r.displacement)));
    }
    return list;
}

static json_t *surfaced(const struct at *at, const struct nk_run_surfaced *s)
{
    if (!s) return json_null();
    return json_pack("{s:o, s:i, s:o, s:b}", "api", id(at, s->r.api), "code", (int)s->r.result, "library",
                     library_path(at, s->library), "later", s->r.later != 0);
}

static json_t *candidates(const struct at *at, const struct nk_run_failure *f)
{
    json_t *list = json_array();
    const struct nk_run_container *c = f->kernel ? NULL : f->container;
    for (uint32_t i = 0; c && i < c->names_count; i++)
        json_array_append_new(list, nk_json_text(nk_run_text(at->run, c->names[i])));
    return list;
}

// The members that failures and probes share.
static json_t *call(const struct at *at, const struct nk_run_failure *f)
{
    const char *kernel = nk_run_text(at->run, f->kernel ? f->kernel->name : f->guess);
    json_t *object = json_pack("{s:I, s:o, s:o}", "recording", at->index, "kernel", text_or_null(kernel), "demangled",
                               demangled(kernel));
    add_place(at, object, f->container);
    json_object_set_new(object, "called_by", library_path(at, f->library));
    json_object_set_new(object, "kind", json_string(nk_words_kind(f->r.kind)));
    json_object_set_new(object, "api", id(at, f->r.api));
    json_object_set_new(object, "inside", id(at, f->r.inside));
    json_object_set_new(object, "code", json_integer(f->r.result));
    json_object_set_new(object, "result",
                        json_string(nk_result_name(f->r.runtime ? NK_RUNTIME : NK_DRIVER, f->r.result)));
    json_object_set_new(object, "gpu", ordinal(f->gpu));
    json_object_set_new(object, "count", number(f->count));
    json_object_set_new(object, "surfaced", surfaced(at, f->surfaced));
    add_verdict(at, object, f->container, f->kernel ? f->kernel->holds : NULL, f->gpu, f->verdict);
    return object;
}

static void add_failure(const struct at *at, const struct nk_run_failure *f)
{
    json_t *object = call(at, f);
    if (f->class == NK_CLASS_ASKED) {
        json_array_append_new(at->doc->probes, object);
        return;
    }
    json_object_set_new(object, "class", json_string(f->class == NK_CLASS_MISSING ? "missing-image" : "other"));
    json_object_set_new(object, "pinned",
                        json_string(f->r.pinned == NK_PINNED_SYNCHRONISED ? "synchronised" : "returned"));
    json_object_set_new(object, "kernel_known_from",
                        f->kernel  ? json_string("driver")
                        : f->guess ? json_string("stack")
                                   : json_null());
    json_object_set_new(object, "candidates", candidates(at, f));
    json_object_set_new(object, "candidates_total",
                        json_integer(f->kernel || !f->container ? 0 : f->container->names_total));
    json_object_set_new(object, "native_stack", native_stack(at, f->stack));
    json_object_set_new(object, "python_stack", python_stack(at, f->python));
    json_array_append_new(at->doc->failures, object);
    if (f->contradiction)
        json_array_append_new(at->doc->contradictions,
                              json_pack("{s:I, s:O, s:o, s:s, s:s, s:s}", "recording", at->index, "kernel",
                                        json_object_get(object, "kernel"), "gpu", ordinal(f->gpu), "driver", "refused",
                                        "rules", nk_runs_word(f->verdict.runs), "reason",
                                        nk_reason_key(f->verdict.reason)));
}

// ---- refused at start-up, notes, sums

static void add_refused(const struct at *at, const struct nk_run_library *library)
{
    size_t refused = 0, loaded = 0;
    for (size_t i = 0; i < at->run->container_count; i++) {
        const struct nk_run_container *c = &at->run->containers[i];
        if (c->library != library || c->r.origin == NK_ORIGIN_SCANNED) continue;
        refused += c->refused;
        loaded++;
    }
    if (refused)
        json_array_append_new(at->doc->refused, json_pack("{s:I, s:o, s:I, s:I}", "recording", at->index, "library",
                                                          library_path(at, library), "refused", (json_int_t)refused,
                                                          "containers", (json_int_t)loaded));
}

static void sum_up(struct doc *doc, const struct nk_sums *s, bool first)
{
    struct nk_sums *sum = &doc->sum;
    if (first) sum->healthy = true;
    sum->healthy &= s->healthy;
    sum->launched += s->launched;
    sum->missing += s->missing;
    sum->missing_boxes += s->missing_boxes;
    sum->other += s->other;
    sum->asked += s->asked;
    sum->refused += s->refused;
    sum->jit += s->jit;
    sum->hollow += s->hollow;
    sum->contradictions += s->contradictions;
}

// With --gpu the counts of verdicts are those of the GPU that was asked about.
static void sum_up_elsewhere(const struct at *at, struct nk_sums *sums)
{
    sums->jit = sums->hollow = 0;
    for (size_t i = 0; i < at->run->kernel_count; i++) {
        const struct nk_run_kernel *kernel = &at->run->kernels[i];
        if (!kernel->launches && !kernel->failed) continue;
        enum nk_runs runs = nk_sums_kernel(at->run, kernel, at->asked).runs;
        at->doc->none += runs == NK_RUNS_NONE;
        sums->jit += runs == NK_RUNS_JIT;
        sums->hollow += runs == NK_RUNS_HOLLOW;
    }
}

static void add_run(struct doc *doc, struct nk_run *run, size_t index, const struct nk_text_options *options)
{
    struct nk_sums sums;
    struct nk_run_gpu asked = {.r = {.ordinal = NK_NONE, .sm = (uint32_t)options->gpu}, .name = "", .asked = true};
    struct at at = {doc, run, (json_int_t)index, options, options->gpu ? &asked : NULL};
    nk_sums(run, &sums);
    add_recording(&at, &sums);
    for (size_t i = 0; i < run->gpu_count; i++) add_gpu(&at, &run->gpus[i]);
    for (size_t i = 0; i < run->failure_count; i++) add_failure(&at, &run->failures[i]);
    if (options->driver) {
        run->driver.cuda = (uint32_t)options->driver;
        run->driver.version = 0;
    }
    if (at.asked) {
        add_gpu(&at, &asked);
        sum_up_elsewhere(&at, &sums);
    }
    for (size_t i = 0; i < run->library_count; i++) add_library(&at, &run->libraries[i]);
    for (size_t i = 0; i < run->kernel_count; i++) add_kernel(&at, &run->kernels[i]);
    for (size_t i = 0; i < run->library_count; i++) add_refused(&at, &run->libraries[i]);
    for (size_t i = 0; i < run->note_count; i++)
        if (*nk_run_text(run, run->notes[i]))
            json_array_append_new(doc->notes, path(&at, nk_run_text(run, run->notes[i])));
    nk_fix_json(doc->advice, run, (json_int_t)index, at.asked, options->full_paths);
    sum_up(doc, &sums, json_array_size(doc->recordings) == 1);
}

static json_t *summary(const struct doc *doc, bool asked)
{
    const struct nk_sums *s = &doc->sum;
    json_t *object = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b}", "launched", (json_int_t)s->launched, "missing",
        (json_int_t)s->missing, "missing_unnamed", (json_int_t)s->missing_boxes, "other", (json_int_t)s->other, "jit",
        (json_int_t)s->jit, "hollow", (json_int_t)s->hollow, "probes", (json_int_t)s->asked, "refused",
        (json_int_t)s->refused, "contradictions", (json_int_t)s->contradictions, "healthy", s->healthy);
    if (asked) json_object_set_new(object, "would_be_missing", json_integer((json_int_t)doc->none));
    return object;
}

static int dump_to_buf(const char *part, size_t size, void *out)
{
    nk_buf_add(out, part, size);
    return 0;
}

static int write_out(struct doc *doc, bool asked, struct nk_buf *out)
{
    json_t *root = json_pack("{s:s, s:{s:s, s:s}, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
                             "schema", "nokernel-report/1", "tool", "name", "nokernel", "version", NK_VERSION,
                             "process", doc->process ? doc->process : json_null(), "gpus", doc->gpus, "libraries",
                             doc->libraries, "kernels", doc->kernels, "failures", doc->failures, "probes", doc->probes,
                             "refused", doc->refused, "contradictions", doc->contradictions, "advice", doc->advice,
                             "notes", doc->notes, "recordings", doc->recordings, "summary", summary(doc, asked));
    if (!root) return -1;
    int result = json_dump_callback(root, dump_to_buf, out, JSON_INDENT(1));
    nk_buf_text(out, "\n");
    json_decref(root);
    return result || out->failed ? -1 : 0;
}

int nk_report_json(const char *const *paths, size_t count, const struct nk_text_options *options, struct nk_buf *out,
                   struct nk_err *err)
{
    struct doc doc = {.recordings = json_array(),
                      .gpus = json_array(),
                      .libraries = json_array(),
                      .kernels = json_array(),
                      .failures = json_array(),
                      .probes = json_array(),
                      .refused = json_array(),
                      .contradictions = json_array(),
                      .notes = json_array(),
                      .advice = json_array()};
    int result = 0;
    for (size_t i = 0; i < count; i++) {
        struct nk_run run;
        if (nk_run_open(&run, paths[i], result ? NULL : err))
            result = -1;
        else
            add_run(&doc, &run, json_array_size(doc.recordings), options);
        nk_run_free(&run);
    }
    if (write_out(&doc, options->gpu != 0, out) && !result)
        result = nk_fail(err, NK_ERR_MEMORY, "not enough memory for the report");
    return result;
}
