// blocks.c - the parts of the text report about failures and refusals.
#include "report/blocks.h"
#include "driver/abi.h"
#include "driver/results.h"
#include "report/candidates.h"
#include "report/launches.h"
#include "report/python.h"
#include "report/words.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BLOCKS = 5, MOST_LINES = 10, MOST_FRAMES = 5 };

// What a block is about: failures of one kernel (or of unnamed kernels of one library) on one GPU.
static bool together(const struct nk_run_failure *a, const struct nk_run_failure *b)
{
    if (a->class != b->class || a->gpu != b->gpu || a->kernel != b->kernel || a->guess != b->guess) return false;
    if (a->graph != b->graph || a->r.pinned == NK_PINNED_TRAIL || b->r.pinned == NK_PINNED_TRAIL) return a == b;
    if (a->kernel) return true;
    if (!a->container || !b->container) return a->container == b->container && a->r.api == b->r.api;
    return a->container->library ? a->container->library == b->container->library : a->container == b->container;
}

static bool first_of_block(const struct nk_run *run, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (together(&run->failures[i], &run->failures[index])) return false;
    return true;
}

static void unnamed(struct nk_buf *out, const struct nk_run_failure *f)
{
    const struct nk_run_library *in = f->container->library,
                                *by = f->container->loader ? f->container->loader : f->library;
    if (f->r.kind == NK_FAILED_LOAD) {
        nk_buf_text(out, f->container->r.origin == NK_ORIGIN_LINKED ? "an input that " : "a module that ");
        nk_buf_text(out, by ? nk_words_base(by->path) : "the program");
        nk_buf_text(out, f->container->r.origin == NK_ORIGIN_LINKED ? " gave to the driver's linker" : " loaded");
        return;
    }
    nk_buf_text(out, "a kernel of ");
    nk_buf_text(out, in ? nk_words_base(in->path) : by ? nk_words_base(by->path) : "an image in memory");
    nk_buf_text(out, f->class == NK_CLASS_OTHER ? "" : " (the driver was not told which one)");
}

static void name_of(struct nk_buf *out, struct nk_run *run, const struct nk_run_failure *f, size_t columns)
{
    const char *name = nk_run_text(run, f->kernel ? f->kernel->name : f->guess);
    if (*name)
        nk_words_kernel(out, name, columns);
    else if (f->graph)
        nk_words_graph(out, f->graph);
    else if (f->r.pinned == NK_PINNED_TRAIL)
        nk_buf_text(out, "work of the GPU");
    else if (f->container)
        unnamed(out, f);
    else
        nk_buf_text(out, "a call that names no kernel");
}

// "cuLaunchKernel returned 209 CUDA_ERROR_NO_BINARY_FOR_GPU, 3 times"
static void call_of(struct nk_buf *out, struct nk_run *run, const struct nk_run_failure *f, uint64_t count, size_t n)
{
    const char *api = nk_run_text(run, f->r.api), *inside = nk_run_text(run, f->r.inside);
    if (f->r.at_end) {
        nk_buf_text(out, "found when the program ended, for nobody had asked: ");
        nk_words_result(out, &f->r);
        return;
    }
    nk_buf_text(out, *api ? api : "a call");
    if (*inside && strcmp(inside, api)) nk_buf_format(out, " (in %s)", inside);
    nk_buf_text(out, f->r.pinned == NK_PINNED_SYNCHRONISED ? " was followed by " : " returned ");
    nk_words_result(out, &f->r);
    nk_buf_text(out, ", ");
    nk_words_times(out, count);
    if (n > 1) nk_buf_format(out, ", for %zu fat binaries", n);
}

// The calls of a block: those that differ in nothing but the container are one line.
static void calls(struct nk_page *page, struct nk_run *run, const struct nk_run_failure *first, struct nk_buf *line)
{
    for (size_t i = 0; i < run->failure_count; i++) {
        const struct nk_run_failure *f = &run->failures[i];
        uint64_t count = 0;
        size_t n = 0;
        for (size_t k = 0; k < run->failure_count; k++) {
            const struct nk_run_failure *g = &run->failures[k];
            if (!together(first, g) || g->r.api != f->r.api || g->r.result != f->r.result || g->r.kind != f->r.kind)
                continue;
            if (k < i) break; // written already
            count += g->count;
            n++;
        }
        if (!count || !together(first, f)) continue;
        call_of(line, run, f, count, f->kernel ? 1 : n);
        nk_page_buf(page, 2, "", NK_STYLE_PLAIN, line);
    }
}

// Kernels of the containers of a block, where the one that was wanted is not known.
static void candidates(struct nk_page *page, struct nk_run *run, const struct nk_run_failure *first)
{
    const struct nk_run_container **boxes;
    size_t count = 0;
    if (first->kernel || first->guess || !first->container) return;
    if (!(boxes = nk_run_alloc(run, run->failure_count * sizeof *boxes))) return;
    for (size_t i = 0; i < run->failure_count; i++) {
        bool known = !together(first, &run->failures[i]);
        for (size_t k = 0; k < count && !known; k++) known = boxes[k] == run->failures[i].container;
        if (!known) boxes[count++] = run->failures[i].container;
    }
    nk_row_candidates(page, run, boxes, count);
}

// `label`: "at", or nothing below a Python stack.
static void stack(struct nk_page *page, const struct nk_run_stack *frames, const char *label, struct nk_buf *line)
{
    bool last = false;
    for (uint32_t i = 0, shown = 0; frames && i < frames->count && shown < MOST_FRAMES && !last; i++) {
        if (!nk_words_frame(line, &frames->frames[i], nk_page_room(page), &last)) continue;
        nk_page_buf(page, 4, shown++ ? "" : label, NK_STYLE_PLAIN, line);
    }
}

// Where the same failed again: the lines of Python, or where there are none the native stack.
static void other_places(struct nk_page *page, struct nk_run *run, const struct nk_run_failure *f, struct nk_buf *line)
{
    enum { MOST = 3 };
    size_t more = 0;
    for (size_t i = 0; i < run->place_count; i++) {
        const struct nk_run_place *p = &run->places[i];
        if (p->r.failure != f->r.id || more++ >= MOST) continue;
        if (!nk_row_python(page, run, p->python, "also")) stack(page, p->stack, "also", line);
    }
    if (more <= MOST) return;
    nk_words_count(line, more - MOST, "more place", "more places");
    nk_page_buf(page, 4, "", NK_STYLE_PLAIN, line);
}

// Launched although it had been refused: the driver then has another error for it.
static bool of_nothing(const struct nk_run_failure *f)
{
    return f->surfaced && f->surfaced->r.result == NK_CUDA_INVALID_HANDLE && f->r.result != NK_CUDA_INVALID_HANDLE;
}

static bool read_elsewhere(const struct nk_run_failure *f)
{
    const struct nk_run_surfaced *s = f->surfaced;
    return s && (s->r.later || of_nothing(f) || (s->library && f->library && s->library != f->library));
}

static void read_by(struct nk_page *page, struct nk_run *run, const struct nk_run_failure *f, struct nk_buf *line)
{
    if (!read_elsewhere(f)) return;
    const char *api = nk_run_text(run, f->surfaced->r.api);
    nk_buf_text(line, *api ? api : "a call");
    if (of_nothing(f)) nk_buf_format(line, " of no kernel, as %d CUDA_ERROR_INVALID_HANDLE", NK_CUDA_INVALID_HANDLE);
    if (f->surfaced->library) nk_buf_format(line, ", called by %s", nk_words_base(f->surfaced->library->path));
    if (f->surfaced->r.later) nk_buf_text(line, ", after other work: what stood there had not failed");
    nk_page_buf(page, 4, "read", NK_STYLE_PLAIN, line);
}

static void has(struct nk_page *page, const struct nk_run_container *c, const unsigned char *holds, struct nk_buf *line)
{
    struct nk_archs archs = {0};
    if (!c || !c->count) return;
    nk_archs_add(&archs, c, holds);
    nk_words_has(line, &archs);
    nk_page_buf(page, 4, "has", NK_STYLE_PLAIN, line);
}

// Where it lies; of a library that no package owns also what tells one build from another.
static void place(struct nk_page *page, const struct nk_run_container *c, struct nk_buf *line)
{
    const struct nk_run_library *library = c ? c->library : NULL;
    nk_words_place(line, c, page->full_paths);
    nk_page_buf(page, 4, "in", NK_STYLE_PLAIN, line);
    if (!library || *library->package || (!*library->version && !*library->build_id)) return;
    nk_buf_text(line, "of no package");
    if (*library->version) nk_buf_format(line, "; version %s by its name", library->version);
    if (*library->build_id) nk_buf_format(line, "; build-id %s", library->build_id);
    nk_page_buf(page, 4, "", NK_STYLE_PLAIN, line);
}

// Container, images and need of a kernel on a GPU, and the reason where it says more than the lists.
static void images(struct nk_page *page, struct nk_run *run, const struct nk_run_container *c,
                   const unsigned char *holds, const struct nk_run_gpu *gpu, struct nk_verdict verdict)
{
    struct nk_buf line = {0};
    place(page, c, &line);
    has(page, c, holds, &line);
    if (verdict.runs == NK_RUNS_NONE || verdict.runs == NK_RUNS_HOLLOW) {
        nk_words_needs(&line, run, c, holds, gpu);
        nk_page_buf(page, 4, "needs", NK_STYLE_PLAIN, &line);
        if (verdict.reason != NK_REASON_NO_IMAGE)
            nk_page_row(page, 4, "why", NK_STYLE_PLAIN, nk_reason_sentence(verdict.reason));
        else if (c && !c->library && !*c->file && c->count == 1 && gpu) {
            // Made at run time: no file to look into, so the target of whoever made it is the reason.
            nk_buf_text(&line, "compiled for ");
            nk_words_image(&line, &c->images[0]);
            nk_buf_format(&line, ", this GPU is sm_%u", gpu->r.sm);
            nk_page_buf(page, 4, "why", NK_STYLE_PLAIN, &line);
        }
    } else if (verdict.runs == NK_RUNS_UNKNOWN && c && verdict.reason != NK_REASON_NONE) {
        nk_page_row(page, 4, "note", NK_STYLE_PLAIN, nk_reason_sentence(verdict.reason));
    }
    nk_buf_free(&line);
}

static void contradiction(struct nk_page *page, const struct nk_run_failure *f, struct nk_buf *line)
{
    if (!f->contradiction) return;
    nk_buf_format(line,
                  "by the rules that nokernel knows it runs on sm_%u: %s. The driver says otherwise; please "
                  "report this.",
                  f->gpu->r.sm, nk_reason_sentence(f->verdict.reason));
    nk_page_buf(page, 4, "but", NK_STYLE_STRONG, line);
}

// Where the images alone do not explain the result: what the driver means by it.
static void why(struct nk_page *page, const struct nk_run_failure *f)
{
    bool explained = f->verdict.runs == NK_RUNS_NONE && f->class != NK_CLASS_OTHER;
    const char *means = explained || f->contradiction ? NULL : nk_words_means(f->r.result);
    if (means) nk_page_row(page, 4, "why", NK_STYLE_PLAIN, means);
}

static void failure(struct nk_page *page, struct nk_run *run, const struct nk_run_failure *f, const char *label)
{
    struct nk_buf line = {0};
    nk_page_gap(page);
    name_of(&line, run, f, nk_page_room(page));
    nk_page_buf(page, 2, label, NK_STYLE_BAD, &line);
    calls(page, run, f, &line);
    candidates(page, run, f);
    nk_row_graph(page, run, f);
    if (f->guess) nk_page_row(page, 4, "name", NK_STYLE_PLAIN, "known from the host function in the native stack");
    if (run->gpu_count > 1 && f->gpu) {
        nk_buf_format(&line, "GPU %u, sm_%u", f->gpu->r.ordinal, f->gpu->r.sm);
        nk_page_buf(page, 4, "on", NK_STYLE_PLAIN, &line);
    }
    if (f->class != NK_CLASS_OTHER)
        images(page, run, f->container, f->kernel ? f->kernel->holds : NULL, f->gpu, f->verdict);
    else if (f->container) {
        place(page, f->container, &line);
        if (f->r.kind == NK_FAILED_LOAD) has(page, f->container, NULL, &line);
    }
    nk_row_trail(page, run, f);
    why(page, f);
    contradiction(page, f, &line);
    stack(page, f->stack, nk_row_python(page, run, f->python, "at") ? "" : "at", &line);
    other_places(page, run, f, &line);
    read_by(page, run, f, &line);
    nk_buf_free(&line);
}

// Kernels beyond the blocks, one line a name: instances of one template often look alike when they are shortened.
struct tally {
    struct nk_buf name;
    size_t count;
};

static void note(struct tally *tally, size_t *used, size_t *left, struct nk_buf *name)
{
    for (size_t i = 0; i < *used; i++)
        if (tally[i].name.size == name->size && !memcmp(tally[i].name.data, name->data, name->size)) {
            tally[i].count++;
            nk_buf_free(name);
            return;
        }
    if (*used < MOST_LINES && name->size) {
        tally[(*used)++] = (struct tally){*name, 1};
    } else {
        nk_buf_free(name);
        ++*left;
    }
}

static void further(struct nk_page *page, struct tally *tally, size_t used, size_t left)
{
    struct nk_buf line = {0};
    if (used) nk_page_gap(page);
    for (size_t i = 0; i < used; i++) {
        if (tally[i].count > 1) nk_buf_format(&tally[i].name, "  (%zu kernels)", tally[i].count);
        nk_page_buf(page, 2, i ? "" : "also", NK_STYLE_BAD, &tally[i].name);
        nk_buf_free(&tally[i].name);
    }
    if (left) nk_buf_format(&line, "and %zu more: nokernel report --json lists them all", left);
    nk_page_buf(page, 2, "", NK_STYLE_PLAIN, &line);
    nk_buf_free(&line);
}

void nk_block_failures(struct nk_page *page, struct nk_run *run)
{
    struct tally tally[MOST_LINES] = {0};
    size_t shown = 0, used = 0, left = 0;
    for (enum nk_failure_class class = NK_CLASS_MISSING; class <= NK_CLASS_OTHER; class ++)
        for (size_t i = 0; i < run->failure_count; i++) {
            const struct nk_run_failure *f = &run->failures[i];
            if (f->class != class || !first_of_block(run, i)) continue;
            if (shown++ < MOST_BLOCKS) {
                failure(page, run, f, "FAILED");
                continue;
            }
            struct nk_buf name = {0};
            name_of(&name, run, f, nk_page_room(page) - 14);
            note(tally, &used, &left, &name);
        }
    further(page, tally, used, left);
}

static bool image_query(const struct nk_run_failure *f)
{
    return f->class == NK_CLASS_ASKED && f->r.kind == NK_FAILED_PROBE && nk_result_is_image(f->r.result);
}

// One of many queries that a library put in a row: CUB about one kernel in each of 25 fat binaries of PyTorch's, NCCL
// about all its kernels.
static bool in_one_row(const struct nk_run_failure *a, const struct nk_run_failure *b)
{
    return image_query(a) && image_query(b) && a->r.api == b->r.api && a->r.result == b->r.result &&
           a->library == b->library && a->gpu == b->gpu && a->container && b->container &&
           a->container->library == b->container->library;
}

// How many kernels the row is about that begins with this query; 0 when it does not begin one.
static size_t row(const struct nk_run *run, size_t index)
{
    size_t kernels = 1;
    const struct nk_run_failure *f = &run->failures[index];
    for (size_t i = 0; i < run->failure_count; i++) {
        const struct nk_run_failure *e = &run->failures[i];
        if (i == index || !in_one_row(f, e)) continue;
        if (i < index) return 0;
        kernels += e->kernel && f->kernel && e->kernel->name != f->kernel->name;
    }
    return kernels;
}

// The query of a row to tell about: the one that was put most often. NCCL asks for all its kernels at its start, and
// again for the one that it is about to launch.
static const struct nk_run_failure *wanted_most(const struct nk_run *run, const struct nk_run_failure *first)
{
    const struct nk_run_failure *most = first;
    for (size_t i = 0; i < run->failure_count; i++)
        if (in_one_row(first, &run->failures[i]) && run->failures[i].count > most->count) most = &run->failures[i];
    return most;
}

void nk_block_asked_late(struct nk_page *page, struct nk_run *run, bool all)
{
    struct nk_buf line = {0};
    size_t shown = 0;
    for (size_t i = 0; i < run->failure_count && shown < MOST_BLOCKS; i++) {
        const struct nk_run_failure *f = &run->failures[i];
        bool late = f->surfaced && f->surfaced->r.later;
        if (!image_query(f) || !(late || (all && !f->coped) || f->barren) || !first_of_block(run, i)) continue;
        size_t kernels = late ? 1 : row(run, i);
        if (!kernels) continue;
        if (!late) f = wanted_most(run, f);
        failure(page, run, f, "ASKED");
        nk_buf_text(&line, "is a query, not a launch");
        if (f->library) nk_buf_format(&line, ", asked by %s", nk_words_base(f->library->path));
        if (kernels > 1) nk_buf_format(&line, ", about %zu kernels in all", kernels);
        nk_buf_text(&line, late  ? "; but its error is what the program read later"
                           : all ? "; the program may have stopped because of it"
                                 : "; what was made of the refusal may be wrong");
        nk_page_buf(page, 4, "that", NK_STYLE_PLAIN, &line);
        shown++;
    }
    nk_buf_free(&line);
}

static bool same_query(const struct nk_run_failure *a, const struct nk_run_failure *b)
{
    return a->r.api == b->r.api && a->r.result == b->r.result && a->library == b->library;
}

void nk_block_sought(struct nk_page *page, struct nk_run *run)
{
    struct nk_buf line = {0};
    size_t shown = 0;
    for (size_t i = 0; i < run->failure_count && shown < MOST_LINES; i++) {
        const struct nk_run_failure *f = &run->failures[i];
        if (f->class != NK_CLASS_ASKED || f->r.kind != NK_FAILED_LOOKUP || !f->kernel) continue;
        if (!shown++) {
            nk_page_gap(page);
            nk_page_sentence(page, 2, "looked up in vain (a name that was only tried is no failure by itself)");
        }
        nk_buf_format(&line, "%s ", nk_run_text(run, f->r.api));
        nk_words_result(&line, &f->r);
        nk_buf_text(&line, ": ");
        nk_words_kernel(&line, nk_run_text(run, f->kernel->name), nk_page_room(page));
        if (f->library) nk_buf_format(&line, ", by %s", nk_words_base(f->library->path));
        nk_page_sentence(page, 4, line.data ? line.data : "");
        nk_buf_clear(&line);
    }
    nk_buf_free(&line);
}

void nk_block_asked(struct nk_page *page, struct nk_run *run)
{
    struct nk_buf line = {0};
    size_t shown = 0;
    for (size_t i = 0; i < run->failure_count && shown < MOST_LINES; i++) {
        const struct nk_run_failure *f = &run->failures[i];
        size_t kernels = 0;
        for (size_t k = 0; k < run->failure_count && image_query(f); k++) {
            if (!image_query(&run->failures[k]) || !same_query(f, &run->failures[k])) continue;
            if (k < i) break;
            kernels++;
        }
        if (!kernels) continue;
        if (!shown++) {
            nk_page_gap(page);
            nk_page_sentence(page, 2, "asked and refused (queries: no failure by themselves)");
        }
        nk_buf_format(&line, "%s ", nk_run_text(run, f->r.api));
        nk_words_result(&line, &f->r);
        nk_buf_text(&line, ", about ");
        nk_words_count(&line, kernels, "kernel", "kernels");
        if (f->library) nk_buf_format(&line, ", by %s", nk_words_base(f->library->path));
        nk_page_sentence(page, 4, line.data ? line.data : "");
        nk_buf_clear(&line);
    }
    nk_buf_free(&line);
}
