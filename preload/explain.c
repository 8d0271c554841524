// explain.c - what explains a failure and may be gone when somebody reads the recording.
//
// Runs once for each failing kernel or container, with the recording's lock held; the look at the whole process runs
// once. Everything here is read from files and from images that the driver has seen; nothing is loaded or executed.
#define _GNU_SOURCE
#include "core.h"

#include "base/file.h"
#include "contents.h"
#include "image/fatbin.h"
#include "image/find.h"
#include "image/holdings.h"
#include "image/target.h"
#include "packages/package.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// ---- the failing container

static void add_holds(struct nk_kernel *kernel, struct nk_container *container)
{
    struct nk_rec_holds record = {.kernel = kernel->id, .n = (uint32_t)container->n_images};
    unsigned char *holds = container->n_images ? nk_got(malloc(container->n_images)) : NULL;
    if (!holds) return;
    nk_holdings_of(container->holdings, kernel->name, holds, container->n_images); // what it cannot tell is UNKNOWN
    nk_writer_add(&nk_core.writer, NK_REC_HOLDS, &record, sizeof record, holds, container->n_images);
    free(holds);
}

// Kept as long as the container: the next kernel of it that fails costs nothing.
static void read_holdings(struct nk_container *container, struct nk_bytes bytes)
{
    struct nk_holdings *holdings = nk_got(malloc(sizeof *holdings));
    if (holdings) nk_holdings_read(holdings, bytes, container->n_images, NULL);
    container->holdings = holdings;
}

enum { MAX_NAMES = 64, DECODE_LIMIT = 256 << 20 };
struct names {
    uint32_t ids[MAX_NAMES], n, total;
};

static int add_name(const struct nk_kernel_view *kernel, void *user)
{
    struct names *names = user;
    if (names->n < MAX_NAMES)
        names->ids[names->n++] = nk_writer_text_n(&nk_core.writer, (const char *)kernel->name.data, kernel->name.size);
    names->total++;
    return 0;
}

// The kernels of the first image that can be read: the images of a container nearly always hold the same ones.
static void add_names(const struct nk_container *container, struct nk_bytes bytes)
{
    struct nk_fatbin walk;
    struct nk_entry_view entry;
    struct nk_unpacked memory = {0};
    struct names names = {.n = 0};
    if (nk_fatbin_begin(&walk, bytes, NULL)) return;
    while (!names.total && nk_fatbin_next(&walk, &entry, NULL) == 1)
        nk_image_kernels(&entry, &memory, DECODE_LIMIT, add_name, &names, NULL);
    nk_unpack_free(&memory);
    struct nk_rec_names record = {.container = container->id, .n = names.n, .total = names.total};
    if (names.n)
        nk_writer_add(&nk_core.writer, NK_REC_NAMES, &record, sizeof record, names.ids, names.n * sizeof *names.ids);
}

// The driver believes the header of PTX and its compiler meets the text, which is right (image/target.h). Written again
// only where they differ.
static void correct_targets(struct nk_container *container, struct nk_bytes bytes)
{
    struct nk_fatbin walk;
    struct nk_entry_view entry;
    bool lied = false;
    if (nk_fatbin_begin(&walk, bytes, NULL)) return;
    for (size_t i = 0; i < container->n_images && nk_fatbin_next(&walk, &entry, NULL) == 1; i++) {
        if (entry.image.kind == NK_KIND_CUBIN || nk_image_check_target(&entry, NULL)) continue;
        if (entry.image.flags & NK_IMAGE_TARGET_LIED) container->images[i] = entry.image;
        lied |= entry.image.flags & NK_IMAGE_TARGET_LIED;
    }
    struct nk_rec_container again = {.id = container->id, .n_images = (uint32_t)container->n_images};
    if (lied)
        nk_writer_add(&nk_core.writer, NK_REC_CONTAINER, &again, sizeof again, container->images,
                      container->n_images * sizeof *container->images);
}

static void explain_container(struct nk_kernel *kernel, struct nk_container *container)
{
    struct nk_contents contents;
    bool wants_names = !kernel && !container->names_done, wants_holds = kernel && !kernel->holds_done;
    if (!container->targets_done || wants_names || (wants_holds && !container->holdings)) {
        if (nk_contents_open(container, &contents)) return;
        if (!container->targets_done) correct_targets(container, contents.bytes);
        container->targets_done = true;
        if (wants_names) add_names(container, contents.bytes);
        if (wants_holds) read_holdings(container, contents.bytes);
        nk_contents_close(&contents);
    }
    if (wants_names) container->names_done = true;
    if (wants_holds && container->holdings) {
        add_holds(kernel, container);
        kernel->holds_done = true;
    }
}

// ---- every library of the process that carries device code

// Containers with the same list of images are one pattern: 337 containers of PyTorch's are a handful.
enum { MAX_PATTERNS = 256, MAX_IMAGES = 64, SMALL = 4096 };
struct pattern {
    struct nk_image images[MAX_IMAGES];
    uint32_t n, count, flags;
};
struct library_scan {
    struct pattern *patterns;
    uint32_t n;
    struct nk_unpacked memory;
    struct nk_bytes file;
    size_t behind; // pages of the file before it were given back
};

// The headers of PyTorch's containers lie on pages all over a gigabyte: what was read is given back as the look goes
// on, or the host would seem to need 100 MB more for a moment.
static void give_back(struct library_scan *scan, const uint8_t *at)
{
    enum { STEP = 4 << 20, PAGE = 65536 }; // a multiple of every page size
    size_t offset = (size_t)(at - scan->file.data) / PAGE * PAGE;
    if (offset < scan->behind + STEP || offset > scan->file.size) return;
    madvise((void *)(uintptr_t)(scan->file.data + scan->behind), offset - scan->behind, MADV_DONTNEED);
    scan->behind = offset;
}

static int count_kernel(const struct nk_kernel_view *kernel, void *user)
{
    (void)kernel;
    ++*(uint32_t *)user;
    return 0;
}

// A device linker's stub holds no kernel: it must not be taken for code that lacks an architecture. Stubs are small, so
// only small images are decoded.
static void count_small(struct library_scan *scan, const struct nk_entry_view *entry, struct nk_image *image)
{
    uint32_t kernels = 0;
    if (entry->payload.size > SMALL) return;
    if (!nk_image_kernels(entry, &scan->memory, 1 << 20, count_kernel, &kernels, NULL) && !kernels) image->kernels = 0;
}

static bool same_images(const struct pattern *a, const struct pattern *b)
{
    if (a->n != b->n || a->flags != b->flags) return false;
    for (uint32_t i = 0; i < a->n; i++) {
        struct nk_image x = a->images[i], y = b->images[i];
        x.size = y.size = 0;
        if (memcmp(&x, &y, sizeof x)) return false;
    }
    return true;
}

static int add_found(const struct nk_found *found, void *user)
{
    struct library_scan *scan = user;
    struct nk_fatbin walk;
    struct nk_entry_view entry;
    struct pattern *next = &scan->patterns[scan->n];
    if (nk_fatbin_begin(&walk, found->bytes, NULL)) return 0;
    memset(next, 0, sizeof *next);
    next->flags = found->flags;
    next->count = 1;
    while (next->n < MAX_IMAGES && nk_fatbin_next(&walk, &entry, NULL) == 1) {
        struct nk_image *image = &next->images[next->n++];
        *image = entry.image;
        count_small(scan, &entry, image);
        give_back(scan, entry.payload.data);
    }
    for (uint32_t i = 0; i < scan->n; i++)
        if (same_images(&scan->patterns[i], next)) {
            scan->patterns[i].count++;
            return 0;
        }
    return ++scan->n == MAX_PATTERNS - 1;
}

// Once a library; libraries without device code are never asked for.
static void add_package(uint32_t library)
{
    struct nk_package package = {.name = ""};
    char *path = nk_table_remove(&nk_core.unowned, library);
    if (!path) return;
    if (!nk_package_find(path, &package, NULL) || *package.version) {
        struct nk_rec_package record = {.library = library,
                                        .name = nk_core_text(package.name),
                                        .version = nk_core_text(package.version),
                                        .source = nk_core_text(package.source),
                                        .installer = nk_core_text(package.installer),
                                        .origin = nk_core_text(package.origin)};
        nk_writer_add(&nk_core.writer, NK_REC_PACKAGE, &record, sizeof record, NULL, 0);
    }
    free(path);
}

void nk_core_packages(void)
{
    for (uint32_t library = 1; library <= nk_core.libraries; library++)
        if (nk_table_get(&nk_core.with_code, library)) add_package(library);
}

static void add_patterns(const char *path, const struct library_scan *scan)
{
    uint32_t library = nk_core_library(path);
    for (uint32_t i = 0; i < scan->n; i++) {
        const struct pattern *pattern = &scan->patterns[i];
        struct nk_rec_container record = {.id = ++nk_core.containers,
                                          .library = library,
                                          .origin = NK_ORIGIN_SCANNED,
                                          .count = pattern->count,
                                          .n_images = pattern->n,
                                          .flags = pattern->flags};
        nk_writer_add(&nk_core.writer, NK_REC_CONTAINER, &record, sizeof record, pattern->images,
                      pattern->n * sizeof *pattern->images);
    }
    add_package(library);
}

static void scan_library(const char *path)
{
    struct nk_file file;
    struct library_scan scan = {.patterns = nk_got(calloc(MAX_PATTERNS, sizeof *scan.patterns))};
    if (scan.patterns && !nk_file_open(&file, path, NULL)) {
        scan.file = file.bytes;
        nk_find_images(file.bytes, NK_FIND_SECTIONS_ONLY, add_found, &scan, NULL);
        if (scan.n) add_patterns(path, &scan);
        nk_file_close(&file);
    }
    nk_unpack_free(&scan.memory);
    free(scan.patterns);
}

static bool read_maps(struct nk_buf *out)
{
    char page[1024];
    ssize_t got;
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    while ((got = read(fd, page, sizeof page)) > 0) nk_buf_add(out, page, (size_t)got);
    close(fd);
    return !out->failed && out->size;
}

// The path of a line of /proc/self/maps that maps a file's code, or NULL: "start-end r-xp offset dev inode   /path".
static const char *code_path(const char *line)
{
    const char *mode = strchr(line, ' '), *path = strchr(line, '/');
    return mode && path && strlen(mode) > 4 && mode[3] == 'x' ? path : NULL;
}

static void scan_process(void)
{
    struct nk_buf maps = {0};
    struct nk_table seen = {0};
    char *line, *rest = NULL;
    for (line = read_maps(&maps) ? strtok_r(maps.data, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest)) {
        const char *path = code_path(line);
        uint64_t key = path ? nk_hash_bytes(path, strlen(path)) : 0;
        if (!path || nk_table_get(&seen, key) || nk_table_put(&seen, key, &seen)) continue;
        scan_library(path);
    }
    nk_table_free(&seen);
    nk_buf_free(&maps);
}

void nk_core_explain(struct nk_kernel *kernel, struct nk_container *container)
{
    if (container) explain_container(kernel, container);
    if (nk_core.scanned) return;
    nk_core.scanned = true;
    scan_process();
}
