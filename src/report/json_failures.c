// json_failures.c - failures and probes in the JSON report, with their stacks.
#include "report/json_parts.h"
#include "base/json_text.h"
#include "driver/results.h"
#include "report/words.h"

static json_t *python_stack(const struct nk_json_at *at, const struct nk_run_python *python)
{
    json_t *array = json_array();
    for (uint32_t i = 0; python && i < python->count; i++) {
        const struct nk_run_python_frame *f = &python->frames[i];
        json_array_append_new(array, json_pack("{s:o, s:o, s:o}", "file", nk_json_path(at, f->file), "line",
                                               f->line ? json_integer(f->line) : json_null(), "function",
                                               nk_json_text(f->function)));
    }
    return array;
}

// Where the name of a frame's function comes from, or why there is none.
static json_t *named(enum nk_named how, bool has_name)
{
    static const char *const words[] = {
        [NK_NAMED_BY_PROCESS] = "process", [NK_NAMED_BY_FILE] = "file", [NK_NAMED_BY_DEBUG] = "debug_file",
        [NK_NAMED_CHANGED] = "changed",    [NK_NAMED_GONE] = "gone",    [NK_NAMED_NOT] = NULL};
    bool tells = how == NK_NAMED_BY_PROCESS || how == NK_NAMED_BY_FILE || how == NK_NAMED_BY_DEBUG;
    return words[how] && tells == has_name ? json_string(words[how]) : json_null();
}

static json_t *native_stack(const struct nk_json_at *at, const struct nk_run_stack *stack)
{
    json_t *list = json_array();
    for (uint32_t i = 0; stack && i < stack->count; i++) {
        const struct nk_run_frame *frame = &stack->frames[i];
        const char *symbol = frame->symbol;
        json_array_append_new(
            list, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "library", nk_json_library(at, frame->library),
                            "offset", nk_json_number(frame->r.offset), "symbol", nk_json_or_null(symbol), "demangled",
                            nk_json_demangled(symbol), "displacement", nk_json_number(frame->displacement), "named_by",
                            named(frame->named, true), "unnamed_because", named(frame->named, false), "folded",
                            nk_words_folded(frame)));
    }
    return list;
}

static json_t *other_places(const struct nk_json_at *at, const struct nk_run_failure *f)
{
    json_t *list = json_array();
    for (size_t i = 0; i < at->run->place_count; i++) {
        const struct nk_run_place *p = &at->run->places[i];
        if (p->r.failure == f->r.id)
            json_array_append_new(list,
                                  json_pack("{s:o, s:o, s:o}", "time", nk_json_number(p->r.nth), "native_stack",
                                            native_stack(at, p->stack), "python_stack", python_stack(at, p->python)));
    }
    return list;
}

static json_t *surfaced(const struct nk_json_at *at, const struct nk_run_surfaced *s)
{
    if (!s) return json_null();
    return json_pack("{s:o, s:i, s:o, s:b}", "api", nk_json_id(at, s->r.api), "code", (int)s->r.result, "library",
                     nk_json_library(at, s->library), "later", s->r.later != 0);
}

static json_t *candidates(const struct nk_json_at *at, const struct nk_run_failure *f)
{
    json_t *list = json_array();
    const struct nk_run_container *c = f->kernel ? NULL : f->container;
    for (uint32_t i = 0; c && i < c->names_count; i++)
        json_array_append_new(list, nk_json_text(nk_run_text(at->run, c->names[i])));
    return list;
}

// The members that failures and probes share.
static json_t *call(const struct nk_json_at *at, const struct nk_run_failure *f)
{
    const char *kernel = nk_run_text(at->run, f->kernel ? f->kernel->name : f->guess);
    json_t *object = json_pack("{s:I, s:o, s:o}", "recording", at->index, "kernel", nk_json_or_null(kernel),
                               "demangled", nk_json_demangled(kernel));
    nk_json_add_place(at, object, f->container);
    json_object_set_new(object, "called_by", nk_json_library(at, f->library));
    json_object_set_new(object, "kind", json_string(nk_words_kind(f->r.kind)));
    json_object_set_new(object, "api", nk_json_id(at, f->r.api));
    json_object_set_new(object, "inside", nk_json_id(at, f->r.inside));
    json_object_set_new(object, "code", json_integer(f->r.result));
    json_object_set_new(object, "result",
                        json_string(nk_result_name(f->r.runtime ? NK_RUNTIME : NK_DRIVER, f->r.result)));
    json_object_set_new(object, "gpu", nk_json_ordinal(f->gpu));
    json_object_set_new(object, "count", nk_json_number(f->count));
    json_object_set_new(object, "surfaced", surfaced(at, f->surfaced));
    nk_json_add_verdict(at, object, f->container, f->kernel ? f->kernel->holds : NULL, f->gpu, f->verdict);
    return object;
}

void nk_json_add_failure(const struct nk_json_at *at, const struct nk_run_failure *f)
{
    json_t *object = call(at, f);
    if (f->class == NK_CLASS_ASKED) {
        json_array_append_new(at->doc->probes, object);
        return;
    }
    json_object_set_new(object, "class", json_string(f->class == NK_CLASS_MISSING ? "missing-image" : "other"));
    json_object_set_new(object, "pinned", json_string(nk_words_pinned(f->r.pinned)));
    json_object_set_new(object, "found_at_end", json_boolean(f->r.at_end));
    json_object_set_new(object, "kernel_known_from",
                        f->kernel  ? json_string("driver")
                        : f->guess ? json_string(f->guess_by_file ? "symbols" : "stack")
                                   : json_null());
    json_object_set_new(object, "candidates", candidates(at, f));
    json_object_set_new(object, "candidates_total",
                        json_integer(f->kernel || !f->container ? 0 : f->container->names_total));
    json_object_set_new(object, "native_stack", native_stack(at, f->stack));
    json_object_set_new(object, "python_stack", python_stack(at, f->python));
    json_object_set_new(object, "other_places", other_places(at, f));
    json_object_set_new(object, "contradiction", json_boolean(f->contradiction));
    json_object_set_new(object, "graph", nk_json_graph(at, f->graph));
    json_object_set_new(object, "trail", nk_json_trail(at, f));
    json_array_append_new(at->doc->failures, object);
    if (f->contradiction)
        json_array_append_new(at->doc->contradictions,
                              json_pack("{s:I, s:O, s:o, s:s, s:s, s:s}", "recording", at->index, "kernel",
                                        json_object_get(object, "kernel"), "gpu", nk_json_ordinal(f->gpu), "driver",
                                        "refused", "rules", nk_runs_word(f->verdict.runs), "reason",
                                        nk_reason_key(f->verdict.reason)));
}
