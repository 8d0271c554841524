// from_merge.c - what an earlier merge adds to a merge: its facts, then each of its reports.
#include "merge/read.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

// Facts of the document by number, those of kernels and those of GPUs.
struct facts {
    struct nk_fact *of;
    size_t count;
};

static const char *text(const json_t *object, const char *name)
{
    const char *value = json_string_value(json_object_get(object, name));
    return value ? value : "";
}

// The number of the word, or `count`.
static size_t word(const char *value, const char *(*of)(size_t), size_t count)
{
    size_t i = 0;
    while (i < count && strcmp(value, of(i))) i++;
    return i;
}

static const char *seen_word(size_t i) { return nk_seen_word((enum nk_seen)i); }
static const char *runs_word(size_t i) { return nk_runs_word((enum nk_runs)i); }

static uint32_t sm(const json_t *object)
{
    const char *word_of = text(object, "sm");
    unsigned long value = !strncmp(word_of, "sm_", 3) ? strtoul(word_of + 3, NULL, 10) : 0;
    return value < 100000 ? (uint32_t)value : 0;
}

static struct nk_fact blank(const json_t *object, enum nk_seen seen)
{
    struct nk_fact fact = {.sm = sm(object), .seen = seen, .rules = NK_RUNS_UNKNOWN};
    for (int i = 0; i < NK_FACT_TEXTS; i++) fact.text[i] = "";
    return fact;
}

static int take_kernel(struct facts *facts, const json_t *object, struct nk_err *err)
{
    size_t seen = word(text(object, "seen"), seen_word, NK_SEEN_GPU);
    size_t rules = word(text(object, "rules"), runs_word, NK_RUNS_UNKNOWN + 1);
    if (seen == NK_SEEN_GPU || rules > NK_RUNS_UNKNOWN)
        return nk_fail(err, NK_ERR_BAD_INPUT, "kernels.%zu: it says \"%.20s\" by rules \"%.20s\"", facts->count,
                       text(object, "seen"), text(object, "rules"));
    struct nk_fact fact = blank(object, (enum nk_seen)seen);
    fact.rules = (enum nk_runs)rules;
    fact.memory = json_is_true(json_object_get(object, "memory"));
    fact.contradiction = json_is_true(json_object_get(object, "contradiction"));
    static const char *const names[] = {"package", "version", "library", "kernel", "one_of", "has", "reason"};
    for (int i = 0; i < NK_FACT_TEXTS; i++) fact.text[i] = text(object, names[i]);
    const char *library = fact.text[NK_FACT_LIBRARY];
    if (*library == '/' || !strncmp(library, "~/", 2))
        fact.text[NK_FACT_LIBRARY] = nk_merge_path(library); // not written by us
    facts->of[facts->count++] = fact;
    return 0;
}

static void take_gpu(struct facts *facts, const json_t *object)
{
    struct nk_fact fact = blank(object, NK_SEEN_GPU);
    fact.text[NK_FACT_KERNEL] = text(object, "name");
    fact.text[NK_FACT_VERSION] = text(object, "driver");
    fact.text[NK_FACT_LIBRARY] = text(object, "cuda");
    facts->of[facts->count++] = fact;
}

// "0:12 3:1": the fact of that number, that often.
static int take_pairs(struct nk_merge_report *report, const char *pairs, const struct facts *facts, struct nk_err *err)
{
    for (char *end; *pairs; pairs = end) {
        unsigned long long which = strtoull(pairs, &end, 10), count;
        bool sound = end > pairs && *pairs >= '0' && *pairs <= '9' && *end == ':' && which < facts->count;
        const char *second = end + sound;
        count = sound ? strtoull(second, &end, 10) : 0;
        sound = sound && end > second && *second >= '0' && *second <= '9' && (*end == ' ' || !*end);
        if (!sound)
            return nk_fail(err, NK_ERR_BAD_INPUT, "a fact of a report and its count were expected at \"%.20s\"", pairs);
        nk_merge_report_add(report, &facts->of[which], count);
        if (*end) end++;
    }
    return 0;
}

static int take_reports(struct nk_merge_in *in, const json_t *list, const struct facts *kernels,
                        const struct facts *gpus, struct nk_err *err)
{
    struct nk_merge_report report = {.id = 0};
    const json_t *object;
    int result = 0;
    size_t i;
    json_array_foreach(list, i, object)
    {
        char *end;
        const char *id = text(object, "id");
        report.id = strtoull(id, &end, 16);
        if (end != id + 16 || *end) result = nk_fail(err, NK_ERR_BAD_INPUT, "reports.%zu: an id was expected", i);
        if (!result) result = take_pairs(&report, text(object, "kernels"), kernels, err);
        if (!result) result = take_pairs(&report, text(object, "gpus"), gpus, err);
        if (result) break;
        nk_merge_hand_over(in, &report);
        nk_merge_report_clear(&report);
    }
    nk_merge_report_free(&report);
    return result;
}

int nk_merge_merged(struct nk_merge_in *in, const json_t *root, struct nk_err *err)
{
    const json_t *kernels = json_object_get(root, "kernels"), *gpus = json_object_get(root, "gpus"), *object;
    const json_t *reports = json_object_get(root, "reports");
    struct facts k = {calloc(json_array_size(kernels) + 1, sizeof *k.of), 0};
    struct facts g = {calloc(json_array_size(gpus) + 1, sizeof *g.of), 0};
    int result = 0;
    size_t i;
    if (!json_is_array(kernels) || !json_is_array(gpus) || !json_is_array(reports))
        result = nk_fail(err, NK_ERR_BAD_INPUT, "kernels, gpus and reports of a merge were expected");
    else if (!k.of || !g.of)
        result = nk_fail(err, NK_ERR_MEMORY, "not enough memory");
    if (!result) json_array_foreach(gpus, i, object) take_gpu(&g, object);
    for (i = 0; !result && i < json_array_size(kernels); i++) result = take_kernel(&k, json_array_get(kernels, i), err);
    if (!result) result = take_reports(in, reports, &k, &g, err);
    free(k.of);
    free(g.of);
    return result;
}
