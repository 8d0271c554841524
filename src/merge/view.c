// view.c - sorts and sums up a merge.
#define _GNU_SOURCE
#include "merge/view.h"
#include "verdict/arch.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const char *nk_merge_row_text(const struct nk_merge_view *view, const struct nk_merge_row *row, enum nk_fact_text which)
{
    return nk_merge_text(view->merge, row->key->text[which]);
}

// ---- the filter

int nk_merge_filter_parse(struct nk_merge_filter *filter, const char *package, const char *gpus, struct nk_err *err)
{
    char *copy = gpus ? strdup(gpus) : NULL, *rest = copy, *word;
    int result = gpus && !copy ? nk_fail(err, NK_ERR_MEMORY, "not enough memory") : 0;
    *filter = (struct nk_merge_filter){.package = package};
    while (!result && (word = strsep(&rest, ","))) {
        struct nk_arch arch;
        if (filter->sms == sizeof filter->sm / sizeof *filter->sm)
            result = nk_fail(err, NK_ERR_LIMIT, "at most %zu architectures were expected", filter->sms);
        else if (!(result = nk_arch_parse(word, &arch, err)))
            filter->sm[filter->sms++] = arch.sm;
    }
    free(copy);
    return result;
}

// As pip compares names: in any case, with '-', '_' and '.' alike.
static int folded(char c) { return c == '_' || c == '.' ? '-' : tolower((unsigned char)c); }

static bool is_package(const char *asked, const char *name, const char *version)
{
    for (; *name; asked++, name++)
        if (folded(*asked) != folded(*name)) return false;
    return !*asked || (!strncmp(asked, "==", 2) && !strcmp(asked + 2, version));
}

static bool wanted(const struct nk_merge *m, const struct nk_merge_key *key, const struct nk_merge_filter *filter)
{
    bool fits = !filter->sms;
    for (size_t i = 0; i < filter->sms; i++) fits |= filter->sm[i] == (int)key->sm;
    if (!fits || !filter->package || key->seen == NK_SEEN_GPU) return fits;
    return is_package(filter->package, nk_merge_text(m, key->text[NK_FACT_PACKAGE]),
                      nk_merge_text(m, key->text[NK_FACT_VERSION]));
}

// ---- order

static int number(uint32_t a, uint32_t b) { return a < b ? -1 : a > b; }

static int compare(const void *a, const void *b, void *merge)
{
    static const enum nk_fact_text later[] = {NK_FACT_LIBRARY, NK_FACT_KERNEL, NK_FACT_ONE_OF, NK_FACT_HAS,
                                              NK_FACT_REASON};
    const struct nk_merge_key *x = ((const struct nk_merge_row *)a)->key, *y = ((const struct nk_merge_row *)b)->key;
    int order = number(x->seen == NK_SEEN_GPU, y->seen == NK_SEEN_GPU);
    for (int i = NK_FACT_PACKAGE; !order && i <= NK_FACT_VERSION; i++)
        order = strcmp(nk_merge_text(merge, x->text[i]), nk_merge_text(merge, y->text[i]));
    if (!order) order = number(x->sm, y->sm);
    if (!order) order = number(x->seen, y->seen);
    if (!order) order = number(x->memory, y->memory);
    for (size_t i = 0; !order && i < sizeof later / sizeof *later; i++)
        order = strcmp(nk_merge_text(merge, x->text[later[i]]), nk_merge_text(merge, y->text[later[i]]));
    if (!order) order = number(x->rules, y->rules);
    return order ? order : number(x->contradiction, y->contradiction);
}

static int by_id(const void *a, const void *b)
{
    uint64_t x = (*(const struct nk_merge_known *const *)a)->id, y = (*(const struct nk_merge_known *const *)b)->id;
    return x < y ? -1 : x > y;
}

static int list_rows(struct nk_merge_view *v, const struct nk_merge_filter *filter)
{
    const struct nk_merge *m = v->merge;
    v->rows = malloc((m->key_count + 1) * sizeof *v->rows);
    v->row_of = calloc(m->key_count + 1, sizeof *v->row_of);
    v->reports = malloc((m->report_count + 1) * sizeof *v->reports);
    if (!v->rows || !v->row_of || !v->reports) return -1;
    for (size_t i = 0; i < m->report_count; i++) v->reports[v->report_count++] = &m->reports[i];
    if (v->report_count) qsort(v->reports, v->report_count, sizeof *v->reports, by_id);
    size_t count = 0;
    for (size_t i = 0; i < m->key_count; i++)
        if (wanted(m, &m->keys[i], filter)) v->rows[count++] = (struct nk_merge_row){.key = &m->keys[i]};
    if (count) qsort_r(v->rows, count, sizeof *v->rows, compare, (void *)m);
    for (size_t i = 0; i < count; i++) {
        v->row_of[v->rows[i].key - m->keys] = (uint32_t)i + 1;
        v->row_count += v->rows[i].key->seen != NK_SEEN_GPU;
    }
    v->gpus = v->rows + v->row_count;
    v->gpu_count = count - v->row_count;
    return 0;
}

// ---- sums

static bool same_group(const struct nk_merge_key *a, const struct nk_merge_key *b)
{
    return a->text[NK_FACT_PACKAGE] == b->text[NK_FACT_PACKAGE] &&
           a->text[NK_FACT_VERSION] == b->text[NK_FACT_VERSION] && a->sm == b->sm;
}

static bool same_kernel(const struct nk_merge_key *a, const struct nk_merge_key *b)
{
    return a->seen == b->seen && a->text[NK_FACT_LIBRARY] == b->text[NK_FACT_LIBRARY] &&
           a->text[NK_FACT_KERNEL] == b->text[NK_FACT_KERNEL] && a->text[NK_FACT_ONE_OF] == b->text[NK_FACT_ONE_OF];
}

// Counts kernels and rows; *group_of is for each row the number of its group.
static int list_groups(struct nk_merge_view *v, uint32_t *group_of)
{
    struct nk_merge_group *g = NULL;
    v->groups = calloc(v->row_count + 1, sizeof *v->groups);
    if (!v->groups) return -1;
    for (size_t i = 0; i < v->row_count; i++) {
        const struct nk_merge_key *key = v->rows[i].key, *before = i ? v->rows[i - 1].key : NULL;
        bool again = before && same_group(before, key);
        if (!again) {
            g = &v->groups[v->group_count++];
            g->first = i;
        }
        g->count++;
        g->of[key->seen].kernels += !(again && same_kernel(before, key));
        g->contradictions += key->contradiction;
        group_of[i] = (uint32_t)v->group_count - 1;
    }
    return 0;
}

// In which report a group, a group's kind and each kind was counted last.
struct last {
    size_t *group, (*kind)[NK_SEEN_COUNT], total[NK_SEEN_COUNT];
};

static void once(size_t *last, size_t report, uint64_t *count)
{
    *count += *last != report;
    *last = report;
}

static void count_report(struct nk_merge_view *v, size_t report, const uint32_t *group_of, struct last *last)
{
    uint64_t launches;
    for (uint32_t at = 0, key = 0; nk_merge_each(v->reports[report - 1], &at, &key, &launches);) {
        if (!v->row_of[key]) continue;
        size_t index = v->row_of[key] - 1;
        struct nk_merge_row *row = &v->rows[index];
        enum nk_seen seen = row->key->seen;
        row->reports++;
        row->launches = nk_merge_sum(row->launches, launches);
        once(&last->total[seen], report, &v->total[seen].reports);
        if (seen == NK_SEEN_GPU) continue;
        size_t which = group_of[index];
        struct nk_merge_group *g = &v->groups[which];
        once(&last->group[which], report, &g->reports);
        once(&last->kind[which][seen], report, &g->of[seen].reports);
        g->of[seen].launches = nk_merge_sum(g->of[seen].launches, launches);
    }
}

static int sum_up(struct nk_merge_view *v)
{
    uint32_t *group_of = calloc(v->row_count + 1, sizeof *group_of);
    struct last last = {.group = NULL};
    int result = group_of ? list_groups(v, group_of) : -1;
    last.group = result ? NULL : calloc(v->group_count + 1, sizeof *last.group);
    last.kind = result ? NULL : calloc(v->group_count + 1, sizeof *last.kind);
    if (!last.group || !last.kind) result = -1;
    for (size_t i = 1; !result && i <= v->report_count; i++) count_report(v, i, group_of, &last);
    for (size_t i = 0; !result && i < v->group_count; i++) {
        for (int k = 0; k < NK_SEEN_COUNT; k++) {
            v->total[k].kernels += v->groups[i].of[k].kernels;
            v->total[k].launches = nk_merge_sum(v->total[k].launches, v->groups[i].of[k].launches);
        }
        v->contradictions += v->groups[i].contradictions;
    }
    free(group_of);
    free(last.group);
    free(last.kind);
    return result;
}

int nk_merge_view(struct nk_merge_view *view, const struct nk_merge *merge, const struct nk_merge_filter *filter)
{
    *view = (struct nk_merge_view){.merge = merge};
    return list_rows(view, filter) || sum_up(view) ? -1 : 0;
}

void nk_merge_view_free(struct nk_merge_view *view)
{
    free(view->rows);
    free(view->row_of);
    free(view->groups);
    free(view->reports);
    *view = (struct nk_merge_view){0};
}
