// from_run.c - what a recording adds to a merge.
#include "merge/read.h"
#include "report/sums.h"
#include "report/words.h"

#include <string.h>

// Texts that a fact borrows until the report is handed over.
struct scratch {
    struct nk_run *run;
    struct nk_merge_report report;
    bool failed;
};

void nk_merge_hand_over(struct nk_merge_in *in, const struct nk_merge_report *report)
{
    pthread_mutex_lock(in->lock);
    if (nk_merge_add(in->merge, report)) in->failed = true;
    pthread_mutex_unlock(in->lock);
}

enum nk_seen nk_merge_seen(enum nk_runs runs, bool against)
{
    switch (runs) {
    case NK_RUNS_NATIVE:
        return NK_SEEN_NATIVE;
    case NK_RUNS_JIT:
        return NK_SEEN_JIT;
    case NK_RUNS_HOLLOW:
        return NK_SEEN_HOLLOW;
    default:
        return against ? NK_SEEN_RAN : NK_SEEN_UNKNOWN;
    }
}

// The contents of a buffer, as a text that lives as long as the run.
static const char *keep(struct scratch *s, struct nk_buf *from)
{
    char *to = from->failed ? NULL : nk_run_alloc(s->run, from->size + 1);
    if (to && from->size) memcpy(to, from->data, from->size);
    s->failed |= !to;
    nk_buf_free(from);
    return to ? to : "";
}

static const char *has(struct scratch *s, const struct nk_run_container *c, const unsigned char *holds)
{
    struct nk_archs archs = {0};
    struct nk_buf out = {0};
    if (c) nk_archs_add(&archs, c, holds);
    for (size_t i = 0; i < archs.count; i++) {
        if (i) nk_buf_text(&out, ", ");
        nk_words_arch(&out, &archs.item[i], true);
    }
    return keep(s, &out);
}

// Does the library itself hold GPU code? Then what it loads from memory is its own, unpacked or put together.
static bool holds_code(const struct nk_run *run, const struct nk_run_library *library)
{
    for (size_t i = 0; i < run->container_count; i++)
        if (run->containers[i].library == library && nk_sums_stands(&run->containers[i])) return true;
    return false;
}

static void place(struct nk_fact *fact, const struct nk_run *run, const struct nk_run_container *c)
{
    const struct nk_run_library *library = c ? c->library : NULL;
    fact->memory = c && !library && !*c->file && c->loader;
    if (c && !library && *c->file) fact->text[NK_FACT_LIBRARY] = nk_merge_path(c->file);
    if (fact->memory) library = c->loader;
    if (!library) return;
    fact->text[NK_FACT_LIBRARY] = nk_merge_path(library->path);
    if (fact->memory && !holds_code(run, library)) return;
    fact->text[NK_FACT_PACKAGE] = library->package;
    fact->text[NK_FACT_VERSION] = library->version;
}

static struct nk_fact begin(struct scratch *s, const struct nk_run_container *c, const unsigned char *holds,
                            const struct nk_run_gpu *gpu, struct nk_verdict verdict)
{
    struct nk_fact fact = {.sm = gpu ? gpu->r.sm : 0, .rules = verdict.runs};
    for (int i = 0; i < NK_FACT_TEXTS; i++) fact.text[i] = "";
    place(&fact, s->run, c);
    fact.text[NK_FACT_HAS] = has(s, c, holds);
    fact.text[NK_FACT_REASON] = nk_reason_key(verdict.reason);
    return fact;
}

static void take_kernel(struct scratch *s, const struct nk_run_kernel *kernel)
{
    if (kernel->launches <= kernel->failed) return;
    struct nk_verdict verdict = nk_sums_kernel(s->run, kernel, kernel->gpu);
    struct nk_fact fact = begin(s, kernel->container, kernel->holds, kernel->gpu, verdict);
    fact.text[NK_FACT_KERNEL] = nk_run_text(s->run, kernel->name);
    fact.contradiction = nk_sums_runs_against_rules(s->run, kernel);
    fact.seen = nk_merge_seen(verdict.runs, fact.contradiction);
    nk_merge_report_add(&s->report, &fact, kernel->launches - kernel->failed);
}

static const char *candidates(struct scratch *s, const struct nk_run_container *c)
{
    struct nk_buf out = {0};
    for (uint32_t i = 0; c && i < c->names_count; i++) {
        if (i) nk_buf_text(&out, "\n");
        nk_buf_text(&out, nk_run_text(s->run, c->names[i]));
    }
    return keep(s, &out);
}

static void take_failure(struct scratch *s, const struct nk_run_failure *f)
{
    if (f->class != NK_CLASS_MISSING) return;
    struct nk_fact fact = begin(s, f->container, f->kernel ? f->kernel->holds : NULL, f->gpu, f->verdict);
    fact.seen = NK_SEEN_MISSING;
    fact.contradiction = f->contradiction;
    fact.text[NK_FACT_KERNEL] = nk_run_text(s->run, f->kernel ? f->kernel->name : f->guess);
    if (!*fact.text[NK_FACT_KERNEL] && !f->kernel) fact.text[NK_FACT_ONE_OF] = candidates(s, f->container);
    nk_merge_report_add(&s->report, &fact, f->count);
}

static void take_gpu(struct scratch *s, const struct nk_run_gpu *gpu)
{
    struct nk_fact fact = {.sm = gpu->r.sm, .seen = NK_SEEN_GPU, .rules = NK_RUNS_UNKNOWN};
    struct nk_buf cuda = {0};
    uint32_t version = s->run->driver.cuda;
    for (int i = 0; i < NK_FACT_TEXTS; i++) fact.text[i] = "";
    if (version) nk_buf_format(&cuda, "%u.%u", version / 1000, version % 1000 / 10);
    fact.text[NK_FACT_KERNEL] = gpu->name;
    fact.text[NK_FACT_VERSION] = nk_run_text(s->run, s->run->driver.version);
    fact.text[NK_FACT_LIBRARY] = keep(s, &cuda);
    nk_merge_report_add(&s->report, &fact, 1);
}

int nk_merge_recording(struct nk_merge_in *in, const char *path, const char *name, struct nk_err *err)
{
    struct nk_run run;
    struct nk_sums sums;
    struct nk_err why = {0};
    int result = nk_run_read(&run, path, &why);
    struct scratch s = {.run = &run, .report.id = nk_run_identity(&run)};
    if (result) {
        size_t said = strlen(path); // its own sentence begins with the path
        bool named = !strncmp(why.text, path, said) && why.text[said] == ':';
        nk_fail(err, why.code, "%s:%s%s", name, named ? "" : " ", why.text + (named ? said + 1 : 0));
    } else {
        nk_sums(&run, &sums);
        for (size_t i = 0; i < run.gpu_count; i++) take_gpu(&s, &run.gpus[i]);
        for (size_t i = 0; i < run.kernel_count; i++) take_kernel(&s, &run.kernels[i]);
        for (size_t i = 0; i < run.failure_count; i++) take_failure(&s, &run.failures[i]);
        in->failed |= s.failed;
        nk_merge_hand_over(in, &s.report);
    }
    nk_merge_report_free(&s.report);
    nk_run_free(&run);
    return result;
}
