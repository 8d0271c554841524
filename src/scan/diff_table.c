// diff_table.c - what one scan has that another has not, as Markdown and as CSV.
#include "scan/diff.h"
#include "base/cells.h"
#include "scan/pairs.h"
#include "scan/words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// What is written about the pairs, in the end one behind the other.
struct sheets {
    struct nk_buf changes, verdicts, names;
    bool failed;
};

typedef void (*pair_fn)(struct sheets *sheets, const struct nk_scan_pair *pair, const struct nk_scan_changes *changes,
                        const struct nk_scan_show *show);

// Compares each pair once.
static void each_pair(struct sheets *sheets, const struct nk_scan *old, const struct nk_scan *new_one,
                      const struct nk_scan_show *show, pair_fn write)
{
    size_t count = 0;
    struct nk_scan_pair *pairs = nk_scan_pairs(old, new_one, &count);
    if (!pairs) sheets->failed = true;
    for (size_t i = 0; i < count; i++) {
        struct nk_scan_changes changes;
        nk_scan_compare(pairs[i].old_library, pairs[i].new_library, &changes);
        write(sheets, &pairs[i], &changes, show);
        sheets->failed |= changes.failed;
        nk_scan_changes_free(&changes);
    }
    free(pairs);
}

static void add_sheet(struct nk_buf *out, struct nk_buf *sheet)
{
    if (sheet->size) nk_buf_add(out, sheet->data, sheet->size);
    out->failed |= sheet->failed;
    nk_buf_free(sheet);
}

// ---- Markdown

static void comma(struct nk_buf *text)
{
    if (text->size) nk_buf_text(text, ", ");
}

// "sm_90, compute_90, sm_75 for 3 kernels": first what no image of the other side has, then what both have, but not for
// the same kernels.
static void targets(struct nk_buf *text, const struct nk_scan_changes *changes, bool gained)
{
    for (size_t i = 0; i < changes->targets; i++) {
        const struct nk_scan_change *t = &changes->target[i];
        if (t->in_old == t->in_new || t->in_new != gained) continue;
        comma(text);
        nk_scan_arch_text(text, &t->arch, false);
    }
    for (size_t i = 0; i < changes->targets; i++) {
        const struct nk_scan_change *t = &changes->target[i];
        uint64_t kernels = gained ? t->gained : t->lost;
        if (!t->in_old || !t->in_new || !kernels) continue;
        comma(text);
        nk_scan_arch_text(text, &t->arch, false);
        nk_buf_text(text, " for ");
        nk_scan_count(text, kernels, "kernel", "kernels");
    }
}

// "sm_75 for 18 kernels": whose bodies are empty there in one only.
static void turns(struct nk_buf *text, const struct nk_scan_changes *changes, enum nk_scan_turn turn)
{
    for (size_t i = 0; i < changes->targets; i++) {
        const struct nk_scan_change *t = &changes->target[i];
        if (!t->turned[turn]) continue;
        comma(text);
        nk_scan_arch_text(text, &t->arch, false);
        nk_buf_text(text, " for ");
        nk_scan_count(text, t->turned[turn], "kernel", "kernels");
    }
}

// The first cells of a row: package and library.
static void place(struct nk_buf *out, struct nk_buf *text, const struct nk_scan_pair *pair,
                  const struct nk_scan_show *show)
{
    const struct nk_scan_library *library = pair->new_library ? pair->new_library : pair->old_library;
    nk_buf_text(out, "|");
    nk_scan_title_change(text, pair->old_item, pair->new_item, show->full_paths);
    nk_cell_markdown_next(out, text);
    nk_scan_shown(text, library->path, show->full_paths);
    nk_buf_text(text, !pair->new_library ? " (gone)" : !pair->old_library ? " (new)" : "");
    nk_cell_markdown_next(out, text);
}

static void change_row(struct nk_buf *out, const struct nk_scan_pair *pair, const struct nk_scan_changes *changes,
                       const struct nk_scan_show *show)
{
    struct nk_buf text = {0};
    place(out, &text, pair, show);
    targets(&text, changes, true);
    nk_cell_markdown_next(out, &text);
    targets(&text, changes, false);
    nk_cell_markdown_next(out, &text);
    nk_scan_number(&text, changes->gained_count);
    nk_cell_markdown_next(out, &text);
    nk_scan_number(&text, changes->lost_count);
    nk_cell_markdown_next(out, &text);
    turns(&text, changes, NK_SCAN_EMPTIED);
    nk_cell_markdown_next(out, &text);
    turns(&text, changes, NK_SCAN_FILLED);
    nk_cell_markdown_next(out, &text);
    nk_buf_text(out, "\n");
    nk_buf_free(&text);
}

static void verdict_rows(struct nk_buf *out, const struct nk_scan_pair *pair, const struct nk_scan_show *show)
{
    struct nk_buf text = {0};
    for (size_t i = 0; i < show->gpus->count; i++) {
        const struct nk_scan_gpu *gpu = &show->gpus->gpu[i];
        place(out, &text, pair, show);
        nk_buf_text(&text, gpu->text);
        nk_cell_markdown_next(out, &text);
        nk_scan_short_verdict(&text, pair->old_library, &gpu->target);
        nk_cell_markdown_next(out, &text);
        nk_scan_short_verdict(&text, pair->new_library, &gpu->target);
        nk_cell_markdown_next(out, &text);
        nk_buf_text(out, "\n");
    }
    nk_buf_free(&text);
}

static void name_items(struct nk_buf *out, struct nk_buf *text, const char *sign, const char *const *names,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        nk_scan_kernel_name(text, names[i]);
        nk_buf_format(out, "- %s ", sign);
        nk_cell_markdown(out, text->data ? text->data : "");
        nk_buf_text(out, "\n");
        nk_buf_clear(text);
    }
}

static void turned_items(struct nk_buf *out, const struct nk_scan_changes *changes, enum nk_scan_turn turn)
{
    struct nk_buf text = {0};
    for (size_t i = 0; i < changes->turned_count[turn]; i++) {
        nk_scan_turned_text(&text, changes, turn, i);
        nk_buf_text(out, "- ");
        nk_cell_markdown(out, text.data ? text.data : "");
        nk_buf_text(out, "\n");
        nk_buf_clear(&text);
    }
    out->failed |= text.failed;
    nk_buf_free(&text);
}

static void name_list(struct nk_buf *out, const struct nk_scan_pair *pair, const struct nk_scan_changes *changes,
                      const struct nk_scan_show *show)
{
    struct nk_buf text = {0};
    size_t turned = changes->turned_count[NK_SCAN_EMPTIED] + changes->turned_count[NK_SCAN_FILLED];
    if (!changes->gained_count && !changes->lost_count && !turned) return;
    nk_scan_title_change(&text, pair->old_item, pair->new_item, show->full_paths);
    nk_buf_text(&text, ", ");
    nk_scan_shown(&text, (pair->new_library ? pair->new_library : pair->old_library)->path, show->full_paths);
    nk_buf_text(out, "\nKernels of ");
    nk_cell_markdown(out, text.data ? text.data : "");
    nk_buf_text(out, ":\n\n");
    nk_buf_clear(&text);
    name_items(out, &text, "gained", changes->gained, changes->gained_count);
    name_items(out, &text, "lost", changes->lost, changes->lost_count);
    turned_items(out, changes, NK_SCAN_EMPTIED);
    turned_items(out, changes, NK_SCAN_FILLED);
    if (text.failed) out->failed = true;
    nk_buf_free(&text);
}

static void markdown_pair(struct sheets *sheets, const struct nk_scan_pair *pair, const struct nk_scan_changes *changes,
                          const struct nk_scan_show *show)
{
    change_row(&sheets->changes, pair, changes, show);
    verdict_rows(&sheets->verdicts, pair, show);
    if (show->names) name_list(&sheets->names, pair, changes, show);
}

void nk_scan_diff_markdown(struct nk_buf *out, const struct nk_scan *old, const struct nk_scan *new_one,
                           const struct nk_scan_show *show)
{
    struct sheets sheets = {0};
    each_pair(&sheets, old, new_one, show, markdown_pair);
    out->failed |= sheets.failed;
    nk_buf_text(
        out,
        "| package | library | architectures gained | architectures lost | kernels gained | kernels lost | now empty | "
        "no longer empty |\n|---|---|---|---|---:|---:|---|---|\n");
    add_sheet(out, &sheets.changes);
    if (show->gpus->count) nk_buf_text(out, "\n| package | library | GPU | old | new |\n|---|---|---|---|---|\n");
    add_sheet(out, &sheets.verdicts);
    add_sheet(out, &sheets.names);
    if (old->problem_count || new_one->problem_count) nk_buf_text(out, "\nNot read:\n\n");
    nk_scan_unread_markdown(out, old, show);
    nk_scan_unread_markdown(out, new_one, show);
}

// ---- CSV (RFC 4180)

// The fields that say where: of each row the same.
static void csv_place(struct nk_buf *out, const struct nk_scan_pair *pair, const struct nk_scan_show *show)
{
    const struct nk_scan_item *old = pair->old_item, *new_item = pair->new_item;
    struct nk_buf text = {0};
    nk_scan_clean(&text, (new_item ? new_item : old)->package.name);
    nk_cell_csv_next(out, &text, ",");
    if (old) nk_scan_clean(&text, old->package.version);
    nk_cell_csv_next(out, &text, ",");
    if (new_item) nk_scan_clean(&text, new_item->package.version);
    nk_cell_csv_next(out, &text, ",");
    if (pair->old_library) nk_scan_shown(&text, pair->old_library->path, show->full_paths);
    nk_cell_csv_next(out, &text, ",");
    if (pair->new_library) nk_scan_shown(&text, pair->new_library->path, show->full_paths);
    nk_cell_csv_next(out, &text, ",");
    nk_buf_free(&text);
}

// A row whose change is a number of kernels. `change`: two fields, as in csv_names; `name`: the target, or "".
static void csv_count(struct nk_buf *out, const char *place, const char *change, const char *name, uint64_t kernels)
{
    if (kernels) nk_buf_format(out, "%s%s,%s,%" PRIu64 ",,\r\n", place, change, name, kernels);
}

static void csv_targets(struct nk_buf *out, const char *place, const struct nk_scan_changes *changes)
{
    struct nk_buf arch = {0};
    for (size_t i = 0; i < changes->targets; i++) {
        const struct nk_scan_change *t = &changes->target[i];
        nk_scan_arch_text(&arch, &t->arch, false);
        const char *name = arch.data ? arch.data : "";
        if (t->in_old != t->in_new)
            nk_buf_format(out, "%sarchs,%s,%s,,,\r\n", place, t->in_new ? "gained" : "lost", name);
        csv_count(out, place, "kernels_by_arch,gained", name, t->gained);
        csv_count(out, place, "kernels_by_arch,lost", name, t->lost);
        csv_count(out, place, "hollow,now", name, t->turned[NK_SCAN_EMPTIED]);
        csv_count(out, place, "hollow,no_longer", name, t->turned[NK_SCAN_FILLED]);
        nk_buf_clear(&arch);
    }
    if (arch.failed) out->failed = true;
    nk_buf_free(&arch);
}

static void csv_names(struct nk_buf *out, const char *place, const char *change, const char *const *names, size_t count)
{
    struct nk_buf name = {0};
    for (size_t i = 0; i < count; i++) {
        nk_buf_format(out, "%s%s,", place, change);
        nk_scan_clean(&name, names[i]);
        nk_cell_csv_next(out, &name, ",,,\r\n");
    }
    nk_buf_free(&name);
}

// A row a target: its name and that of the kernel, which holds no blank.
static void csv_turned(struct nk_buf *out, const char *place, const struct nk_scan_changes *changes,
                       enum nk_scan_turn turn)
{
    struct nk_buf name = {0};
    const struct nk_scan_turned *list = changes->turned[turn];
    for (size_t i = 0; i < changes->turned_count[turn]; i++)
        for (size_t k = 0; k < changes->targets; k++) {
            if (!(list[i].targets >> changes->target[k].bit & 1)) continue;
            nk_buf_format(out, "%shollow_kernel,%s,", place, turn == NK_SCAN_EMPTIED ? "now" : "no_longer");
            nk_scan_arch_text(&name, &changes->target[k].arch, false);
            nk_buf_text(&name, " ");
            nk_scan_clean(&name, list[i].name);
            nk_cell_csv_next(out, &name, ",,,\r\n");
        }
    nk_buf_free(&name);
}

static void csv_verdicts(struct nk_buf *out, const char *place, const struct nk_scan_pair *pair,
                         const struct nk_scan_show *show)
{
    for (size_t i = 0; i < show->gpus->count; i++) {
        const struct nk_scan_gpu *gpu = &show->gpus->gpu[i];
        struct nk_scan_counts counts;
        const char *before = "", *after = "";
        if (pair->old_library) before = nk_scan_word(nk_scan_judge(pair->old_library, &gpu->target, &counts));
        if (pair->new_library) after = nk_scan_word(nk_scan_judge(pair->new_library, &gpu->target, &counts));
        nk_buf_format(out, "%sruns,%s,%s,,%s,%s\r\n", place, strcmp(before, after) ? "changed" : "same", gpu->text,
                      before, after);
    }
}

static void csv_rows(struct sheets *sheets, const struct nk_scan_pair *pair, const struct nk_scan_changes *changes,
                     const struct nk_scan_show *show)
{
    struct nk_buf where = {0}, *out = &sheets->changes;
    csv_place(&where, pair, show);
    const char *place = where.data ? where.data : "";
    if (!pair->old_library || !pair->new_library)
        nk_buf_format(out, "%slibrary,%s,,,,\r\n", place, pair->new_library ? "gained" : "lost");
    csv_targets(out, place, changes);
    csv_count(out, place, "kernels,gained", "", changes->gained_count);
    csv_count(out, place, "kernels,lost", "", changes->lost_count);
    if (show->names) csv_names(out, place, "kernel,gained", changes->gained, changes->gained_count);
    if (show->names) csv_names(out, place, "kernel,lost", changes->lost, changes->lost_count);
    if (show->names) csv_turned(out, place, changes, NK_SCAN_EMPTIED);
    if (show->names) csv_turned(out, place, changes, NK_SCAN_FILLED);
    csv_verdicts(out, place, pair, show);
    if (where.failed) out->failed = true;
    nk_buf_free(&where);
}

void nk_scan_diff_csv(struct nk_buf *out, const struct nk_scan *old, const struct nk_scan *new_one,
                      const struct nk_scan_show *show)
{
    struct sheets sheets = {0};
    nk_buf_text(out,
                "package,old_version,new_version,old_path,new_path,what,change,name,kernels,old_runs,new_runs\r\n");
    each_pair(&sheets, old, new_one, show, csv_rows);
    out->failed |= sheets.failed;
    add_sheet(out, &sheets.changes);
}
