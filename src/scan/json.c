// json.c - a scan as JSON, of the schema "nokernel-scan/1".
#define _GNU_SOURCE
#include "scan/json.h"
#include "base/json_text.h"
#include "image/kernels.h"
#include "scan/words.h"

#include <stdlib.h>
#include <string.h>

// ---- values

static json_t *buf(struct nk_buf *from)
{
    json_t *value = nk_json_text(from->data ? from->data : "");
    nk_buf_free(from);
    return value;
}

json_t *nk_scan_json_path(const char *from, const struct nk_scan_show *show)
{
    struct nk_buf out = {0};
    nk_scan_shown(&out, from, show->full_paths);
    return buf(&out);
}

static json_t *number(uint64_t value) { return json_integer((json_int_t)(value > INT64_MAX ? INT64_MAX : value)); }

static void put(json_t *object, const char *key, json_t *value) { json_object_set_new(object, key, value); }

// ---- what a library has

static json_t *arch_name(const struct nk_scan_arch *arch)
{
    struct nk_buf out = {0};
    struct nk_scan_arch plain = *arch;
    // The list says what kind it is.
    if (plain.kind == NK_KIND_PTX_LINK) plain.kind = NK_KIND_PTX;
    if (plain.kind != NK_KIND_PTX) plain.kind = NK_KIND_CUBIN;
    nk_scan_arch_text(&out, &plain, false);
    return buf(&out);
}

static bool ptx(uint16_t kind) { return kind == NK_KIND_PTX || kind == NK_KIND_PTX_LINK; }

// Images of one kind in the places whose bits are set.
static json_t *archs(const struct nk_scan_sum *sum, uint16_t kind, unsigned places)
{
    json_t *list = json_array();
    for (size_t i = 0; i < sum->arch_count; i++) {
        const struct nk_scan_arch *arch = &sum->archs[i];
        if (arch->kind != kind || !(places & 1u << arch->where)) continue;
        json_t *entry = json_object();
        put(entry, "arch", arch_name(arch));
        if (ptx(kind)) put(entry, "isa", json_sprintf("%u.%u", arch->isa_major, arch->isa_minor));
        put(entry, "images", number(arch->images));
        if (kind == NK_KIND_CUBIN) put(entry, "hollow", number(arch->hollow));
        if (ptx(kind)) put(entry, "header_lies", number(arch->lied));
        json_array_append_new(list, entry);
    }
    return list;
}

static json_t *codecs(const struct nk_scan_sum *sum)
{
    static const char *const names[] = {"stored", "lz4", "zstd", "unknown"};
    json_t *object = json_object();
    for (int i = 0; i < 4; i++)
        if (sum->codecs[i]) put(object, names[i], number(sum->codecs[i]));
    return object;
}

static json_t *sections(const struct nk_scan_library *library)
{
    json_t *list = json_array();
    struct nk_buf names = {0};
    nk_scan_sections(&names, library);
    char *rest = names.data, *name;
    while (rest && (name = strsep(&rest, " ")))
        if (*name) json_array_append_new(list, nk_json_text(name));
    nk_buf_free(&names);
    return list;
}

static json_t *place(const struct nk_scan_library *library, const struct nk_scan_sum *sum, enum nk_scan_where where)
{
    json_t *object = json_object();
    put(object, "containers", number(where == NK_SCAN_OUTSIDE ? sum->outside : sum->relocatable));
    if (where == NK_SCAN_OUTSIDE) put(object, "sections", sections(library));
    put(object, "sass", archs(sum, NK_KIND_CUBIN, 1u << where));
    put(object, "ptx", archs(sum, NK_KIND_PTX, 1u << where));
    put(object, "lto", archs(sum, NK_KIND_LTO, 1u << where));
    return object;
}

static void add_has(json_t *object, const struct nk_scan_library *library, const struct nk_scan_sum *sum)
{
    unsigned loadable = 1u << NK_SCAN_HERE | 1u << NK_SCAN_OUTSIDE;
    put(object, "sass", archs(sum, NK_KIND_CUBIN, loadable));
    put(object, "ptx", archs(sum, NK_KIND_PTX, loadable));
    put(object, "relocatable_ptx", archs(sum, NK_KIND_PTX_LINK, loadable));
    put(object, "lto", archs(sum, NK_KIND_LTO, loadable));
    put(object, "unknown_kinds", archs(sum, NK_KIND_UNKNOWN, loadable));
    put(object, "codecs", codecs(sum));
    put(object, "containers", number(sum->containers));
    if (library->unsearched) put(object, "unsearched", number(library->unsearched));
    put(object, "empty", number(sum->empty));
    put(object, "without_kernels", library->kernels_read ? number(sum->without_kernels) : json_null());
    put(object, "damaged", number(sum->damaged));
    put(object, "unread", number(sum->unread));
    put(object, "bare", number(sum->bare));
    put(object, "relocatable_sass", library->kernels_read ? number(sum->relocatable_cubins) : json_null());
    put(object, "concatenated", number(sum->concatenated));
    put(object, "debug", number(sum->debug));
    put(object, "outside", place(library, sum, NK_SCAN_OUTSIDE));
    put(object, "relocatable", place(library, sum, NK_SCAN_RELOCATABLE));
    put(object, "kernels", library->kernels_read ? number(sum->kernels) : json_null());
    put(object, "names", library->kernels_read ? number(sum->names) : json_null());
}

// ---- verdicts

static json_t *verdicts(const struct nk_scan_library *library, const struct nk_scan_show *show)
{
    json_t *object = json_object();
    for (size_t i = 0; i < show->gpus->count; i++) {
        const struct nk_scan_gpu *gpu = &show->gpus->gpu[i];
        struct nk_scan_counts counts;
        enum nk_scan_word word = nk_scan_judge(library, &gpu->target, &counts);
        json_t *entry = json_object();
        put(entry, "verdict", json_string(nk_scan_word(word)));
        put(entry, "native", number(counts.native));
        put(entry, "jit", number(counts.jit));
        put(entry, "hollow", number(counts.hollow));
        put(entry, "none", number(counts.none));
        put(entry, "unknown", number(counts.unknown));
        put(entry, "names_none", number(counts.names_none));
        put(entry, "reason", nk_json_or_null(nk_reason_key(counts.reason)));
        put(object, gpu->text, entry);
    }
    return object;
}

static json_t *held(const struct nk_scan_library *library, const struct nk_scan_shape *shape, unsigned char how)
{
    json_t *list = json_array();
    for (size_t i = shape->first; i < shape->first + shape->images; i++) {
        const struct nk_image *image = &library->shape_images[i];
        struct nk_scan_arch arch = {.kind = image->kind,
                                    .arch = image->arch,
                                    .suffix = image->suffix,
                                    .isa_major = image->isa_major,
                                    .isa_minor = image->isa_minor};
        struct nk_buf out = {0};
        if (library->holds[i] != how) continue;
        nk_scan_arch_text(&out, &arch, true);
        json_array_append_new(list, buf(&out));
    }
    return list;
}

// What is the same for all kernels of a shape: made once, shared.
static json_t *shape_says(const struct nk_scan_library *library, size_t shape, const struct nk_scan_show *show)
{
    json_t *object = json_object(), *runs = json_object(), *reasons = json_object();
    put(object, "images", held(library, &library->shapes[shape], NK_KERNEL_PRESENT));
    put(object, "hollow", held(library, &library->shapes[shape], NK_KERNEL_HOLLOW));
    for (size_t i = 0; i < show->gpus->count; i++) {
        const struct nk_scan_gpu *gpu = &show->gpus->gpu[i];
        struct nk_verdict v = nk_scan_judge_shape(library, shape, &gpu->target);
        put(runs, gpu->text, json_string(nk_runs_word(v.runs)));
        put(reasons, gpu->text, json_string(nk_reason_key(v.reason)));
    }
    put(object, "runs", runs);
    put(object, "reasons", reasons);
    return object;
}

static json_t *kernel_list(const struct nk_scan_library *library, const struct nk_scan_show *show)
{
    json_t *list = json_array();
    json_t **says = calloc(library->shape_count + 1, sizeof(json_t *));
    for (size_t i = 0; says && i < library->shape_count; i++) says[i] = shape_says(library, i, show);
    for (size_t i = 0; says && i < library->kernel_count; i++) {
        const struct nk_scan_kernel *kernel = &library->kernels[i];
        json_t *entry = json_copy(says[kernel->shape]);
        put(entry, "name", nk_json_text(nk_scan_text(library, kernel->name)));
        json_array_append_new(list, entry);
    }
    for (size_t i = 0; says && i < library->shape_count; i++) json_decref(says[i]);
    free(says);
    return list;
}

// ---- the document

static json_t *one_library(const struct nk_scan_library *library, const struct nk_scan_show *show)
{
    json_t *object = json_object();
    struct nk_scan_sum sum;
    nk_scan_sum(library, &sum);
    put(object, "path", nk_scan_json_path(library->path, show));
    put(object, "build_id", nk_json_or_null(nk_scan_text(library, library->build_id)));
    put(object, "size", number(library->size));
    put(object, "incomplete", json_boolean(library->incomplete));
    add_has(object, library, &sum);
    put(object, "verdicts", verdicts(library, show));
    if (show->names) put(object, "kernel_list", kernel_list(library, show));
    nk_scan_sum_free(&sum);
    return object;
}

// A path in it without the home directory.
static json_t *origin(const char *from, const struct nk_scan_show *show)
{
    struct nk_buf out = {0};
    if (!*from) return json_null();
    size_t kind = !strncmp(from, "file:", 5) ? 5 : !strncmp(from, "editable:", 9) ? 9 : 0;
    nk_buf_add(&out, from, kind);
    nk_scan_shown(&out, from + kind, show->full_paths);
    return buf(&out);
}

static json_t *one_item(const struct nk_scan_item *item, const struct nk_scan_show *show)
{
    json_t *object = json_object(), *libraries = json_array();
    put(object, "path", nk_scan_json_path(item->path, show));
    put(object, "package", nk_json_or_null(item->package.name));
    put(object, "version", nk_json_or_null(item->package.version));
    put(object, "source", nk_json_or_null(item->package.source));
    put(object, "installer", nk_json_or_null(item->package.installer));
    put(object, "origin", origin(item->package.origin, show));
    for (size_t i = 0; i < item->count; i++) json_array_append_new(libraries, one_library(item->libraries[i], show));
    put(object, "libraries", libraries);
    return object;
}

static json_t *finding_list(const struct nk_scan_findings *findings, const struct nk_scan_show *show)
{
    json_t *list = json_array();
    for (size_t i = 0; i < findings->count; i++) {
        const struct nk_scan_finding *f = &findings->finding[i];
        json_t *entry = json_object();
        put(entry, "rule", json_string(nk_scan_rule_word(f->rule)));
        put(entry, "gpu", f->gpu ? json_string(f->gpu->text) : json_null());
        put(entry, "package", nk_json_or_null(f->item->package.name));
        put(entry, "library", nk_scan_json_path(f->library->path, show));
        put(entry, "text", nk_json_text(f->text));
        json_array_append_new(list, entry);
    }
    return list;
}

json_t *nk_scan_json_gpus(const struct nk_scan_show *show)
{
    json_t *gpus = json_array();
    for (size_t i = 0; i < show->gpus->count; i++) {
        const struct nk_scan_gpu *gpu = &show->gpus->gpu[i];
        int driver = gpu->target.driver;
        json_t *cuda = driver ? json_sprintf("%d.%d", driver / 1000, driver % 1000 / 10) : json_null();
        json_array_append_new(gpus, json_pack("{s:s,s:o,s:o}", "name", gpu->text, "sm",
                                              json_sprintf("sm_%d", gpu->target.sm), "cuda", cuda));
    }
    return gpus;
}

json_t *nk_scan_json_problems(const struct nk_scan *scan, const struct nk_scan_show *show)
{
    json_t *problems = json_array();
    for (size_t i = 0; i < scan->problem_count; i++)
        json_array_append_new(problems, json_pack("{s:o,s:o}", "path", nk_scan_json_path(scan->problems[i].path, show),
                                                  "text", nk_json_text(scan->problems[i].text)));
    return problems;
}

static json_t *document(const struct nk_scan *scan, const struct nk_scan_show *show,
                        const struct nk_scan_findings *findings)
{
    json_t *root = json_object(), *items = json_array();
    put(root, "schema", json_string("nokernel-scan/1"));
    put(root, "tool", json_pack("{s:s,s:s}", "name", "nokernel", "version", NK_VERSION));
    for (size_t i = 0; i < scan->count; i++) json_array_append_new(items, one_item(scan->items[i], show));
    put(root, "gpus", nk_scan_json_gpus(show));
    put(root, "items", items);
    put(root, "problems", nk_scan_json_problems(scan, show));
    put(root, "findings", finding_list(findings, show));
    put(root, "other_files", number(scan->others));
    put(root, "same_files", number(scan->links));
    return root;
}

void nk_scan_write_json(struct nk_buf *out, const struct nk_scan *scan, const struct nk_scan_show *show,
                        const struct nk_scan_findings *findings)
{
    nk_json_write_document(out, document(scan, show, findings));
}
