// text.c - a merge as text, 80 columns wide.
#include "merge/show.h"
#include "advice/texts.h"
#include "report/page.h"
#include "report/words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 12, NUMBERS = 25 }; // columns before a kernel's name

struct writing {
    struct nk_page page;
    const struct nk_merge_view *view;
    bool all;
};

static void counted(struct nk_buf *line, uint64_t count, const char *one, const char *many)
{
    if (!count) return;
    if (line->size) nk_buf_text(line, ", ");
    nk_words_count(line, count, one, many);
}

// What stands in the first line: the bad first.
static void headline(struct writing *w)
{
    const struct nk_merge_view *v = w->view;
    struct nk_buf line = {0}, what = {0};
    uint64_t ran = 0;
    for (int i = 0; i < NK_SEEN_GPU; i++) ran += v->total[i].kernels;
    counted(&what, v->total[NK_SEEN_MISSING].kernels, "kernel has no image for a GPU",
            "kernels have no image for a GPU");
    counted(&what, v->total[NK_SEEN_HOLLOW].kernels, "is empty there", "are empty there");
    counted(&what, v->total[NK_SEEN_JIT].kernels, "runs only by JIT", "run only by JIT");
    counted(&what, v->contradictions, "contradicts the rules", "contradict the rules");
    nk_buf_text(&line, "nokernel: ");
    nk_words_count(&line, v->report_count, "report", "reports");
    if (what.size) {
        nk_buf_format(&line, ": %s", what.data);
    } else if (ran) {
        nk_buf_text(&line, ": ");
        nk_words_count(&line, ran, "kernel launched", "kernels launched");
        nk_buf_text(&line, ", all had an image for their GPU");
    } else {
        nk_buf_text(&line,
                    v->report_count ? ": no kernel was launched" : ": neither a recording nor a report was found");
    }
    if (line.data) nk_page_sentence(&w->page, 0, line.data);
    nk_buf_free(&line);
    nk_buf_free(&what);
}

static bool same_package(const struct nk_merge_view *v, const struct nk_merge_group *a, const struct nk_merge_group *b)
{
    const struct nk_merge_key *x = v->rows[a->first].key, *y = v->rows[b->first].key;
    return x->text[NK_FACT_PACKAGE] == y->text[NK_FACT_PACKAGE] && x->text[NK_FACT_VERSION] == y->text[NK_FACT_VERSION];
}

static void table(struct writing *w, const struct nk_merge_group *groups, size_t count)
{
    nk_buf_format(w->page.out, "    %-9s %8s %8s %8s %8s %8s %8s\n", "GPU", "reports", "native", "JIT", "hollow",
                  "missing", "other");
    for (size_t i = 0; i < count; i++) {
        const struct nk_merge_group *g = &groups[i];
        struct nk_buf sm = {0};
        nk_merge_sm(&sm, w->view->rows[g->first].key->sm);
        nk_buf_format(w->page.out, "    %-9s %8" PRIu64, sm.data ? sm.data : "", g->reports);
        nk_buf_format(w->page.out, " %8" PRIu64 " %8" PRIu64 " %8" PRIu64 " %8" PRIu64 " %8" PRIu64 "\n",
                      g->of[NK_SEEN_NATIVE].kernels, g->of[NK_SEEN_JIT].kernels, g->of[NK_SEEN_HOLLOW].kernels,
                      g->of[NK_SEEN_MISSING].kernels, g->of[NK_SEEN_UNKNOWN].kernels + g->of[NK_SEEN_RAN].kernels);
        nk_buf_free(&sm);
    }
}

static bool same_place(const struct nk_merge_row *a, const struct nk_merge_row *b)
{
    return a->key->memory == b->key->memory && a->key->text[NK_FACT_LIBRARY] == b->key->text[NK_FACT_LIBRARY] &&
           a->key->text[NK_FACT_HAS] == b->key->text[NK_FACT_HAS] &&
           a->key->text[NK_FACT_REASON] == b->key->text[NK_FACT_REASON];
}

static void place(struct writing *w, const struct nk_merge_row *row, enum nk_seen seen)
{
    struct nk_buf line = {0};
    const char *has = nk_merge_row_text(w->view, row, NK_FACT_HAS);
    const char *reason = nk_merge_row_text(w->view, row, NK_FACT_REASON);
    nk_merge_place(&line, w->view, row);
    nk_page_buf(&w->page, 4, "in", NK_STYLE_PLAIN, &line);
    nk_merge_has(&line, has);
    nk_page_buf(&w->page, 4, "has", NK_STYLE_PLAIN, &line);
    for (enum nk_reason i = NK_REASON_NONE + 1; seen == NK_SEEN_MISSING && i < NK_REASON_COUNT; i++)
        if (i != NK_REASON_NO_IMAGE && !row->key->contradiction && !strcmp(nk_reason_key(i), reason))
            nk_page_row(&w->page, 4, "why", NK_STYLE_PLAIN, nk_reason_sentence(i));
    if (row->key->contradiction) nk_page_row(&w->page, 4, "but", NK_STYLE_BAD, nk_merge_doubt(row));
    nk_buf_free(&line);
}

static void kernel(struct writing *w, const struct nk_merge_row *row)
{
    struct nk_buf name = {0};
    size_t room = w->page.columns > NUMBERS + 20 ? w->page.columns - NUMBERS : 20;
    nk_merge_kernel(&name, w->view, row, room);
    nk_buf_format(w->page.out, "%12" PRIu64 " %10" PRIu64 "  %s\n", row->reports, row->launches,
                  name.data ? name.data : "");
    nk_buf_free(&name);
}

// The kernels of one place after another: the place of the most reported one first.
static void kernels(struct writing *w, const struct nk_merge_row **ranked, size_t count, enum nk_seen seen)
{
    for (size_t i = 0; i < count; i++) {
        size_t shown = 0, left = 0;
        const struct nk_merge_row *head = ranked[i];
        if (!head) continue;
        place(w, head, seen);
        nk_buf_format(w->page.out, "%12s %10s  kernel\n", "reports", "launches");
        for (size_t k = i; k < count; k++) {
            if (!ranked[k] || !same_place(head, ranked[k])) continue;
            if (w->all || shown < MOST_ROWS) {
                kernel(w, ranked[k]);
                shown++;
            } else {
                left++;
            }
            ranked[k] = NULL;
        }
        if (left) nk_buf_format(w->page.out, "%*s and %zu more (--kernels names all)\n", NUMBERS - 1, "", left);
    }
}

static void block(struct writing *w, const struct nk_merge_group *g, enum nk_seen seen)
{
    static const char *const says[NK_SEEN_COUNT] = {"had no image that could be used",
                                                    "had an empty body: the launches did nothing, and no error said so",
                                                    "had no code for it and were compiled from PTX",
                                                    "ran, though by the rules they cannot",
                                                    "ran in a way that is not known",
                                                    "had code for it"};
    static const char *const labels[NK_SEEN_COUNT] = {"MISSING", "EMPTY", "JIT", "DOUBT", "UNKNOWN", "NATIVE"};
    size_t count;
    const struct nk_merge_row **ranked = nk_merge_ranked(w->page.out, w->view, g, seen, &count);
    if (!ranked) return;
    struct nk_buf line = {0};
    nk_buf_text(&line, "on ");
    nk_merge_sm(&line, w->view->rows[g->first].key->sm);
    nk_buf_text(&line, ": ");
    nk_words_count(&line, g->of[seen].kernels, "kernel", "kernels");
    nk_buf_format(&line, ", in %" PRIu64 " of %" PRIu64 " reports: %s", g->of[seen].reports, g->reports, says[seen]);
    nk_page_gap(&w->page);
    bool bad = seen == NK_SEEN_MISSING || seen == NK_SEEN_HOLLOW || seen == NK_SEEN_RAN;
    nk_page_buf(&w->page, 2, labels[seen], bad ? NK_STYLE_BAD : NK_STYLE_STRONG, &line);
    if (seen == NK_SEEN_RAN)
        nk_page_prose(&w->page, 4, "note", NK_STYLE_PLAIN, nk_text_raw(nk_text_language(), NK_TEXT_PLEASE_REPORT));
    kernels(w, ranked, count, seen);
    nk_buf_free(&line);
    free(ranked);
}

static void package(struct writing *w, const struct nk_merge_group *groups, size_t count)
{
    struct nk_buf title = {0};
    nk_page_gap(&w->page);
    nk_merge_title(&title, w->view, &w->view->rows[groups->first]);
    nk_page_sentence(&w->page, 2, title.data ? title.data : "");
    nk_buf_free(&title);
    table(w, groups, count);
    for (size_t i = 0; i < count; i++)
        for (enum nk_seen seen = NK_SEEN_MISSING; seen < NK_SEEN_GPU; seen++)
            if (w->all || seen < NK_SEEN_UNKNOWN) block(w, &groups[i], seen);
}

static void gpus(struct writing *w)
{
    const struct nk_merge_view *v = w->view;
    struct nk_buf line = {0};
    if (v->gpu_count) nk_page_gap(&w->page);
    for (size_t i = 0; i < v->gpu_count; i++) {
        const char *name = nk_merge_row_text(v, &v->gpus[i], NK_FACT_KERNEL);
        const char *driver = nk_merge_row_text(v, &v->gpus[i], NK_FACT_VERSION);
        const char *cuda = nk_merge_row_text(v, &v->gpus[i], NK_FACT_LIBRARY);
        nk_buf_format(&line, "%s%s", name, *name ? ", " : "");
        nk_merge_sm(&line, v->gpus[i].key->sm);
        if (*driver) nk_buf_format(&line, ", driver %s", driver);
        if (*cuda) nk_buf_format(&line, "%s(CUDA %s)", *driver ? " " : ", driver of ", cuda);
        nk_buf_text(&line, ": ");
        nk_words_count(&line, v->gpus[i].reports, "report", "reports");
        nk_page_buf(&w->page, 2, i ? "" : "GPUs", NK_STYLE_PLAIN, &line);
    }
    nk_buf_free(&line);
}

void nk_merge_write_text(struct nk_buf *out, const struct nk_merge_view *view, const struct nk_merge_show *show)
{
    size_t columns = show->columns ? (size_t)show->columns : 80;
    struct writing w = {{.out = out, .columns = columns, .colour = show->colour}, view, show->all};
    headline(&w);
    for (size_t i = 0, next; i < view->group_count; i = next) {
        for (next = i + 1; next < view->group_count && same_package(view, &view->groups[i], &view->groups[next]);)
            next++;
        package(&w, &view->groups[i], next - i);
    }
    gpus(&w);
}
