// coverage.c - the parts of the text report about libraries and GPUs.
#include "report/coverage.h"
#include "report/words.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_NONE = 12, MOST_PARTLY = 6, MOST_GROUPS = 12, MOST_NAMES = 3 };

static void heading(struct nk_page *page, const char *text)
{
    nk_page_gap(page);
    nk_page_sentence(page, 2, text);
}

// A library as "torch 2.4.1   torch/lib/libtorch_cuda.so" with something after it.
static void named(struct nk_buf *out, const struct nk_run_library *library, bool full)
{
    if (nk_words_package(out, library)) nk_buf_text(out, "   ");
    nk_words_path(out, library->path, full);
}

// ---- refused at start-up

static void has_and_needs(struct nk_page *page, const struct nk_run *run, const struct nk_run_library *library,
                          struct nk_buf *line)
{
    struct nk_archs archs = {0};
    const struct nk_run_container *refused = NULL;
    nk_archs_library(&archs, run, library);
    nk_words_has(line, &archs);
    nk_page_buf(page, 4, "has", NK_STYLE_PLAIN, line);
    for (size_t i = 0; i < run->container_count && !refused; i++)
        if (run->containers[i].library == library && run->containers[i].refused) refused = &run->containers[i];
    if (run->gpu_count) nk_words_needs(line, run, refused, NULL, &run->gpus[0]);
    nk_page_buf(page, 4, "needs", NK_STYLE_PLAIN, line);
}

// Libraries that were refused whole come first: nothing of them can run.
void nk_block_refused(struct nk_page *page, struct nk_run *run)
{
    struct nk_buf line = {0};
    size_t shown = 0;
    for (int whole = 1; whole >= 0; whole--)
        for (size_t i = 0; i < run->library_count; i++) {
            const struct nk_run_library *library = &run->libraries[i];
            struct nk_refusals r = nk_sums_refusals(run, library);
            if (!r.refused || r.whole != whole) continue;
            if (!shown++)
                heading(page,
                        "refused when the program started: which kernel it wanted cannot be seen here, because its "
                        "CUDA runtime keeps it to itself");
            nk_buf_format(&line, "%zu of %zu fat binaries of ", r.refused, r.loaded);
            named(&line, library, page->full_paths);
            if (shown <= MOST_NONE) nk_page_sentence(page, 4, line.data ? line.data : "");
            nk_buf_clear(&line);
            if (whole && shown <= MOST_NONE) has_and_needs(page, run, library, &line);
        }
    if (shown > MOST_NONE) {
        nk_buf_format(&line, "and of %zu more libraries", shown - MOST_NONE);
        nk_page_sentence(page, 4, line.data ? line.data : "");
    }
    nk_buf_free(&line);
}

// ---- other libraries

static bool failed(const struct nk_run *run, const struct nk_run_library *library)
{
    for (size_t i = 0; i < run->failure_count; i++) {
        const struct nk_run_failure *f = &run->failures[i];
        if (f->class == NK_CLASS_MISSING && f->container && f->container->library == library) return true;
    }
    return false;
}

static void gap(struct nk_page *page, const struct nk_run *run, const struct nk_run_library *library,
                const struct nk_cover *cover)
{
    struct nk_buf line = {0};
    named(&line, library, page->full_paths);
    nk_buf_text(&line, ": ");
    if (!strcmp(cover->word, "partly")) {
        nk_buf_format(&line, "%zu of %zu fat binaries have no image for it", cover->none,
                      cover->none + cover->native + cover->jit + cover->unknown);
    } else {
        struct nk_archs archs = {0};
        nk_archs_library(&archs, run, library);
        nk_words_has(&line, &archs);
    }
    nk_page_buf(page, 4, cover->word, NK_STYLE_PLAIN, &line);
    nk_buf_free(&line);
}

struct others {
    size_t none, partly, unknown, covered;
};

// Writes the libraries of one word and counts all.
static void others_of(struct nk_page *page, struct nk_run *run, const struct nk_run_gpu *gpu, const char *word,
                      size_t most, struct others *count, bool *begun)
{
    *count = (struct others){0};
    for (size_t i = 0; i < run->library_count; i++) {
        const struct nk_run_library *library = &run->libraries[i];
        if (!library->scanned || failed(run, library)) continue;
        struct nk_cover cover = nk_sums_cover(run, library, gpu);
        if (!cover.word) continue;
        bool none = !strcmp(cover.word, "none"), partly = !strcmp(cover.word, "partly");
        bool unknown = !strcmp(cover.word, "unknown");
        count->none += none;
        count->partly += partly;
        count->unknown += unknown;
        count->covered += !none && !partly && !unknown;
        if (strcmp(cover.word, word) || (none ? count->none : count->partly) > most) continue;
        if (!*begun) {
            struct nk_buf line = {0};
            nk_buf_format(&line, "also in this process, for sm_%u", gpu->r.sm);
            if (line.data) heading(page, line.data);
            nk_buf_free(&line);
        }
        *begun = true;
        gap(page, run, library, &cover);
    }
}

static void rest(struct nk_buf *line, size_t count, const char *one, const char *many)
{
    if (!count) return;
    if (line->size) nk_buf_text(line, ", ");
    nk_words_count(line, count, one, many);
}

void nk_block_others(struct nk_page *page, struct nk_run *run, const struct nk_run_gpu *gpu)
{
    struct others count;
    struct nk_buf line = {0};
    bool begun = false;
    others_of(page, run, gpu, "none", MOST_NONE, &count, &begun);
    others_of(page, run, gpu, "partly", MOST_PARTLY, &count, &begun);
    if (begun) {
        rest(&line, count.none > MOST_NONE ? count.none - MOST_NONE : 0, "more does not", "more do not");
        rest(&line, count.partly > MOST_PARTLY ? count.partly - MOST_PARTLY : 0, "more partly", "more partly");
        rest(&line, count.covered, "other covers it", "others cover it");
        rest(&line, count.unknown, "cannot be judged", "cannot be judged");
        if (line.size) nk_page_sentence(page, 4, line.data);
    }
    nk_buf_free(&line);
}

// ---- another GPU

// Launched or wanted: the kernels that the question is about.
static bool wanted(const struct nk_run_kernel *kernel) { return kernel->launches || kernel->failed; }

void nk_elsewhere(struct nk_run *run, const struct nk_run_gpu *gpu, struct nk_elsewhere *out)
{
    *out = (struct nk_elsewhere){0};
    for (size_t i = 0; i < run->kernel_count; i++) {
        if (!wanted(&run->kernels[i])) continue;
        enum nk_runs runs = nk_sums_kernel(run, &run->kernels[i], gpu).runs;
        out->kernels++;
        out->jit += runs == NK_RUNS_JIT;
        out->hollow += runs == NK_RUNS_HOLLOW;
        out->none += runs == NK_RUNS_NONE;
        out->unknown += runs == NK_RUNS_UNKNOWN;
    }
}

// ---- kernels of one library with the same images, told together

struct group {
    const struct nk_run_kernel *first;
    struct nk_verdict verdict;
    struct nk_buf has, names;
    size_t count, named;
    uint64_t launches;
};

struct groups {
    struct group group[MOST_GROUPS];
    size_t count;
};

// Which kernels are meant, by their verdict on a GPU.
typedef bool pick_fn(const struct nk_run *run, const struct nk_run_kernel *kernel, struct nk_verdict verdict);

static bool absent(const struct nk_run *run, const struct nk_run_kernel *kernel, struct nk_verdict verdict)
{
    (void)run;
    return wanted(kernel) && verdict.runs == NK_RUNS_NONE;
}

static bool hollow(const struct nk_run *run, const struct nk_run_kernel *kernel, struct nk_verdict verdict)
{
    (void)run;
    return wanted(kernel) && verdict.runs == NK_RUNS_HOLLOW;
}

static bool against_rules(const struct nk_run *run, const struct nk_run_kernel *kernel, struct nk_verdict verdict)
{
    return verdict.runs == NK_RUNS_NONE && nk_sums_runs_against_rules(run, kernel);
}

static struct group *group_of(struct groups *groups, const struct nk_run_kernel *kernel, struct nk_verdict verdict)
{
    struct nk_archs archs = {0};
    struct nk_buf has = {0};
    nk_archs_add(&archs, kernel->container, kernel->holds);
    nk_words_has(&has, &archs);
    for (size_t i = 0; i < groups->count; i++) {
        struct group *g = &groups->group[i];
        if (g->first->container->library == kernel->container->library && g->verdict.reason == verdict.reason &&
            g->has.size == has.size && (!has.size || !memcmp(g->has.data, has.data, has.size))) {
            nk_buf_free(&has);
            return g;
        }
    }
    if (groups->count == MOST_GROUPS) {
        nk_buf_free(&has);
        return NULL;
    }
    groups->group[groups->count] = (struct group){.first = kernel, .verdict = verdict, .has = has};
    return &groups->group[groups->count++];
}

// Each name once: instances of one template often look alike when they are shortened.
static void add_name(struct nk_page *page, struct nk_run *run, struct group *group, const struct nk_run_kernel *kernel)
{
    struct nk_buf name = {0};
    nk_words_kernel(&name, nk_run_text(run, kernel->name), nk_page_room(page) - 2);
    if (name.size && !(group->names.size && strstr(group->names.data, name.data))) {
        if (group->named++) nk_buf_text(&group->names, ", ");
        nk_buf_add(&group->names, name.data, name.size);
    }
    nk_buf_free(&name);
}

// `gpu` NULL: each kernel on the GPU that it ran on.
static void collect(struct nk_page *page, struct nk_run *run, const struct nk_run_gpu *gpu, pick_fn *pick,
                    struct groups *groups)
{
    for (size_t i = 0; i < run->kernel_count; i++) {
        const struct nk_run_kernel *kernel = &run->kernels[i];
        if (!wanted(kernel)) continue;
        struct nk_verdict verdict = nk_sums_kernel(run, kernel, gpu ? gpu : kernel->gpu);
        struct group *group = pick(run, kernel, verdict) ? group_of(groups, kernel, verdict) : NULL;
        if (!group) continue;
        group->launches += kernel->launches;
        group->count++;
        if (group->named < MOST_NAMES) add_name(page, run, group, kernel);
    }
}

// Writes the groups, with what `says` (NULL, or the words before and after the architecture) under the names, and
// frees them.
static void show(struct nk_page *page, struct nk_run *run, const struct nk_run_gpu *gpu, struct groups *groups,
                 const char *label, const char *const says[2])
{
    struct nk_buf line = {0};
    for (size_t i = 0; i < groups->count; i++) {
        struct group *g = &groups->group[i];
        nk_page_gap(page);
        if (g->count > g->named) nk_buf_format(&g->names, " and %zu more", g->count - g->named);
        nk_page_buf(page, 2, label, NK_STYLE_BAD, &g->names);
        if (says) {
            nk_buf_text(&line, "launched ");
            nk_words_times(&line, g->launches);
            nk_buf_format(&line, "%s%u%s", says[0], g->first->gpu->r.sm, says[1]);
            nk_page_buf(page, 2, "", NK_STYLE_PLAIN, &line);
        }
        nk_words_place(&line, g->first->container, page->full_paths);
        nk_page_buf(page, 4, "in", NK_STYLE_PLAIN, &line);
        nk_page_buf(page, 4, "has", NK_STYLE_PLAIN, &g->has);
        if (gpu) nk_words_needs(&line, run, g->first->container, g->first->holds, gpu);
        nk_page_buf(page, 4, "needs", NK_STYLE_PLAIN, &line);
        if (gpu && g->verdict.reason != NK_REASON_NO_IMAGE)
            nk_page_row(page, 4, "why", NK_STYLE_PLAIN, nk_reason_sentence(g->verdict.reason));
        nk_buf_free(&g->has);
        nk_buf_free(&g->names);
    }
    nk_buf_free(&line);
}

void nk_block_doubts(struct nk_page *page, struct nk_run *run)
{
    static const char *const nothing_done[] = {
        ", but its body is empty for sm_",
        ": the launch did nothing and the result is wrong, though no error was returned"};
    static const char *const unexpected[] = {
        " on sm_",
        " without an error; by the rules that nokernel knows there is no image for that GPU: one of the two is "
        "wrong, please report this"};
    struct groups empty = {0}, against = {0};
    collect(page, run, NULL, hollow, &empty);
    show(page, run, NULL, &empty, "EMPTY", nothing_done);
    collect(page, run, NULL, against_rules, &against);
    show(page, run, NULL, &against, "DOUBT", unexpected);
}

void nk_block_elsewhere(struct nk_page *page, struct nk_run *run, const struct nk_run_gpu *gpu)
{
    struct groups none = {0}, empty = {0};
    collect(page, run, gpu, absent, &none);
    show(page, run, gpu, &none, "MISSING", NULL);
    collect(page, run, gpu, hollow, &empty);
    show(page, run, gpu, &empty, "EMPTY", NULL);
}
