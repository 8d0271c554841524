// text.c - a scan as text for people.
#include "scan/text.h"
#include "image/kernels.h"
#include "scan/words.h"
#include "verdict/text.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 80, INDENT = 4, LABEL = 10, FEW = 8 };

// A row: label, then words wrapped at COLUMNS. Takes the text of `body` and empties it.
static void row(struct nk_buf *out, const char *label, struct nk_buf *body)
{
    size_t column = INDENT + LABEL;
    nk_buf_format(out, "%*s%-*s", INDENT, "", LABEL - 1, label);
    if (strlen(label) >= LABEL) column = INDENT + strlen(label);
    for (char *rest = body->data, *end; rest && *rest; rest = end) {
        while (*rest == ' ') rest++;
        end = rest + strcspn(rest, " ");
        size_t size = (size_t)(end - rest);
        if (column + size + 1 > COLUMNS && column > INDENT + LABEL) {
            nk_buf_text(out, "\n");
            nk_buf_fill(out, ' ', INDENT + LABEL - 1);
            column = INDENT + LABEL - 1;
        }
        nk_buf_text(out, " ");
        nk_buf_add(out, rest, size);
        column += size + 1;
    }
    nk_buf_text(out, "\n");
    nk_buf_free(body);
}

// ---- what it has

static void row_archs(struct nk_buf *out, const char *label, const struct nk_scan_sum *sum, uint16_t kind,
                      const char *none)
{
    struct nk_buf body = {0};
    if (kind == NK_KIND_UNKNOWN) nk_buf_text(&body, "a kind of image that is not known, for ");
    size_t before = body.size;
    nk_scan_archs(&body, sum, kind, false);
    bool any = body.size > before, linker = kind == NK_KIND_LTO || kind == NK_KIND_PTX_LINK;
    nk_buf_text(&body, any && linker ? ", for the linker only" : !any && none ? none : "");
    if (any || none)
        row(out, label, &body);
    else
        nk_buf_free(&body);
}

static void row_containers(struct nk_buf *out, const struct nk_scan_library *library, const struct nk_scan_sum *sum)
{
    struct nk_buf body = {0};
    if (sum->containers) nk_scan_count(&body, sum->containers, "container", "containers");
    if (sum->bare) {
        if (body.size) nk_buf_text(&body, ", ");
        nk_scan_count(&body, sum->bare, "image without container", "images without container");
    }
    if (sum->codecs[0] + sum->codecs[1] + sum->codecs[2] + sum->codecs[3]) nk_buf_text(&body, ", ");
    nk_scan_codecs(&body, sum);
    const struct {
        uint64_t count;
        const char *words;
    } notes[] = {{sum->empty, "without an image"},
                 {sum->without_kernels, "without a kernel"},
                 {sum->damaged, "damaged"},
                 {sum->unread, "whose kernels could not be read"},
                 {sum->relocatable_cubins, "relocatable images"},
                 {sum->concatenated, "concatenated images"},
                 {sum->debug, "debug images"}};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        if (!notes[i].count) continue;
        nk_buf_text(&body, "; ");
        nk_scan_number(&body, notes[i].count);
        nk_buf_format(&body, " %s", notes[i].words);
    }
    if (sum->outside) {
        nk_buf_text(&body, "; ");
        nk_scan_number(&body, sum->outside);
        nk_buf_text(&body, " outside .nv_fatbin: ");
        nk_scan_sections(&body, library);
    }
    row(out, "holds", &body);
    if (!library->unsearched) return;
    nk_scan_number(&body, (library->unsearched + 999999) / 1000000);
    nk_buf_text(&body, " MB of other sections, which may hold more (leave out --quick to see)");
    row(out, "unread", &body);
}

static void row_kernels(struct nk_buf *out, const struct nk_scan_sum *sum)
{
    struct nk_buf body = {0};
    nk_scan_number(&body, sum->kernels);
    if (sum->names < sum->kernels) {
        nk_buf_text(&body, ", of ");
        nk_scan_count(&body, sum->names, "name", "names");
    }
    row(out, "kernels", &body);
}

// Input of the device linker, and PTX that says something else than its header.
static void rows_odd(struct nk_buf *out, const struct nk_scan_sum *sum)
{
    struct nk_buf body = {0}, lto = {0};
    if (sum->relocatable) {
        nk_scan_count(&body, sum->relocatable, "container", "containers");
        nk_buf_text(&body, " to link: ");
        nk_scan_archs(&body, sum, NK_KIND_CUBIN, true);
        nk_buf_text(&body, " ");
        nk_scan_archs(&body, sum, NK_KIND_PTX, true);
        nk_scan_archs(&lto, sum, NK_KIND_LTO, true);
        if (lto.size) nk_buf_format(&body, " LTO %s", lto.data);
        nk_buf_free(&lto);
        row(out, "linkable", &body);
    }
    for (size_t i = 0; i < sum->arch_count; i++) {
        const struct nk_scan_arch *arch = &sum->archs[i];
        if (!arch->lied) continue;
        bool one = arch->lied == 1;
        nk_scan_number(&body, arch->lied);
        nk_buf_text(&body, one ? " PTX image says " : " PTX images say ");
        nk_scan_arch_text(&body, arch, false);
        nk_buf_text(&body, one ? " in its text and something else in its header"
                               : " in their text and something else in their header");
        row(out, "but", &body);
    }
}

static void row_hollow(struct nk_buf *out, const struct nk_scan_sum *sum)
{
    struct nk_buf body = {0};
    for (size_t i = 0; i < sum->arch_count; i++) {
        if (!sum->archs[i].hollow) continue;
        if (body.size) nk_buf_text(&body, ", ");
        nk_scan_arch_text(&body, &sum->archs[i], false);
        nk_buf_text(&body, " ");
        nk_scan_number(&body, sum->archs[i].hollow);
    }
    if (body.size) row(out, "empty on", &body);
}

// ---- names of kernels

static void name_line(struct nk_buf *out, const char *what, const char *name)
{
    nk_buf_format(out, "%*s%-8s", INDENT + 4, "", what);
    nk_scan_kernel_name(out, name);
    nk_buf_text(out, "\n");
}

static int by_shape(const void *a, const void *b)
{
    const struct nk_scan_kernel *x = a, *y = b;
    if (x->shape != y->shape) return x->shape < y->shape ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name;
}

static void row_shape(struct nk_buf *out, const struct nk_scan_library *library, const struct nk_scan_shape *shape)
{
    struct nk_image held[64];
    struct nk_buf body = {0};
    size_t count = 0;
    for (size_t i = shape->first; i < shape->first + shape->images && count < 64; i++)
        if (library->holds[i] == NK_KERNEL_PRESENT) held[count++] = library->shape_images[i];
    nk_arch_list_text(held, count, &body);
    for (size_t i = shape->first, empty = 0; i < shape->first + shape->images; i++) {
        if (library->holds[i] != NK_KERNEL_HOLLOW) continue;
        const struct nk_image *image = &library->shape_images[i];
        struct nk_scan_arch arch = {.kind = image->kind, .arch = image->arch, .suffix = image->suffix};
        nk_buf_text(&body, empty++ ? " " : "; empty on ");
        nk_scan_arch_text(&body, &arch, false);
    }
    row(out, "with", &body);
}

// Without one: all of them, under the images that hold them.
static void names_by_shape(struct nk_buf *out, const struct nk_scan_library *library)
{
    struct nk_scan_kernel *sorted = calloc(library->kernel_count + 1, sizeof *sorted);
    if (!sorted) {
        out->failed = true;
        return;
    }
    if (library->kernel_count) memcpy(sorted, library->kernels, library->kernel_count * sizeof *sorted);
    qsort(sorted, library->kernel_count, sizeof *sorted, by_shape);
    for (size_t i = 0; i < library->kernel_count; i++) {
        if (!i || sorted[i].shape != sorted[i - 1].shape) row_shape(out, library, &library->shapes[sorted[i].shape]);
        name_line(out, "", nk_scan_text(library, sorted[i].name));
    }
    free(sorted);
}

// ---- the whole

static void row_gpu(struct nk_buf *out, const struct nk_scan_library *library, const struct nk_scan_gpu *gpu,
                    const struct nk_scan_show *show)
{
    struct nk_scan_counts counts;
    struct nk_buf body = {0};
    enum nk_scan_word word = nk_scan_judge(library, &gpu->target, &counts);
    nk_buf_format(&body, "%s: ", nk_scan_word(word));
    nk_scan_detail(&body, word, &counts);
    row(out, gpu->text, &body);
    if (show->names) nk_scan_not_native(out, library, &gpu->target, name_line);
}

// Many GPUs, such as --gpu all: those of which the same is to be said stand together, and the sentence once below them.
static void rows_together(struct nk_buf *out, const struct nk_scan_library *library, const struct nk_scan_gpus *gpus)
{
    struct nk_buf said[NK_SCAN_GPUS] = {{0}};
    bool told[NK_SCAN_GPUS] = {false};
    for (size_t i = 0; i < gpus->count; i++) {
        struct nk_scan_counts counts;
        enum nk_scan_word word = nk_scan_judge(library, &gpus->gpu[i].target, &counts);
        nk_buf_format(&said[i], "%s: ", nk_scan_word(word));
        nk_scan_detail(&said[i], word, &counts);
        out->failed |= said[i].failed;
    }
    for (size_t i = 0; i < gpus->count && !out->failed; i++) {
        size_t column = COLUMNS;
        if (told[i]) continue;
        for (size_t k = i; k < gpus->count; k++) {
            if (told[k] || strcmp(said[i].data, said[k].data)) continue;
            told[k] = true;
            bool breaks = column + strlen(gpus->gpu[k].text) + 1 > COLUMNS;
            if (breaks) nk_buf_format(out, "%s%*s", k == i ? "" : "\n", INDENT, "");
            nk_buf_format(out, "%s%s", breaks ? "" : " ", gpus->gpu[k].text);
            column = (breaks ? INDENT : column + 1) + strlen(gpus->gpu[k].text);
        }
        struct nk_buf body = {0};
        nk_buf_add(&body, said[i].data, said[i].size);
        nk_buf_text(out, "\n");
        row(out, "", &body);
    }
    for (size_t i = 0; i < gpus->count; i++) nk_buf_free(&said[i]);
}

// Of a library that no package owns, the build is known by this alone.
static void row_build(struct nk_buf *out, const struct nk_scan_library *library)
{
    struct nk_buf body = {0};
    nk_buf_text(&body, nk_scan_text(library, library->build_id));
    if (body.size && !*library->package.name)
        row(out, "build-id", &body);
    else
        nk_buf_free(&body);
}

static void write_library(struct nk_buf *out, const struct nk_scan_library *library, const struct nk_scan_show *show)
{
    struct nk_scan_sum sum;
    nk_scan_sum(library, &sum);
    nk_buf_text(out, "  ");
    nk_scan_shown(out, library->path, show->full_paths);
    nk_buf_text(out, "\n");
    row_archs(out, "SASS", &sum, NK_KIND_CUBIN, "none");
    row_archs(out, "PTX", &sum, NK_KIND_PTX, "none");
    row_archs(out, "PTX", &sum, NK_KIND_PTX_LINK, NULL);
    row_archs(out, "LTO", &sum, NK_KIND_LTO, NULL);
    row_archs(out, "unknown", &sum, NK_KIND_UNKNOWN, NULL);
    row_containers(out, library, &sum);
    row_build(out, library);
    rows_odd(out, &sum);
    if (library->kernels_read) row_kernels(out, &sum);
    row_hollow(out, &sum);
    bool together = show->gpus->count > FEW && !show->names;
    if (together) rows_together(out, library, show->gpus);
    for (size_t i = 0; !together && i < show->gpus->count; i++) row_gpu(out, library, &show->gpus->gpu[i], show);
    if (show->names && !show->gpus->count) names_by_shape(out, library);
    if (sum.failed) out->failed = true;
    nk_scan_sum_free(&sum);
}

// ---- many files with one image each: wheels of cubin files have thousands

static bool lone(const struct nk_scan_library *library)
{
    return library->box_count == 1 && library->boxes[0].kind != NK_FOUND_CONTAINER;
}

static void row_words(struct nk_buf *out, const struct nk_scan_item *item, const struct nk_scan_gpu *gpu)
{
    uint64_t words[NK_SCAN_UNKNOWN + 1] = {0};
    struct nk_scan_counts counts;
    struct nk_buf body = {0};
    for (size_t i = 0; i < item->count; i++)
        if (lone(item->libraries[i])) words[nk_scan_judge(item->libraries[i], &gpu->target, &counts)]++;
    for (int word = 0; word <= NK_SCAN_UNKNOWN; word++) {
        if (!words[word]) continue;
        nk_buf_format(&body, "%s%s in ", body.size ? ", " : "", nk_scan_word((enum nk_scan_word)word));
        nk_scan_count(&body, words[word], "file", "files");
    }
    row(out, gpu->text, &body);
}

static void write_lone(struct nk_buf *out, const struct nk_scan_item *item, const struct nk_scan_show *show)
{
    struct nk_scan_sum all = {0}, sum;
    uint64_t files = 0;
    for (size_t i = 0; i < item->count; i++) {
        if (!lone(item->libraries[i])) continue;
        nk_scan_sum(item->libraries[i], &sum);
        nk_scan_sum_add(&all, &sum);
        nk_scan_sum_free(&sum);
        files++;
    }
    nk_buf_text(out, "  ");
    nk_scan_count(out, files, "file", "files");
    nk_buf_text(out, " with one image each (--csv and --json name them)\n");
    row_archs(out, "SASS", &all, NK_KIND_CUBIN, "none");
    row_archs(out, "PTX", &all, NK_KIND_PTX, "none");
    if (all.kernels) row_kernels(out, &all);
    for (size_t i = 0; i < show->gpus->count; i++) row_words(out, item, &show->gpus->gpu[i]);
    if (all.failed) out->failed = true;
    nk_scan_sum_free(&all);
}

static void write_item(struct nk_buf *out, const struct nk_scan_item *item, const struct nk_scan_show *show)
{
    if (out->size) nk_buf_text(out, "\n");
    nk_scan_title(out, item, show->full_paths);
    if (*item->package.name) {
        nk_buf_text(out, "   ");
        nk_scan_shown(out, item->path, show->full_paths);
    }
    nk_buf_text(out, "\n");
    size_t alone = 0;
    for (size_t i = 0; i < item->count; i++) alone += lone(item->libraries[i]);
    bool together = alone > FEW && !show->names;
    for (size_t i = 0; i < item->count; i++)
        if (!together || !lone(item->libraries[i])) write_library(out, item->libraries[i], show);
    if (together) write_lone(out, item, show);
}

void nk_scan_write_text(struct nk_buf *out, const struct nk_scan *scan, const struct nk_scan_show *show)
{
    for (size_t i = 0; i < scan->count; i++) write_item(out, scan->items[i], show);
    if (out->size && scan->others) nk_buf_text(out, "\n");
    if (scan->others || !scan->count) nk_scan_count(out, scan->others, "other file", "other files");
    if (scan->others || !scan->count) nk_buf_text(out, " without GPU code\n");
}
