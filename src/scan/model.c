// model.c - what a scan found: making, growing and giving back.
#define _GNU_SOURCE
#include "scan/model.h"
#include "image/elf.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void *nk_scan_grow(void *array, size_t count, size_t *room, size_t size)
{
    if (count < *room) return array;
    size_t more = *room ? *room * 2 : 8;
    void *grown = reallocarray(array, more, size);
    if (grown) *room = more;
    return grown;
}

// ---- a library

const char *nk_scan_text(const struct nk_scan_library *library, size_t text)
{
    return text && text < library->texts.size ? library->texts.data + text : "";
}

size_t nk_scan_add_text(struct nk_scan_library *library, struct nk_bytes text)
{
    if (!text.size) return 0;
    if (!library->texts.size) nk_buf_fill(&library->texts, 0, 1);
    size_t at = library->texts.size;
    nk_buf_add(&library->texts, text.data, text.size);
    nk_buf_fill(&library->texts, 0, 1);
    if (library->texts.failed) {
        library->failed = true;
        return 0;
    }
    return at;
}

struct nk_scan_library *nk_scan_library_new(const char *path)
{
    struct nk_scan_library *library = calloc(1, sizeof *library);
    if (library && !(library->path = strdup(path))) {
        free(library);
        library = NULL;
    }
    return library;
}

void nk_scan_library_identify(struct nk_scan_library *library, struct nk_bytes file)
{
    struct nk_elf elf;
    char id[NK_BUILD_ID_TEXT];
    if (!nk_elf_open(&elf, file, NULL) && elf.machine != NK_EM_CUDA && nk_elf_build_id(&elf, id))
        library->build_id = nk_scan_add_text(library, nk_bytes(id, strlen(id)));
}

void nk_scan_library_tidy(struct nk_scan_library *library)
{
    size_t kept = 0;
    for (size_t i = 0; i < library->box_count; i++) {
        const struct nk_scan_box *box = &library->boxes[i];
        bool stray = box->flags & NK_FOUND_DAMAGED && box->flags & NK_FOUND_OUTSIDE && !box->images;
        if (!stray) library->boxes[kept++] = *box;
    }
    library->box_count = kept;
}

void nk_scan_library_free(struct nk_scan_library *library)
{
    if (!library) return;
    free(library->path);
    free(library->boxes);
    free(library->images);
    free(library->kernels);
    free(library->shapes);
    free(library->shape_images);
    free(library->holds);
    nk_buf_free(&library->texts);
    nk_table_free(&library->by_shape);
    nk_table_free(&library->by_name);
    free(library->names);
    free(library);
}

// ---- items

static bool same_package(const struct nk_package *a, const struct nk_package *b)
{
    return !strcmp(a->name, b->name) && !strcmp(a->version, b->version);
}

struct nk_scan_item *nk_scan_item_get(struct nk_scan *scan, const char *path, const struct nk_package *package)
{
    // What comes one after another mostly belongs together: look from the end.
    for (size_t i = scan->count; i-- > 0;)
        if (!strcmp(scan->items[i]->path, path) && same_package(&scan->items[i]->package, package))
            return scan->items[i];
    struct nk_scan_item **items = nk_scan_grow(scan->items, scan->count, &scan->room, sizeof *items);
    struct nk_scan_item *item = items ? calloc(1, sizeof *item) : NULL;
    if (items) scan->items = items;
    if (!item || !(item->path = strdup(path))) {
        free(item);
        scan->failed = true;
        return NULL;
    }
    item->package = *package;
    return scan->items[scan->count++] = item;
}

void nk_scan_item_add(struct nk_scan *scan, struct nk_scan_item *item, struct nk_scan_library *library)
{
    struct nk_scan_library **libraries =
        item ? nk_scan_grow(item->libraries, item->count, &item->room, sizeof(struct nk_scan_library *)) : NULL;
    if (!libraries) {
        scan->failed = true;
        nk_scan_library_free(library);
        return;
    }
    item->libraries = libraries;
    item->libraries[item->count++] = library;
}

static char *one_line(const char *text)
{
    char *copy = strdup(text);
    for (char *c = copy; c && *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
    return copy;
}

void nk_scan_problem_add(struct nk_scan *scan, const char *path, const char *text)
{
    struct nk_scan_problem *more = nk_scan_grow(scan->problems, scan->problem_count, &scan->problem_room, sizeof *more);
    if (!more) {
        scan->failed = true;
        return;
    }
    scan->problems = more;
    // The sentences of lower rooms begin with the path where they know it.
    size_t size = strlen(path);
    if (!strncmp(text, path, size) && !strncmp(text + size, ": ", 2)) text += size + 2;
    struct nk_scan_problem problem = {one_line(path), one_line(text)};
    if (!problem.path || !problem.text) {
        free(problem.path);
        free(problem.text);
        scan->failed = true;
        return;
    }
    scan->problems[scan->problem_count++] = problem;
}

// ---- damage

// "~/x.whl: a/b.so", "folder/b.so", "b.so"
static void place_of(struct nk_buf *out, const struct nk_scan_item *item, const struct nk_scan_library *library)
{
    bool file = !strcmp(item->path, library->path) || *library->path == '/';
    bool slash = *item->path && item->path[strlen(item->path) - 1] == '/';
    if (!file) nk_buf_format(out, "%s%s", item->path, item->archive ? ": " : slash ? "" : "/");
    nk_buf_text(out, library->path);
}

// Was something said about it already?
static bool told(const struct nk_scan *scan, const char *path)
{
    for (size_t i = 0; i < scan->problem_count; i++)
        if (!strcmp(scan->problems[i].path, path)) return true;
    return false;
}

static void note_damage_of(struct nk_scan *scan, const struct nk_scan_item *item, const struct nk_scan_library *library)
{
    uint64_t damaged = 0, unread = 0;
    const struct nk_scan_box *first = NULL;
    for (size_t i = 0; i < library->box_count; i++) {
        const struct nk_scan_box *box = &library->boxes[i];
        damaged += (box->flags & NK_FOUND_DAMAGED) != 0;
        unread += box->unread;
        if (!first && (box->flags & NK_FOUND_DAMAGED || box->unread)) first = box;
    }
    if (!first) return;
    struct nk_buf path = {0}, text = {0};
    place_of(&path, item, library);
    if (damaged) nk_buf_format(&text, "%" PRIu64 " of %zu fat binaries damaged", damaged, library->box_count);
    if (unread)
        nk_buf_format(&text, "%s%" PRIu64 " of %zu fat binaries with images that cannot be read", damaged ? ", " : "",
                      unread, library->box_count);
    nk_buf_format(&text, ", the first at byte %" PRIu64, first->offset);
    if (path.data && text.data && !told(scan, path.data)) nk_scan_problem_add(scan, path.data, text.data);
    scan->failed |= path.failed || text.failed;
    nk_buf_free(&path);
    nk_buf_free(&text);
}

void nk_scan_note_damage(struct nk_scan *scan)
{
    for (size_t i = 0; i < scan->count; i++)
        for (size_t k = 0; k < scan->items[i]->count; k++)
            note_damage_of(scan, scan->items[i], scan->items[i]->libraries[k]);
}

static void item_free(struct nk_scan_item *item)
{
    for (size_t i = 0; i < item->count; i++) nk_scan_library_free(item->libraries[i]);
    free(item->libraries);
    free(item->path);
    free(item);
}

void nk_scan_free(struct nk_scan *scan)
{
    for (size_t i = 0; i < scan->count; i++) item_free(scan->items[i]);
    for (size_t i = 0; i < scan->problem_count; i++) {
        free(scan->problems[i].path);
        free(scan->problems[i].text);
    }
    free(scan->items);
    free(scan->problems);
    nk_table_free(&scan->seen);
    free(scan->unowned);
    *scan = (struct nk_scan){0};
}
