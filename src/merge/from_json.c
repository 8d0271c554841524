// from_json.c - what JSON documents add to a merge.
#define _GNU_SOURCE
#include "base/buf.h"
#include "merge/read.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

// The objects of an array, those of one recording after another.
struct objects {
    struct object {
        json_int_t recording;
        size_t index;
        const json_t *json;
    } * of;
    size_t count, next;
};

// A report document while it is read.
struct reading {
    struct nk_merge_in *in;
    struct objects gpus, libraries, kernels, failures;
    size_t gpu, library;           // the first ones of the recording
    struct nk_merge_report report; // of one recording
    struct nk_buf *texts;          // that had to be put together; given back after each recording
    size_t text_count, text_room;
};

static const char *text(const json_t *object, const char *name)
{
    const char *value = json_string_value(json_object_get(object, name));
    return value ? value : "";
}

static uint64_t number(const json_t *object, const char *name)
{
    json_int_t value = json_integer_value(json_object_get(object, name));
    return value > 0 ? (uint64_t)value : 0;
}

static bool is(const json_t *object, const char *name) { return json_is_true(json_object_get(object, name)); }

static enum nk_runs runs(const json_t *object)
{
    const char *word = text(object, "runs");
    for (enum nk_runs i = NK_RUNS_NATIVE; i < NK_RUNS_UNKNOWN; i++)
        if (!strcmp(word, nk_runs_word(i))) return i;
    return NK_RUNS_UNKNOWN;
}

// Strings of an array with something between them, as a text that lives until `forget`.
static const char *joined(struct reading *r, const json_t *array, const char *between)
{
    size_t count = json_array_size(array);
    if (count == 1)
        return json_string_value(json_array_get(array, 0)) ? json_string_value(json_array_get(array, 0)) : "";
    if (!count) return "";
    if (r->text_count == r->text_room) {
        size_t room = r->text_room ? r->text_room * 2 : 64;
        struct nk_buf *more = realloc(r->texts, room * sizeof *more);
        if (!more) return r->report.failed = true, "";
        r->texts = more;
        r->text_room = room;
    }
    struct nk_buf *out = &r->texts[r->text_count++];
    *out = (struct nk_buf){0};
    for (size_t i = 0; i < count; i++) {
        const char *part = json_string_value(json_array_get(array, i));
        if (i) nk_buf_text(out, between);
        nk_buf_text(out, part ? part : "");
    }
    r->report.failed |= out->failed;
    return out->data ? out->data : "";
}

static void forget(struct reading *r)
{
    for (size_t i = 0; i < r->text_count; i++) nk_buf_free(&r->texts[i]);
    r->text_count = 0;
    nk_merge_report_clear(&r->report);
}

// ---- one recording of a report

static int by_recording(const void *a, const void *b)
{
    const struct object *x = a, *y = b;
    if (x->recording != y->recording) return x->recording < y->recording ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static int list(struct objects *list, const json_t *array)
{
    const json_t *json;
    size_t i;
    list->of = malloc((json_array_size(array) + 1) * sizeof *list->of);
    if (!list->of) return -1;
    json_array_foreach(array, i, json)
    {
        const json_t *recording = json_object_get(json, "recording");
        if (json_is_integer(recording))
            list->of[list->count++] = (struct object){json_integer_value(recording), i, json};
    }
    if (list->count) qsort(list->of, list->count, sizeof *list->of, by_recording);
    return 0;
}

// The next object of that recording, or NULL.
static const json_t *next(struct objects *list, size_t recording)
{
    while (list->next < list->count && list->of[list->next].recording < (json_int_t)recording) list->next++;
    if (list->next == list->count || list->of[list->next].recording != (json_int_t)recording) return NULL;
    return list->of[list->next++].json;
}

static uint32_t sm_of(const char *word)
{
    unsigned long sm = !strncmp(word, "sm_", 3) ? strtoul(word + 3, NULL, 10) : 0;
    return sm < 100000 ? (uint32_t)sm : 0;
}

// Architecture of the GPU of that ordinal, among those of the recording.
static uint32_t sm(const struct reading *r, const json_t *object)
{
    const json_t *ordinal = json_object_get(object, "gpu");
    if (!json_is_integer(ordinal)) return 0;
    for (size_t i = r->gpu; i < r->gpus.next; i++)
        if (json_equal(json_object_get(r->gpus.of[i].json, "ordinal"), ordinal))
            return sm_of(text(r->gpus.of[i].json, "sm"));
    return 0;
}

// Code in memory belongs to the package of the library that loaded it, if that one holds GPU code itself.
static void place(const struct reading *r, struct nk_fact *fact, const json_t *object)
{
    const char *library = text(object, "library"), *loader = text(object, "loaded_by");
    fact->memory = !*library && *loader;
    fact->text[NK_FACT_LIBRARY] = nk_merge_path(fact->memory ? loader : library);
    for (size_t i = r->library; fact->memory && i < r->libraries.next; i++)
        if (!strcmp(text(r->libraries.of[i].json, "path"), loader)) object = r->libraries.of[i].json;
    fact->text[NK_FACT_PACKAGE] = text(object, "package");
    fact->text[NK_FACT_VERSION] = text(object, "version");
}

static struct nk_fact begin(struct reading *r, const json_t *object)
{
    struct nk_fact fact = {.sm = sm(r, object), .rules = runs(object)};
    fact.contradiction = is(object, "contradiction");
    place(r, &fact, object);
    fact.text[NK_FACT_KERNEL] = fact.text[NK_FACT_ONE_OF] = "";
    fact.text[NK_FACT_HAS] = joined(r, json_object_get(object, "has"), ", ");
    fact.text[NK_FACT_REASON] = text(object, "reason");
    return fact;
}

static void take_kernel(struct reading *r, const json_t *object)
{
    uint64_t launches = number(object, "launches"), failed = number(object, "failed");
    if (launches <= failed) return;
    struct nk_fact fact = begin(r, object);
    fact.text[NK_FACT_KERNEL] = text(object, "name");
    fact.seen = nk_merge_seen(fact.rules, fact.contradiction);
    nk_merge_report_add(&r->report, &fact, launches - failed);
}

static void take_failure(struct reading *r, const json_t *object)
{
    if (strcmp(text(object, "class"), "missing-image")) return;
    struct nk_fact fact = begin(r, object);
    fact.seen = NK_SEEN_MISSING;
    // What only files of one machine tell is left: the recording alone must say the same.
    if (strcmp(text(object, "kernel_known_from"), "symbols")) fact.text[NK_FACT_KERNEL] = text(object, "kernel");
    if (!*fact.text[NK_FACT_KERNEL]) fact.text[NK_FACT_ONE_OF] = joined(r, json_object_get(object, "candidates"), "\n");
    nk_merge_report_add(&r->report, &fact, number(object, "count"));
}

static void take_gpu(struct reading *r, const json_t *object)
{
    struct nk_fact fact = {.sm = sm_of(text(object, "sm")), .seen = NK_SEEN_GPU, .rules = NK_RUNS_UNKNOWN};
    for (int i = 0; i < NK_FACT_TEXTS; i++) fact.text[i] = "";
    fact.text[NK_FACT_KERNEL] = text(object, "name");
    fact.text[NK_FACT_VERSION] = text(object, "driver");
    fact.text[NK_FACT_LIBRARY] = text(object, "cuda");
    nk_merge_report_add(&r->report, &fact, 1);
}

// As nk_run_identity says it; a report without ids is told apart by its process.
static uint64_t identity(const json_t *recording)
{
    const char *id = text(recording, "id");
    if (*id) return strtoull(id, NULL, 16);
    char *own = json_dumps(json_object_get(recording, "process"), JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    uint64_t hash = own ? nk_hash_bytes(own, strlen(own)) : 0;
    free(own);
    return hash;
}

static void take_recording(struct reading *r, const json_t *recording, size_t index)
{
    const json_t *object;
    r->report.id = identity(recording);
    r->gpu = r->gpus.next;
    r->library = r->libraries.next;
    for (size_t i = 0; (object = next(&r->gpus, index)); i++) {
        if (!i) r->gpu = r->gpus.next - 1;
        take_gpu(r, object);
    }
    for (size_t i = 0; (object = next(&r->libraries, index)); i++)
        if (!i) r->library = r->libraries.next - 1;
    while ((object = next(&r->kernels, index))) take_kernel(r, object);
    while ((object = next(&r->failures, index))) take_failure(r, object);
    nk_merge_hand_over(r->in, &r->report);
    forget(r);
}

// ---- documents

static int take_report(struct nk_merge_in *in, const json_t *root, struct nk_err *err)
{
    struct reading r = {.in = in};
    const json_t *recordings = json_object_get(root, "recordings"), *object;
    const json_t *kernels = json_object_get(root, "kernels"), *failures = json_object_get(root, "failures");
    size_t i;
    if (!json_is_array(recordings) || !json_is_array(kernels) || !json_is_array(failures))
        return nk_fail(err, NK_ERR_BAD_INPUT, "recordings, kernels and failures of a report were expected");
    json_array_foreach(json_object_get(root, "gpus"), i, object) if (is(object, "asked")) return nk_fail(
        err, NK_ERR_UNSUPPORTED, "a report about what ran was expected; this one was made with --gpu");
    if (list(&r.gpus, json_object_get(root, "gpus")) || list(&r.libraries, json_object_get(root, "libraries")) ||
        list(&r.kernels, kernels) || list(&r.failures, failures))
        in->failed = true;
    else
        json_array_foreach(recordings, i, object) take_recording(&r, object, i);
    nk_merge_report_free(&r.report);
    free(r.gpus.of);
    free(r.libraries.of);
    free(r.kernels.of);
    free(r.failures.of);
    free(r.texts);
    return 0;
}

// 1 taken, 0 of somebody else, -1 with a sentence.
static int take(struct nk_merge_in *in, const json_t *root, struct nk_err *err)
{
    const char *schema = text(root, "schema");
    if (!strcmp(schema, "nokernel-report/1")) return take_report(in, root, err) ? -1 : 1;
    if (!strcmp(schema, "nokernel-merge/1")) return nk_merge_merged(in, root, err) ? -1 : 1;
    if (!strncmp(schema, "nokernel-report/", 16) || !strncmp(schema, "nokernel-merge/", 15))
        return nk_fail(err, NK_ERR_UNSUPPORTED, "nokernel-report/1 or nokernel-merge/1 was expected, this is %.40s",
                       schema);
    return 0;
}

int nk_merge_json(struct nk_merge_in *in, struct nk_bytes bytes, const char *name, int *foreign, struct nk_err *err)
{
    int taken = 0;
    *foreign = 0;
    for (;;) {
        while (bytes.size && strchr(" \t\r\n", *bytes.data)) nk_bytes_from(bytes, 1, &bytes);
        if (!bytes.size) return taken;
        json_error_t where;
        struct nk_err why;
        json_t *root = json_loadb((const char *)bytes.data, bytes.size, JSON_DISABLE_EOF_CHECK, &where);
        if (!root)
            return nk_fail(err, NK_ERR_BAD_INPUT, "%s: JSON was expected, line %d: %s", name, where.line, where.text);
        size_t read = (size_t)where.position;
        int result = take(in, root, &why);
        json_decref(root);
        if (result < 0) return nk_fail(err, why.code, "%s: %s", name, why.text);
        taken += result;
        *foreign += !result;
        if (!nk_bytes_from(bytes, read, &bytes)) return taken;
    }
}
