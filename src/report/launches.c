// launches.c - the kernels of graphs, and the trails of streams, as rows of the text report.
#include "report/launches.h"

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
    if (f->graph->count > MOST_KERNELS)
        nk_buf_format(&line, "and %u more kernels: nokernel report --json lists them", f->graph->count - MOST_KERNELS);
    nk_page_buf(page, 4, "", NK_STYLE_PLAIN, &line);
    nk_buf_free(&line);
}

uint64_t nk_trail_open(const struct nk_run_trail *trail)
{
    return trail->r.launched > trail->r.complete ? trail->r.launched - trail->r.complete : 0;
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

static void launch(struct nk_page *page, struct nk_run *run, const struct nk_run_launch *l, const char *after)
{
    struct nk_buf line = {0};
    nk_buf_format(&line, "%llu  ", (unsigned long long)l->number);
    if (l->graph)
        nk_words_graph(&line, l->graph);
    else
        kernel(&line, run, l->kernel, nk_page_room(page) / 2);
    if (l->kernel) where(&line, l->kernel->container);
    nk_buf_text(&line, after);
    nk_page_buf(page, 4, "", NK_STYLE_PLAIN, &line);
    nk_buf_free(&line);
}

static void one_stream(struct nk_page *page, struct nk_run *run, const struct nk_run_trail *t, const char *label)
{
    struct nk_buf line = {0};
    uint64_t shown = 0, open = nk_trail_open(t);
    stream(&line, run, t);
    nk_buf_text(&line, ": ");
    nk_words_count(&line, t->r.launched, "launch", "launches");
    nk_buf_format(&line, ", the first %llu known to have ended", (unsigned long long)t->r.complete);
    nk_page_buf(page, 4, label, NK_STYLE_PLAIN, &line);
    if (t->r.lost)
        nk_buf_format(&line, "the next %llu, the suspect among them, are no longer known",
                      (unsigned long long)t->r.lost);
    for (uint32_t i = 0; i < t->r.n && shown < MOST_LAUNCHES; i++) {
        const struct nk_run_launch *l = &t->launches[i];
        if (l->number > t->r.complete && line.size) nk_page_buf(page, 4, "", NK_STYLE_PLAIN, &line);
        if (l->number > t->r.complete) shown++;
        launch(page, run, l,
               l->number <= t->r.complete ? "  (had ended)"
               : shown == 1 && !t->r.lost ? "  <- suspect"
                                          : "");
    }
    nk_page_buf(page, 4, "", NK_STYLE_PLAIN, &line);
    if (open > shown + t->r.lost)
        nk_buf_format(&line, "and %llu later ones", (unsigned long long)(open - shown - t->r.lost));
    nk_page_buf(page, 4, "", NK_STYLE_PLAIN, &line);
    if (t->r.flags & NK_TRAIL_OFF)
        nk_buf_format(&line, "no marker could be set in this stream any more (%d): what ended since is not known",
                      t->r.stopped);
    nk_page_buf(page, 4, "", NK_STYLE_PLAIN, &line);
    nk_buf_free(&line);
}

void nk_row_trail(struct nk_page *page, struct nk_run *run, const struct nk_run_failure *f)
{
    struct nk_buf line = {0};
    size_t open = 0, ended = 0;
    bool events = false;
    for (size_t i = 0; i < run->trail_count; i++) {
        const struct nk_run_trail *t = &run->trails[i];
        if (t->r.failure != f->r.id) continue;
        events |= t->r.flags & NK_TRAIL_EVENTS;
        if (!nk_trail_open(t))
            ended++;
        else if (open++ < MOST_STREAMS)
            one_stream(page, run, t, open == 1 ? "trail" : "");
    }
    if (f->r.pinned != NK_PINNED_TRAIL) return;
    if (open > MOST_STREAMS) nk_buf_format(&line, "and %zu more streams with launches that had not ended; ", open - 4);
    if (ended) {
        nk_words_count(&line, ended, "other stream", "other streams");
        nk_buf_text(&line, ": all launches had ended");
    }
    nk_page_buf(page, 4, open ? "" : "trail", NK_STYLE_PLAIN, &line);
    nk_buf_text(&line, open == 0 ? "every launch that was seen had ended: the error is of other work, as a copy, or of "
                                   "a kernel that was launched in a way that is not watched"
                       : open == 1 ? "the suspect is the first launch that is not known to have ended"
                                   : "the suspects ran at the same time: which of them it was cannot be told");
    nk_buf_text(&line, events ? ". What had ended was last asked at each stream's last launch: more may have ended"
                              : ". More may have ended than is known");
    nk_buf_text(&line, "; NOKERNEL_SYNC=launch tells exactly, and slowly");
    nk_page_buf(page, 4, "note", NK_STYLE_PLAIN, &line);
    nk_buf_free(&line);
}
