// json.c - the report as JSON, of the schema "nokernel-report/1".
#include "report/json.h"
#include "base/json_text.h"
#include "report/fix_json.h"
#include "report/json_parts.h"
#include "report/words.h"

#include <string.h>

// ---- GPUs and libraries

static json_t *sm(unsigned number) { return json_sprintf("sm_%u", number); }

static void add_gpu(const struct nk_json_at *at, const struct nk_run_gpu *gpu)
{
    json_array_append_new(at->doc->gpus,
                          json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "recording", at->index, "ordinal",
                                    nk_json_ordinal(gpu), "name", nk_json_or_null(gpu->name), "sm", sm(gpu->r.sm),
                                    "driver", nk_json_id(at, at->run->driver.version), "cuda",
                                    nk_json_cuda(at->run->driver.cuda), "memory", nk_json_number(gpu->r.memory),
                                    "asked", gpu->asked));
}

static json_t *coverage(const struct nk_json_at *at, const struct nk_run_library *library)
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

static json_t *origin(const struct nk_json_at *at, const struct nk_run_library *library)
{
    struct nk_buf out = {0};
    nk_words_origin(&out, library->origin, at->options->full_paths, false);
    json_t *value = nk_json_or_null(out.data);
    nk_buf_free(&out);
    return value;
}

static void add_library(const struct nk_json_at *at, const struct nk_run_library *library)
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
                          json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:b, s:o}", "recording",
                                    at->index, "path", nk_json_library(at, library), "build_id",
                                    nk_json_or_null(library->build_id), "package", nk_json_or_null(library->package),
                                    "version", nk_json_or_null(library->version), "source",
                                    nk_json_or_null(library->source), "installer", nk_json_or_null(library->installer),
                                    "origin", origin(at, library), "sass", nk_json_archs(&archs, NK_KIND_CUBIN), "ptx",
                                    nk_json_archs(&archs, NK_KIND_PTX), "containers", (json_int_t)containers, "scanned",
                                    library->scanned, "coverage", coverage(at, library)));
}

// ---- kernels

static void add_kernel(const struct nk_json_at *at, const struct nk_run_kernel *kernel)
{
    const char *name = nk_run_text(at->run, kernel->name);
    const struct nk_run_gpu *gpu = at->asked ? at->asked : kernel->gpu;
    json_t *object = json_pack("{s:I, s:o, s:o}", "recording", at->index, "name", nk_json_or_null(name), "demangled",
                               nk_json_demangled(name));
    nk_json_add_place(at, object, kernel->container);
    json_object_set_new(object, "launches", nk_json_number(kernel->launches));
    json_object_set_new(object, "failed", nk_json_number(kernel->failed));
    json_object_set_new(object, "gpu", nk_json_ordinal(gpu));
    nk_json_add_verdict(at, object, kernel->container, kernel->holds, gpu, nk_sums_kernel(at->run, kernel, gpu));
    bool against = !at->asked && nk_sums_runs_against_rules(at->run, kernel);
    json_object_set_new(object, "contradiction", json_boolean(against));
    json_array_append_new(at->doc->kernels, object);
    if (against)
        json_array_append_new(at->doc->contradictions,
                              json_pack("{s:I, s:o, s:o, s:s, s:s, s:s}", "recording", at->index, "kernel",
                                        nk_json_or_null(name), "gpu", nk_json_ordinal(kernel->gpu), "driver", "ran",
                                        "rules", "none", "reason",
                                        nk_reason_key(nk_sums_kernel(at->run, kernel, kernel->gpu).reason)));
}

// ---- refused at start-up, notes, sums

static void add_refused(const struct nk_json_at *at, const struct nk_run_library *library)
{
    struct nk_refusals r = nk_sums_refusals(at->run, library);
    if (r.refused)
        json_array_append_new(at->doc->refused, json_pack("{s:I, s:o, s:I, s:I}", "recording", at->index, "library",
                                                          nk_json_library(at, library), "refused",
                                                          (json_int_t)r.refused, "containers", (json_int_t)r.loaded));
}

static void sum_up(struct nk_json_doc *doc, const struct nk_sums *s, bool first)
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
static void sum_up_elsewhere(const struct nk_json_at *at, struct nk_sums *sums)
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

static void add_run(struct nk_json_doc *doc, struct nk_run *run, size_t index, const struct nk_text_options *options)
{
    struct nk_sums sums;
    struct nk_run_gpu asked = {.r = {.ordinal = NK_NONE, .sm = (uint32_t)options->gpu}, .name = "", .asked = true};
    struct nk_json_at at = {doc, run, (json_int_t)index, options, options->gpu ? &asked : NULL};
    nk_sums(run, &sums);
    nk_json_add_recording(&at, &sums);
    for (size_t i = 0; i < run->gpu_count; i++) add_gpu(&at, &run->gpus[i]);
    for (size_t i = 0; i < run->failure_count; i++) nk_json_add_failure(&at, &run->failures[i]);
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
            json_array_append_new(doc->notes, nk_json_path(&at, nk_run_text(run, run->notes[i])));
    for (size_t i = 0; i < run->passed_count; i++)
        json_array_append_new(doc->unknown_calls, json_pack("{s:I, s:o, s:o}", "recording", at.index, "name",
                                                            nk_json_id(&at, run->passed[i].name), "count",
                                                            nk_json_number(run->passed[i].calls)));
    nk_fix_json(doc->advice, run, (json_int_t)index, at.asked, options->full_paths);
    sum_up(doc, &sums, json_array_size(doc->recordings) == 1);
}

static json_t *summary(const struct nk_json_doc *doc, bool asked)
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

static int write_out(struct nk_json_doc *doc, const struct nk_text_options *options, struct nk_buf *out)
{
    json_t *root =
        json_pack("{s:s, s:{s:s, s:s}, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema",
                  "nokernel-report/1", "tool", "name", "nokernel", "version", NK_VERSION, "process",
                  doc->process ? doc->process : json_null(), "gpus", doc->gpus, "libraries", doc->libraries, "kernels",
                  doc->kernels, "failures", doc->failures, "probes", doc->probes, "refused", doc->refused,
                  "contradictions", doc->contradictions, "advice", doc->advice, "notes", doc->notes, "unknown_calls",
                  doc->unknown_calls, "recordings", doc->recordings, "summary", summary(doc, options->gpu != 0));
    if (!root) return -1;
    if (options->exercised)
        json_object_set_new(root, "exercised", nk_json_exercised(options->exercised, options->full_paths));
    if (options->everywhere) json_object_set_new(root, "everywhere", nk_json_everywhere(options->everywhere));
    nk_json_write_document(out, root);
    return out->failed ? -1 : 0;
}

int nk_report_json(const char *const *paths, size_t count, const struct nk_text_options *options, struct nk_buf *out,
                   struct nk_err *err)
{
    struct nk_json_doc doc = {.recordings = json_array(),
                              .gpus = json_array(),
                              .libraries = json_array(),
                              .kernels = json_array(),
                              .failures = json_array(),
                              .probes = json_array(),
                              .refused = json_array(),
                              .contradictions = json_array(),
                              .notes = json_array(),
                              .unknown_calls = json_array(),
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
    if (write_out(&doc, options, out) && !result)
        result = nk_fail(err, NK_ERR_MEMORY, "not enough memory for the report");
    return result;
}
