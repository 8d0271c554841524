// json.c - a merge as JSON: what it says, then what each report adds, so that it can be merged again.
#include "merge/show.h"
#include "base/json_text.h"
#include "report/words.h"

#include <inttypes.h>
#include <jansson.h>

// An object on a line of its own.
static void line(struct nk_buf *out, json_t *object, bool first)
{
    nk_buf_text(out, first ? "\n  " : ",\n  ");
    nk_json_write(out, object, JSON_COMPACT);
}

static json_t *number(uint64_t value) { return json_integer((json_int_t)value); }

static json_t *counts(const struct nk_merge_count *c)
{
    return json_pack("{s:o, s:o, s:o}", "kernels", number(c->kernels), "reports", number(c->reports), "launches",
                     number(c->launches));
}

static json_t *sm(uint32_t number_of) { return number_of ? json_sprintf("sm_%u", number_of) : json_null(); }

static void add_counts(json_t *object, const struct nk_merge_count of[NK_SEEN_COUNT])
{
    for (enum nk_seen seen = NK_SEEN_MISSING; seen < NK_SEEN_GPU; seen++)
        json_object_set_new(object, nk_seen_word(seen), counts(&of[seen]));
}

static void write_packages(struct nk_buf *out, const struct nk_merge_view *v)
{
    nk_buf_text(out, " \"packages\": [");
    for (size_t i = 0; i < v->group_count; i++) {
        const struct nk_merge_group *g = &v->groups[i];
        const struct nk_merge_row *row = &v->rows[g->first];
        json_t *object = json_pack("{s:o, s:o, s:o, s:o, s:o}", "package",
                                   nk_json_or_null(nk_merge_row_text(v, row, NK_FACT_PACKAGE)), "version",
                                   nk_json_or_null(nk_merge_row_text(v, row, NK_FACT_VERSION)), "sm", sm(row->key->sm),
                                   "reports", number(g->reports), "contradictions", number(g->contradictions));
        add_counts(object, g->of);
        line(out, object, !i);
    }
    nk_buf_text(out, "\n ],\n");
}

static json_t *demangled(const char *name)
{
    struct nk_buf text = {0};
    if (*name) nk_words_kernel(&text, name, 0);
    json_t *value = nk_json_or_null(text.data ? text.data : "");
    nk_buf_free(&text);
    return value;
}

static void write_kernels(struct nk_buf *out, const struct nk_merge_view *v)
{
    nk_buf_text(out, " \"kernels\": [");
    for (size_t i = 0; i < v->row_count; i++) {
        const struct nk_merge_row *row = &v->rows[i];
        const struct nk_merge_key *key = row->key;
        const char *name = nk_merge_row_text(v, row, NK_FACT_KERNEL);
        line(out,
             json_pack("{s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:s, s:s, s:o, s:b, s:o, s:o, s:o}", "package",
                       nk_json_or_null(nk_merge_row_text(v, row, NK_FACT_PACKAGE)), "version",
                       nk_json_or_null(nk_merge_row_text(v, row, NK_FACT_VERSION)), "library",
                       nk_json_or_null(nk_merge_row_text(v, row, NK_FACT_LIBRARY)), "memory", key->memory, "kernel",
                       nk_json_or_null(name), "demangled", demangled(name), "one_of",
                       nk_json_or_null(nk_merge_row_text(v, row, NK_FACT_ONE_OF)), "sm", sm(key->sm), "seen",
                       nk_seen_word(key->seen), "rules", nk_runs_word(key->rules), "reason",
                       nk_json_or_null(nk_merge_row_text(v, row, NK_FACT_REASON)), "contradiction", key->contradiction,
                       "has", nk_json_or_null(nk_merge_row_text(v, row, NK_FACT_HAS)), "reports", number(row->reports),
                       "launches", number(row->launches)),
             !i);
    }
    nk_buf_text(out, "\n ],\n");
}

static void write_gpus(struct nk_buf *out, const struct nk_merge_view *v)
{
    nk_buf_text(out, " \"gpus\": [");
    for (size_t i = 0; i < v->gpu_count; i++) {
        const struct nk_merge_row *row = &v->gpus[i];
        line(out,
             json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "name",
                       nk_json_or_null(nk_merge_row_text(v, row, NK_FACT_KERNEL)), "sm", sm(row->key->sm), "driver",
                       nk_json_or_null(nk_merge_row_text(v, row, NK_FACT_VERSION)), "cuda",
                       nk_json_or_null(nk_merge_row_text(v, row, NK_FACT_LIBRARY)), "reports", number(row->reports),
                       "gpus", number(row->launches)),
             !i);
    }
    nk_buf_text(out, "\n ],\n");
}

struct item {
    uint32_t row;
    uint64_t count;
};

static int by_row(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    return x->row < y->row ? -1 : x->row > y->row;
}

// "0:12 3:1" of the rows from `first` on.
static void pairs(struct nk_buf *out, const struct item *items, size_t count, size_t first, size_t rows)
{
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        if (items[i].row < first || items[i].row >= first + rows) continue;
        nk_buf_format(out, "%s%zu:%" PRIu64, any ? " " : "", items[i].row - first, items[i].count);
        any = true;
    }
}

// Keys are numbered as they came; the document numbers rows in their order.
static void write_report(struct nk_buf *out, const struct nk_merge_view *v, const struct nk_merge_known *report)
{
    struct item *items = malloc(((size_t)report->size / 2 + 1) * sizeof *items);
    size_t count = 0;
    uint64_t value;
    for (uint32_t at = 0, key = 0; items && nk_merge_each(report, &at, &key, &value);)
        if (v->row_of[key]) items[count++] = (struct item){v->row_of[key] - 1, value};
    if (count) qsort(items, count, sizeof *items, by_row);
    nk_buf_format(out, "{\"id\":\"%016" PRIx64 "\",\"kernels\":\"", report->id);
    if (items) pairs(out, items, count, 0, v->row_count);
    nk_buf_text(out, "\",\"gpus\":\"");
    if (items) pairs(out, items, count, v->row_count, v->gpu_count);
    nk_buf_text(out, "\"}");
    out->failed |= !items;
    free(items);
}

void nk_merge_write_json(struct nk_buf *out, const struct nk_merge_view *v)
{
    json_t *summary =
        json_pack("{s:o, s:o}", "reports", number(v->report_count), "contradictions", number(v->contradictions));
    add_counts(summary, v->total);
    nk_buf_format(out,
                  "{\n \"schema\": \"nokernel-merge/1\",\n \"tool\": {\"name\": \"nokernel\", \"version\": \"%s\"},\n"
                  " \"summary\":",
                  NK_VERSION);
    line(out, summary, true);
    nk_buf_text(out, ",\n");
    write_packages(out, v);
    write_kernels(out, v);
    write_gpus(out, v);
    nk_buf_text(out, " \"reports\": [");
    for (size_t i = 0; i < v->report_count; i++) {
        nk_buf_text(out, i ? ",\n  " : "\n  ");
        write_report(out, v, v->reports[i]);
    }
    nk_buf_text(out, "\n ]\n}\n");
}
