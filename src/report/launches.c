// launches.c - the kernels of graphs, and the trails of streams, as rows of the text report.
#include "report/launches.h"

#include "advice/texts.h"

#include <stdio.h>

enum { MOST_KERNELS = 8, MOST_STREAMS = 4, MOST_LAUNCHES = 6 };

void nk_words_graph(struct nk_buf *out, const struct nk_run_graph *graph)
{
    nk_buf_text(out, "a graph of ");
    nk_words_count(out, graph->nodes, "kernel node", "kernel nodes");
}

static void kernel(struct nk_buf *out, struct nk_run *run, const struct nk_run_kernel *kernel, size_t columns)
{
    const char *name = kernel ? nk_run_text(run, kernel->name) : "";
    if (*name)
        nk_words_kernel(out, name, columns);
    else
        nk_buf_text(out, "a kernel that is not known");
}

// "torch 2.4.1, libtorch_cuda.so"
static void where(struct nk_buf *out, const struct nk_run_container *c)
{
    const struct nk_run_library *library = c ? c->library : NULL;
    if (!library) return;
    nk_buf_text(out, " in ");
    if (nk_words_package(out, library)) nk_buf_text(out, ", ");
    nk_buf_text(out, nk_words_base(library->path));
}

// What is left out of a list of kernels, if anything is.
static void more_kernels(struct nk_page *page, uint32_t kernels)
{
    struct nk_buf line = {0};
    if (kernels > MOST_KERNELS)
        nk_buf_format(&line, "and %u more kernels: nokernel report --json lists them", kernels - MOST_KERNELS);
    nk_page_buf(page, 4, "", NK_STYLE_PLAIN, &line);
    nk_buf_free(&line);
}

void nk_row_graph(struct nk_page *page, struct nk_run *run, const struct nk_run_failure *f)
{
    struct nk_buf line = {0};
    if (!f->graph) return;
    for (uint32_t i = 0; i < f->graph->count && i < MOST_KERNELS; i++) {
        const struct nk_run_graph_kernel *k = &f->graph->kernels[i];
        kernel(&line, run, k->kernel, nk_page_room(page) / 2);
        if (k->nodes > 1) nk_buf_format(&line, ", %u nodes", k->nodes);
        where(&line, k->kernel ? k->kernel->container : NULL);
        nk_page_buf(page, 4, i ? "" : "graph", NK_STYLE_PLAIN, &line);
    }
    more_kernels(page, f->graph->count);
    nk_buf_free(&line);
}

uint64_t nk_trail_open(const struct nk_run_trail *trail)
{
    return trail->r.launched > trail->r.complete ? trail->r.launched - trail->r.complete : 0;
}

uint64_t nk_trail_suspects(const struct nk_run_trail *trail)
{
    uint64_t open = nk_trail_open(trail), suspects = trail->r.suspects ? trail->r.suspects : 1;
    return suspects < open ? suspects : open;
}

// "stream 0x55d0c8": the default streams have names.
static void stream(struct nk_buf *out, const struct nk_run *run, const struct nk_run_trail *t)
{
    if (t->r.thread)
        nk_buf_format(out, "the default stream of thread %llu", (unsigned long long)t->r.thread);
    else if (t->r.stream <= 1)
        nk_buf_text(out, "the default stream");
    else
        nk_buf_format(out, "stream %#llx", (unsigned long long)t->r.stream);
    if (run->gpu_count > 1 && t->gpu) nk_buf_format(out, " of GPU %u", t->gpu->r.ordinal);
    if (t->r.flags & NK_TRAIL_GONE) nk_buf_text(out, " (destroyed since)");
}

// "k_a in torch 2.4.1, libtorch_cuda.so"
static void what(struct nk_buf *out, struct nk_page *page, struct nk_run *run, const struct nk_run_launch *l)
{
    if (l->graph)
        nk_words_graph(out, l->graph);
    else
        kernel(out, run, l->kernel, nk_page_room(page) / 2);
    if (l->kernel) where(out, l->kernel->container);
}

static void launch(struct nk_page *page, struct nk_run *run, const struct nk_run_launch *l, const char *after)
{
    struct nk_buf line = {0};
    nk_buf_format(&line, "%llu  ", (unsigned long long)l->number);
    what(&line, page, run, l);
    nk_buf_text(&line, after);
    nk_page_buf(page, 4, "", NK_STYLE_PLAIN, &line);
    nk_buf_free(&line);
}

static bool is_suspect(const struct nk_run_trail *t, const struct nk_run_launch *l)
{
    return l->number > t->r.complete && l->number - t->r.complete <= nk_trail_suspects(t);
}

// Many suspects: their kernels, each once.
static void suspects_by_kernel(struct nk_page *page, struct nk_run *run, const struct nk_run_trail *t)
{
    struct nk_buf line = {0};
    uint32_t kernels = 0;
    uint64_t all = nk_trail_suspects(t), listed = 0;
    for (uint32_t i = 0; i < t->r.n; i++) {
        const struct nk_run_launch *l = &t->launches[i];
        uint32_t first = i, same = 0;
        if (!is_suspect(t, l)) continue;
        listed++;
        for (uint32_t k = 0; k < t->r.n; k++) {
            const struct nk_run_launch *other = &t->launches[k];
            if (!is_suspect(t, other) || other->kernel != l->kernel || other->graph != l->graph) continue;
            if (k < first) first = k;
            same++;
        }
        if (first != i) continue;
        if (++kernels > MOST_KERNELS) continue;
        what(&line, page, run, l);
        nk_buf_format(&line, ", %u of the suspects", same);
        nk_page_buf(page, 4, "", NK_STYLE_PLAIN, &line);
    }
    more_kernels(page, kernels);
    if (all > listed + t->r.lost)
        nk_buf_format(&line, "and %llu more suspects", (unsigned long long)(all - listed - t->r.lost));
    nk_page_buf(page, 4, "", NK_STYLE_PLAIN, &line);
    nk_buf_free(&line);
}

// The last launch that had ended, then the first of the others.
static uint64_t first_launches(struct nk_page *page, struct nk_run *run, const struct nk_run_trail *t, uint64_t most)
{
    uint64_t shown = 0;
    for (uint32_t i = 0; i < t->r.n && shown < most; i++) {
        const struct nk_run_launch *l = &t->launches[i];
        bool ended = l->number <= t->r.complete;
        shown += !ended;
        launch(page, run, l, ended ? "  (had ended)" : is_suspect(t, l) && !t->r.lost ? "  <- suspect" : "");
    }
    return shown;
}

static void one_stream(struct nk_page *page, struct nk_run *run, const struct nk_run_trail *t, const char *label)
{
    struct nk_buf line = {0};
    uint64_t shown = 0, open = nk_trail_open(t), suspects = nk_trail_suspects(t);
    stream(&line, run, t);
    nk_buf_text(&line, ": ");
    nk_words_count(&line, t->r.launched, "launch", "launches");
    nk_buf_format(&line, ", the first %llu known to have ended", (unsigned long long)t->r.complete);
    nk_page_buf(page, 4, label, NK_STYLE_PLAIN, &line);
    if (t->r.lost)
        nk_buf_format(&line, "the next %llu, the suspect %s them, are no longer known", (unsigned long long)t->r.lost,
                      suspects > t->r.lost ? "perhaps among" : "among");
    nk_page_buf(page, 4, "", NK_STYLE_PLAIN, &line);
    if (suspects > MOST_LAUNCHES && suspects > t->r.lost) {
        suspects_by_kernel(page, run, t);
        shown = suspects - t->r.lost;
    } else
        shown = first_launches(page, run, t, MOST_LAUNCHES);
    if (open > shown + t->r.lost)
        nk_buf_format(&line, "and %llu later ones", (unsigned long long)(open - shown - t->r.lost));
    nk_page_buf(page, 4, "", NK_STYLE_PLAIN, &line);
    if (t->r.flags & NK_TRAIL_OFF)
        nk_buf_format(&line, "no marker could be set in this stream any more (%d): what ended since is not known",
                      t->r.stopped);
    nk_page_buf(page, 4, "", NK_STYLE_PLAIN, &line);
    nk_buf_free(&line);
}

// What the launches of all streams come to.
struct sum {
    size_t open, ended; // streams
    uint64_t suspects;
    bool events;
};

static void note(struct nk_page *page, const struct sum *sum)
{
    struct nk_buf line = {0};
    nk_buf_text(&line, sum->open == 0  ? "every launch that was seen had ended: the error is of other work, as a copy, "
                                         "or of a kernel that was launched in a way that is not watched"
                       : sum->open > 1 ? "the suspects ran at the same time: which of them it was cannot be told"
                       : sum->suspects == 1 ? "the suspect is the first launch that is not known to have ended"
                       : sum->events        ? "the suspects are all launches that are not known to have ended"
                                            : "the suspects are the launches up to the next marker");
    nk_buf_text(&line, sum->events ? ". What had ended was last asked at each stream's last marker: more may have ended"
                                   : ". More may have ended than is known");
    if (sum->suspects <= 1) nk_buf_text(&line, "; NOKERNEL_SYNC=launch tells exactly, and slowly");
    nk_page_buf(page, 4, "note", NK_STYLE_PLAIN, &line);
    if (sum->suspects > 1) {
        char count[24];
        snprintf(count, sizeof count, "%llu", (unsigned long long)sum->suspects);
        nk_text_add(&line, nk_text_language(), NK_TEXT_TRAIL_SEVERAL, count, NULL, NULL, NULL);
    }
    nk_page_buf(page, 4, "", NK_STYLE_PLAIN, &line);
    nk_buf_free(&line);
}

void nk_row_trail(struct nk_page *page, struct nk_run *run, const struct nk_run_failure *f)
{
    struct nk_buf line = {0};
    struct sum sum = {0};
    for (size_t i = 0; i < run->trail_count; i++) {
        const struct nk_run_trail *t = &run->trails[i];
        if (t->r.failure != f->r.id) continue;
        sum.events |= t->r.flags & NK_TRAIL_EVENTS;
        sum.suspects += nk_trail_suspects(t);
        if (!nk_trail_open(t))
            sum.ended++;
        else if (sum.open++ < MOST_STREAMS)
            one_stream(page, run, t, sum.open == 1 ? "trail" : "");
    }
    if (f->r.pinned != NK_PINNED_TRAIL) return;
    if (sum.open > MOST_STREAMS)
        nk_buf_format(&line, "and %zu more streams with launches that had not ended; ", sum.open - MOST_STREAMS);
    if (sum.ended) {
        nk_words_count(&line, sum.ended, "other stream", "other streams");
        nk_buf_text(&line, ": all launches had ended");
    }
    nk_page_buf(page, 4, sum.open ? "" : "trail", NK_STYLE_PLAIN, &line);
    note(page, &sum);
    nk_buf_free(&line);
}
