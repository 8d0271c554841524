// held.c - the names of all kernels in the libraries of a recording.
#include "cli/held.h"
#include "base/file.h"
#include "cli/progress.h"
#include "image/elf.h"
#include "scan/walk.h"

#include <string.h>
#include <unistd.h>

// Is the file there, and what it was?
static bool same(const struct nk_exercised_library *library)
{
    struct nk_file file;
    struct nk_elf elf;
    char id[NK_BUILD_ID_TEXT] = "";
    if (nk_file_open(&file, library->path, NULL)) return false;
    bool known = !nk_elf_open(&elf, file.bytes, NULL) && nk_elf_build_id(&elf, id);
    nk_file_close(&file);
    return !*library->build_id || (known && !strcmp(id, library->build_id));
}

static void hold(struct nk_exercised *e, size_t index, const struct nk_scan *scan)
{
    for (size_t i = 0; i < scan->count; i++)
        for (size_t k = 0; k < scan->items[i]->count; k++) {
            const struct nk_scan_library *library = scan->items[i]->libraries[k];
            for (size_t n = 0; n < library->kernel_count; n++)
                nk_exercised_hold(e, index, nk_scan_text(library, library->kernels[n].name));
        }
    e->libraries[index].read = !scan->problem_count && !scan->failed;
    e->failed |= scan->failed;
}

void nk_held_read(struct nk_exercised *e)
{
    struct nk_progress progress;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int threads = processors > 16 ? 16 : processors < 1 ? 1 : (int)processors;
    struct nk_scan_options how = {.how = {.kernels = true, .threads = threads}};
    nk_progress_start(&progress, STDERR_FILENO);
    for (size_t i = 1; i < e->library_count && !e->failed; i++) {
        struct nk_scan scan = {0};
        nk_progress_tell(&progress, e->libraries[i].path, i, e->library_count);
        if (same(&e->libraries[i])) {
            nk_scan_path(&scan, e->libraries[i].path, &how);
            hold(e, i, &scan);
        }
        nk_scan_free(&scan);
    }
    nk_progress_end(&progress);
}
