// diff.c - what one scan has that another has not, as text and as JSON.
#define _GNU_SOURCE
#include "scan/diff.h"
#include "base/json_text.h"
#include "scan/json.h"
#include "scan/pairs.h"
#include "scan/words.h"

#include <stdlib.h>
#include <string.h>

// ---- text

static void targets(struct nk_buf *out, const struct nk_scan_changes *changes, bool gained)
{
    bool any = false;
    for (size_t i = 0; i < changes->targets; i++) {
        const struct nk_scan_change *t = &changes->target[i];
        if (t->in_old == t->in_new || t->in_new != gained) continue;
        nk_buf_text(out, any ? " " : gained ? "    gained    " : "    lost      ");
        nk_scan_arch_text(out, &t->arch, false);
        any = true;
    }
    if (any) nk_buf_text(out, "\n");
}

// Targets that both have, but not for the same kernels.
static void shifted(struct nk_buf *out, const struct nk_scan_changes *changes)
{
    for (size_t i = 0; i < changes->targets; i++) {
        const struct nk_scan_change *t = &changes->target[i];
        if (!t->in_old || !t->in_new || (!t->gained && !t->lost)) continue;
        nk_buf_text(out, "    ");
        nk_scan_arch_text(out, &t->arch, false);
        nk_buf_text(out, "  gained for ");
        nk_scan_count(out, t->gained, "kernel", "kernels");
        nk_buf_text(out, ", lost for ");
        nk_scan_number(out, t->lost);
        nk_buf_text(out, "\n");
    }
}

// Kernels whose bodies were compiled away for a target, or are no longer.
static void turns(struct nk_buf *out, const struct nk_scan_changes *changes, enum nk_scan_turn turn)
{
    bool any = false;
    for (size_t i = 0; i < changes->targets; i++) {
        const struct nk_scan_change *t = &changes->target[i];
        if (!t->turned[turn]) continue;
        nk_buf_text(out, any ? ", " : "    ");
        if (!any) nk_buf_text(out, nk_scan_turn_words(turn));
        nk_scan_arch_text(out, &t->arch, false);
        nk_buf_text(out, " ");
        nk_scan_number(out, t->turned[turn]);
        any = true;
    }
    if (any) nk_buf_text(out, "\n");
}

static void names_turned(struct nk_buf *out, const struct nk_scan_changes *changes, enum nk_scan_turn turn)
{
    for (size_t i = 0; i < changes->turned_count[turn]; i++) {
        nk_buf_text(out, "      ");
        nk_scan_turned_text(out, changes, turn, i);
        nk_buf_text(out, "\n");
    }
}

static void names(struct nk_buf *out, const char *sign, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        nk_buf_format(out, "      %s ", sign);
        nk_scan_kernel_name(out, list[i]);
        nk_buf_text(out, "\n");
    }
}

static void one(struct nk_buf *out, const struct nk_scan_pair *pair, const struct nk_scan_show *show)
{
    struct nk_scan_changes changes;
    nk_scan_compare(pair->old_library, pair->new_library, &changes);
    nk_buf_text(out, "  ");
    nk_scan_shown(out, (pair->new_library ? pair->new_library : pair->old_library)->path, show->full_paths);
    nk_buf_text(out, !pair->new_library ? "   is gone\n" : !pair->old_library ? "   is new\n" : "\n");
    size_t before = out->size;
    targets(out, &changes, true);
    targets(out, &changes, false);
    if (pair->old_library && pair->new_library) shifted(out, &changes);
    turns(out, &changes, NK_SCAN_EMPTIED);
    turns(out, &changes, NK_SCAN_FILLED);
    if (changes.gained_count + changes.lost_count) {
        nk_buf_text(out, "    kernels   gained ");
        nk_scan_number(out, changes.gained_count);
        nk_buf_text(out, ", lost ");
        nk_scan_number(out, changes.lost_count);
        nk_buf_text(out, "\n");
    }
    if (show->names) names(out, "+", changes.gained, changes.gained_count);
    if (show->names) names(out, "-", changes.lost, changes.lost_count);
    if (show->names) names_turned(out, &changes, NK_SCAN_EMPTIED);
    if (show->names) names_turned(out, &changes, NK_SCAN_FILLED);
    if (out->size == before) nk_buf_text(out, "    the same\n");
    for (size_t i = 0; i < show->gpus->count; i++) {
        nk_buf_format(out, "    %-9s ", show->gpus->gpu[i].text);
        nk_scan_short_verdict(out, pair->old_library, &show->gpus->gpu[i].target);
        nk_buf_text(out, " -> ");
        nk_scan_short_verdict(out, pair->new_library, &show->gpus->gpu[i].target);
        nk_buf_text(out, "\n");
    }
    if (changes.failed) out->failed = true;
    nk_scan_changes_free(&changes);
}

static void title(struct nk_buf *out, const struct nk_scan_pair *pair, const struct nk_scan_show *show)
{
    if (out->size) nk_buf_text(out, "\n");
    nk_scan_title_change(out, pair->old_item, pair->new_item, show->full_paths);
    nk_buf_text(out, "\n");
}

void nk_scan_diff_text(struct nk_buf *out, const struct nk_scan *old, const struct nk_scan *new_one,
                       const struct nk_scan_show *show)
{
    size_t count;
    struct nk_scan_pair *pairs = nk_scan_pairs(old, new_one, &count);
    for (size_t i = 0; pairs && i < count; i++) {
        if (!i || pairs[i].new_item != pairs[i - 1].new_item || pairs[i].old_item != pairs[i - 1].old_item)
            title(out, &pairs[i], show);
        one(out, &pairs[i], show);
    }
    if (pairs && !count) nk_buf_text(out, "no GPU code on either side\n");
    if (!pairs) out->failed = true;
    free(pairs);
}

// ---- JSON

static json_t *shown(const struct nk_scan_library *library, const struct nk_scan_show *show)
{
    return library ? nk_scan_json_path(library->path, show) : json_null();
}

static json_t *arch(const struct nk_scan_change *t)
{
    struct nk_buf out = {0};
    nk_scan_arch_text(&out, &t->arch, false);
    json_t *value = nk_json_or_null(out.data);
    nk_buf_free(&out);
    return value;
}

static json_t *name_list(const char *const *list, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) json_array_append_new(array, nk_json_or_null(list[i]));
    return array;
}

static json_t *turned_list(const struct nk_scan_changes *changes, enum nk_scan_turn turn)
{
    const struct nk_scan_turned *list = changes->turned[turn];
    json_t *array = json_array();
    for (size_t i = 0; i < changes->turned_count[turn]; i++) {
        json_t *archs = json_array();
        for (size_t k = 0; k < changes->targets; k++)
            if (list[i].targets >> changes->target[k].bit & 1) json_array_append_new(archs, arch(&changes->target[k]));
        json_array_append_new(array, json_pack("{s:o,s:o}", "name", nk_json_or_null(list[i].name), "archs", archs));
    }
    return array;
}

static json_t *runs(const struct nk_scan_library *library, const struct nk_scan_show *show)
{
    json_t *object = json_object();
    for (size_t i = 0; i < show->gpus->count; i++) {
        struct nk_scan_counts counts;
        enum nk_scan_word w = library ? nk_scan_judge(library, &show->gpus->gpu[i].target, &counts) : NK_SCAN_EMPTY;
        json_object_set_new(object, show->gpus->gpu[i].text, nk_json_or_null(library ? nk_scan_word(w) : NULL));
    }
    return object;
}

static json_t *one_json(const struct nk_scan_pair *pair, const struct nk_scan_show *show)
{
    struct nk_scan_changes c;
    nk_scan_compare(pair->old_library, pair->new_library, &c);
    json_t *gained = json_array(), *lost = json_array(), *by_arch = json_array();
    for (size_t i = 0; i < c.targets; i++) {
        const struct nk_scan_change *t = &c.target[i];
        if (t->in_new && !t->in_old) json_array_append_new(gained, arch(t));
        if (t->in_old && !t->in_new) json_array_append_new(lost, arch(t));
        if (t->gained || t->lost)
            json_array_append_new(by_arch, json_pack("{s:o,s:I,s:I}", "arch", arch(t), "gained", (json_int_t)t->gained,
                                                     "lost", (json_int_t)t->lost));
    }
    const struct nk_scan_item *item = pair->new_item ? pair->new_item : pair->old_item;
    json_t *object = json_object();
    json_object_set_new(object, "package", nk_json_or_null(item->package.name));
    json_object_set_new(object, "old_version",
                        nk_json_or_null(pair->old_item ? pair->old_item->package.version : NULL));
    json_object_set_new(object, "new_version",
                        nk_json_or_null(pair->new_item ? pair->new_item->package.version : NULL));
    json_object_set_new(object, "old_path", shown(pair->old_library, show));
    json_object_set_new(object, "new_path", shown(pair->new_library, show));
    json_object_set_new(object, "archs", json_pack("{s:o,s:o}", "gained", gained, "lost", lost));
    json_object_set_new(
        object, "kernels",
        json_pack("{s:o,s:o}", "gained", name_list(c.gained, c.gained_count), "lost", name_list(c.lost, c.lost_count)));
    json_object_set_new(object, "kernels_by_arch", by_arch);
    json_object_set_new(
        object, "hollow",
        json_pack("{s:o,s:o}", "now", turned_list(&c, NK_SCAN_EMPTIED), "no_longer", turned_list(&c, NK_SCAN_FILLED)));
    json_object_set_new(object, "old_runs", runs(pair->old_library, show));
    json_object_set_new(object, "new_runs", runs(pair->new_library, show));
    nk_scan_changes_free(&c);
    return object;
}

void nk_scan_diff_json(struct nk_buf *out, const struct nk_scan *old, const struct nk_scan *new_one,
                       const struct nk_scan_show *show)
{
    size_t count = 0;
    struct nk_scan_pair *pairs = nk_scan_pairs(old, new_one, &count);
    json_t *list = json_array();
    for (size_t i = 0; pairs && i < count; i++) json_array_append_new(list, one_json(&pairs[i], show));
    json_t *problems = nk_scan_json_problems(old, show), *more = nk_scan_json_problems(new_one, show);
    json_array_extend(problems, more);
    json_decref(more);
    json_t *root =
        json_pack("{s:s,s:{s:s,s:s},s:o,s:o,s:o}", "schema", "nokernel-scan-diff/1", "tool", "name", "nokernel",
                  "version", NK_VERSION, "gpus", nk_scan_json_gpus(show), "libraries", list, "problems", problems);
    if (!pairs) out->failed = true;
    nk_json_write_document(out, root);
    free(pairs);
}
