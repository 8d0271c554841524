// symbols.c - names for the functions of a native stack that the process itself could not name.
#define _GNU_SOURCE
#include "report/symbols.h"
#include "image/elf.h"

#include <string.h>

enum { MOST = 256 };
static const char debug_root[] = "/usr/lib/debug";

// The frames of one library that want a name.
struct wanted {
    struct nk_run_frame *frame[MOST];
    uint64_t address[MOST]; // of the call, not of what follows it
    struct nk_elf_symbol found[MOST];
    size_t count;
};

static void collect(struct nk_run *run, const struct nk_run_library *library, struct wanted *wanted)
{
    wanted->count = 0;
    for (size_t s = 0; s < run->stack_count; s++)
        for (uint32_t i = 0; i < run->stacks[s].count && wanted->count < MOST; i++) {
            struct nk_run_frame *frame = &run->stacks[s].frames[i];
            if (frame->library != library || *frame->symbol || !frame->r.offset) continue;
            wanted->found[wanted->count] = (struct nk_elf_symbol){0};
            wanted->address[wanted->count] = frame->r.offset - 1;
            wanted->frame[wanted->count++] = frame;
        }
}

static void keep(struct nk_run *run, struct wanted *wanted, enum nk_named how)
{
    for (size_t i = 0; i < wanted->count; i++) {
        struct nk_run_frame *frame = wanted->frame[i];
        const struct nk_elf_symbol *found = &wanted->found[i];
        if (*frame->symbol || !found->size || !found->name.size) continue;
        char *name = nk_run_alloc(run, found->name.size + 1);
        if (!name) return;
        memcpy(name, found->name.data, found->name.size);
        frame->symbol = name;
        frame->displacement = frame->r.offset - found->value;
        frame->named = how;
    }
}

static void mark(struct wanted *wanted, enum nk_named why)
{
    for (size_t i = 0; i < wanted->count; i++) wanted->frame[i]->named = why;
}

static bool is_build(const struct nk_elf *elf, const char *build_id)
{
    char id[NK_BUILD_ID_TEXT];
    nk_elf_build_id(elf, id);
    return !strcmp(id, build_id);
}

// True when the file has a symbol table: then nothing better will be found elsewhere.
static bool look_up(const struct nk_elf *elf, struct wanted *wanted)
{
    struct nk_elf_symbols table;
    if (nk_elf_symbols_begin(elf, NK_SHT_SYMTAB, &table, NULL)) return false;
    nk_elf_symbols_cover(&table, wanted->address, wanted->count, wanted->found);
    return true;
}

static bool try_debug(struct nk_run *run, const char *build_id, const struct nk_buf *path, struct wanted *wanted)
{
    struct nk_file file;
    struct nk_elf elf;
    if (path->failed || nk_file_open(&file, path->data, NULL)) return false;
    bool usable = !nk_elf_open(&elf, file.bytes, NULL) && is_build(&elf, build_id) && look_up(&elf, wanted);
    if (usable) keep(run, wanted, NK_NAMED_BY_DEBUG);
    nk_file_close(&file);
    return usable;
}

// The places where gdb looks ("Debugging Information in Separate Files"). By the build-id, so that no checksum of a
// file of gigabytes is needed.
static void separate(struct nk_run *run, const struct nk_elf *elf, const struct nk_run_library *library,
                     struct wanted *wanted)
{
    struct nk_elf_section section;
    struct nk_bytes link, name;
    struct nk_buf path = {0};
    const char *id = library->build_id, *slash = strrchr(library->path, '/');
    if (strlen(id) < 4 || !slash) return;
    nk_buf_format(&path, "%s/.build-id/%.2s/%s.debug", debug_root, id, id + 2);
    bool done = try_debug(run, id, &path, wanted);
    if (!nk_elf_find_name(elf, ".gnu_debuglink", &section) || !nk_elf_contents(elf, &section, &link) ||
        !nk_bytes_string(link, 0, &name) || memchr(name.data, '/', name.size))
        done = true;
    for (int place = 0; place < 3 && !done; place++) {
        nk_buf_clear(&path);
        nk_buf_format(&path, "%s%.*s%s/", place == 2 ? debug_root : "", (int)(slash - library->path), library->path,
                      place == 1 ? "/.debug" : "");
        nk_buf_add(&path, name.data, name.size);
        done = try_debug(run, id, &path, wanted);
    }
    nk_buf_free(&path);
}

static void name_frames(struct nk_run *run, const struct nk_run_library *library, struct wanted *wanted)
{
    struct nk_file file;
    struct nk_elf elf;
    if (nk_file_open(&file, library->path, NULL)) {
        mark(wanted, NK_NAMED_GONE);
        return;
    }
    if (nk_elf_open(&elf, file.bytes, NULL) || !is_build(&elf, library->build_id))
        mark(wanted, NK_NAMED_CHANGED);
    else if (look_up(&elf, wanted))
        keep(run, wanted, NK_NAMED_BY_FILE);
    else
        separate(run, &elf, library, wanted);
    nk_file_close(&file);
}

void nk_symbols_name(struct nk_run *run)
{
    struct wanted *wanted = NULL;
    for (size_t i = 0; run->stack_count && i < run->library_count; i++) {
        if (!wanted && !(wanted = nk_run_alloc(run, sizeof *wanted))) return;
        collect(run, &run->libraries[i], wanted);
        if (wanted->count) name_frames(run, &run->libraries[i], wanted);
    }
}
