// model.c - reads a recording into the arrays of a run. Two walks: the first counts, so that arrays never move.
#define _GNU_SOURCE
#include "report/model.h"
#include "base/table.h"
#include "driver/results.h"
#include "report/symbols.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 16, MOST_GPUS = 256 };

struct nk_run_block {
    struct nk_run_block *older;
    size_t used, size;
    _Alignas(16) char data[];
};

void *nk_run_alloc(struct nk_run *run, size_t size)
{
    if (size > SIZE_MAX / 2) return NULL;
    size = (size + 15) & ~(size_t)15;
    struct nk_run_block *block = run->memory;
    if (!block || block->size - block->used < size) {
        size_t room = size > BLOCK ? size : BLOCK;
        block = nk_got(calloc(1, sizeof *block + room));
        if (!block) return NULL;
        block->size = room;
        block->older = run->memory;
        run->memory = block;
    }
    void *at = block->data + block->used;
    block->used += size;
    return at;
}

// Texts go to terminals: a control character in a path (C0, DEL, or C1 as UTF-8) must not move the cursor.
static const char *copy(struct nk_run *run, struct nk_bytes text)
{
    char *to = nk_run_alloc(run, text.size + 1);
    if (!to) return "";
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i], before = i ? text.data[i - 1] : 0;
        bool control = c < 32 || c == 127 || (before == 0xc2 && c >= 0x80 && c < 0xa0);
        to[i] = control ? '?' : (char)c;
        if (control && before == 0xc2) to[i - 1] = '?';
    }
    return to;
}

const char *nk_run_text(struct nk_run *run, uint32_t id)
{
    if (!id || id > run->reader.strings || !run->texts) return "";
    const char **slot = &run->texts[id];
    if (!*slot) *slot = copy(run, nk_reader_text(&run->reader, id));
    return *slot;
}

uint64_t nk_run_identity(const struct nk_run *run)
{
    const struct nk_rec_process *p = &run->process;
    uint64_t moment[2] = {p->started, p->pid};
    if (p->random) return p->random;
    // No process in it, or not even when it began: then only the bytes tell.
    return p->started ? nk_hash_bytes(moment, sizeof moment)
                      : nk_hash_bytes(run->file.bytes.data, run->file.bytes.size);
}

// The GPU of that ordinal; the only one for NK_NONE when there is one; else NULL.
static struct nk_run_gpu *gpu_of(struct nk_run *run, uint32_t ordinal)
{
    for (size_t i = 0; i < run->gpu_count; i++)
        if (run->gpus[i].r.ordinal == ordinal) return &run->gpus[i];
    return ordinal == NK_NONE && run->gpu_count == 1 ? run->gpus : NULL;
}

struct nk_target nk_run_target(const struct nk_run *run, const struct nk_run_gpu *gpu)
{
    return (struct nk_target){.sm = gpu ? (int)gpu->r.sm : 0,
                              .driver = (int)run->driver.cuda,
                              .force_ptx_jit = run->driver.jit & 1,
                              .disable_ptx_jit = run->driver.jit >> 1 & 1};
}

// Elements by id, which count from 1; NULL for unknown ids.
#define BY_ID(run, what, id) ((id) && (id) <= (run)->what##_count ? &(run)->what##s[(id)-1] : NULL)

static struct nk_run_library *library(struct nk_run *run, uint32_t id)
{
    return id && id <= run->library_count ? &run->libraries[id - 1] : NULL;
}

static const uint32_t *ids(struct nk_run *run, const struct nk_record *record, uint64_t count)
{
    uint32_t *to = nk_record_holds(record, count, sizeof *to) ? nk_run_alloc(run, count * sizeof *to) : NULL;
    if (to) nk_bytes_copy(record->tail, 0, to, count * sizeof *to);
    return to;
}

static bool take_process(struct nk_run *run, const struct nk_record *record)
{
    struct nk_rec_process p;
    nk_record_head(record, &p, sizeof p);
    const uint32_t *all = ids(run, record, (uint64_t)p.argc + p.envc);
    if (!all) p.argc = p.envc = 0;
    run->process = p;
    run->args = all;
    run->env = all ? all + p.argc : NULL;
    run->has_process = true;
    return all;
}

static bool take_gpu(struct nk_run *run, const struct nk_record *record)
{
    struct nk_rec_gpu r;
    nk_record_head(record, &r, sizeof r);
    struct nk_run_gpu *gpu = NULL;
    for (size_t i = 0; i < run->gpu_count; i++)
        if (run->gpus[i].r.ordinal == r.ordinal) gpu = &run->gpus[i];
    if (!gpu && run->gpu_count == MOST_GPUS) return false;
    if (!gpu) gpu = &run->gpus[run->gpu_count++];
    *gpu = (struct nk_run_gpu){.r = r, .name = nk_run_text(run, r.name)};
    return true;
}

static bool take_library(struct nk_run *run, const struct nk_record *record)
{
    struct nk_rec_library r;
    nk_record_head(record, &r, sizeof r);
    if (r.id != run->library_count + 1) return false;
    run->libraries[run->library_count++] = (struct nk_run_library){.id = r.id,
                                                                   .path = nk_run_text(run, r.path),
                                                                   .build_id = nk_run_text(run, r.build_id),
                                                                   .package = "",
                                                                   .version = "",
                                                                   .source = "",
                                                                   .installer = "",
                                                                   .origin = ""};
    return true;
}

static bool take_package(struct nk_run *run, const struct nk_record *record)
{
    struct nk_rec_package r;
    nk_record_head(record, &r, sizeof r);
    struct nk_run_library *owner = library(run, r.library);
    if (!owner) return false;
    owner->package = nk_run_text(run, r.name);
    owner->version = nk_run_text(run, r.version);
    owner->source = nk_run_text(run, r.source);
    owner->installer = nk_run_text(run, r.installer);
    owner->origin = nk_run_text(run, r.origin);
    return true;
}

static const struct nk_image *images(struct nk_run *run, const struct nk_record *record, uint32_t count)
{
    struct nk_image *to = nk_run_alloc(run, count * sizeof *to);
    for (uint32_t i = 0; to && i < count; i++) {
        struct nk_rec_image r = {0};
        nk_bytes_copy(record->tail, i * sizeof r, &r, sizeof r);
        to[i] =
            (struct nk_image){r.kind, r.arch, r.suffix, r.codec, r.isa_major, r.isa_minor, r.flags, r.kernels, r.size};
    }
    return to;
}

static bool take_images_again(struct nk_run *run, const struct nk_record *record, struct nk_run_container *known)
{
    const struct nk_image *better = images(run, record, (uint32_t)known->count);
    if (better) known->images = better;
    return better;
}

static bool take_container(struct nk_run *run, const struct nk_record *record)
{
    struct nk_rec_container r;
    nk_record_head(record, &r, sizeof r);
    struct nk_run_container *known = BY_ID(run, container, r.id);
    if (!nk_record_holds(record, r.n_images, sizeof(struct nk_rec_image))) return false;
    if (known) return r.n_images == known->count && take_images_again(run, record, known);
    if (r.id != run->container_count + 1) return false;
    struct nk_run_container *c = &run->containers[run->container_count++];
    *c = (struct nk_run_container){.r = r, .library = library(run, r.library), .loader = library(run, r.loader)};
    c->file = nk_run_text(run, r.file);
    c->images = images(run, record, r.n_images);
    c->count = c->images ? r.n_images : 0;
    if (r.origin == NK_ORIGIN_SCANNED && c->library) c->library->scanned = true;
    return true;
}

static bool take_load(struct nk_run *run, const struct nk_record *record)
{
    struct nk_run_load *load = &run->loads[run->load_count++];
    nk_record_head(record, &load->r, sizeof load->r);
    load->container = BY_ID(run, container, load->r.container);
    load->gpu = gpu_of(run, load->r.gpu);
    if (load->container && load->r.startup && nk_result_is_image(load->r.result)) load->container->refused = true;
    return load->container;
}

static bool take_kernel(struct nk_run *run, const struct nk_record *record)
{
    struct nk_rec_kernel r;
    nk_record_head(record, &r, sizeof r);
    if (r.id != run->kernel_count + 1) return false;
    struct nk_run_kernel *kernel = &run->kernels[run->kernel_count++];
    *kernel = (struct nk_run_kernel){.name = r.name, .container = BY_ID(run, container, r.container)};
    kernel->gpu = gpu_of(run, r.gpu);
    kernel->launches = r.counter; // resolved at the end, when all blocks of counters are known
    return true;
}

static bool take_holds(struct nk_run *run, const struct nk_record *record)
{
    struct nk_rec_holds r;
    nk_record_head(record, &r, sizeof r);
    struct nk_run_kernel *kernel = BY_ID(run, kernel, r.kernel);
    if (!kernel || !kernel->container || kernel->container->count != r.n || !nk_record_holds(record, r.n, 1))
        return false;
    unsigned char *holds = nk_run_alloc(run, r.n);
    if (!holds) return false;
    nk_bytes_copy(record->tail, 0, holds, r.n);
    for (uint32_t i = 0; i < r.n; i++)
        if (holds[i] > NK_HOLD_UNKNOWN) holds[i] = NK_HOLD_UNKNOWN;
    kernel->holds = holds;
    return true;
}

static bool take_names(struct nk_run *run, const struct nk_record *record)
{
    struct nk_rec_names r;
    nk_record_head(record, &r, sizeof r);
    struct nk_run_container *c = BY_ID(run, container, r.container);
    const uint32_t *names = c ? ids(run, record, r.n) : NULL;
    if (!names) return false;
    c->names = names;
    c->names_count = r.n;
    c->names_total = r.total > r.n ? r.total : r.n;
    return true;
}

static bool take_failure(struct nk_run *run, const struct nk_record *record)
{
    struct nk_run_failure f = {0};
    nk_record_head(record, &f.r, sizeof f.r);
    if (f.r.id != run->failure_count + 1) return false;
    f.kernel = BY_ID(run, kernel, f.r.kernel);
    f.container = BY_ID(run, container, f.r.container);
    if (!f.container && f.kernel) f.container = f.kernel->container;
    f.library = library(run, f.r.library);
    f.gpu = gpu_of(run, f.r.gpu);
    f.stack = BY_ID(run, stack, f.r.stack);
    f.python = BY_ID(run, python, f.r.python);
    f.graph = BY_ID(run, graph, f.r.graph);
    run->failures[run->failure_count++] = f;
    return true;
}

static bool take_stack(struct nk_run *run, const struct nk_record *record)
{
    struct nk_rec_stack r;
    nk_record_head(record, &r, sizeof r);
    if (r.id != run->stack_count + 1 || !nk_record_holds(record, r.n, sizeof(struct nk_rec_frame))) return false;
    struct nk_run_frame *frames = nk_run_alloc(run, r.n * sizeof *frames);
    if (!frames) return false;
    for (uint32_t i = 0; i < r.n; i++) {
        nk_bytes_copy(record->tail, i * sizeof frames[i].r, &frames[i].r, sizeof frames[i].r);
        frames[i].library = library(run, frames[i].r.library);
        frames[i].symbol = nk_run_text(run, frames[i].r.symbol);
        frames[i].displacement = frames[i].r.displacement;
        frames[i].named = frames[i].r.symbol ? NK_NAMED_BY_PROCESS : NK_NAMED_NOT;
    }
    run->stacks[run->stack_count++] = (struct nk_run_stack){frames, r.n};
    return true;
}

static bool take_python(struct nk_run *run, const struct nk_record *record)
{
    struct nk_rec_python r;
    nk_record_head(record, &r, sizeof r);
    if (r.id != run->python_count + 1 || !nk_record_holds(record, r.n, sizeof(struct nk_rec_python_frame)))
        return false;
    struct nk_run_python_frame *frames = nk_run_alloc(run, r.n * sizeof *frames);
    if (!frames) return false;
    for (uint32_t i = 0; i < r.n; i++) {
        struct nk_rec_python_frame f = {0};
        nk_bytes_copy(record->tail, i * sizeof f, &f, sizeof f);
        frames[i] = (struct nk_run_python_frame){nk_run_text(run, f.file), nk_run_text(run, f.function), f.line};
    }
    run->pythons[run->python_count++] = (struct nk_run_python){frames, r.n};
    return true;
}

static bool take_graph(struct nk_run *run, const struct nk_record *record)
{
    struct nk_rec_graph r;
    nk_record_head(record, &r, sizeof r);
    if (r.id != run->graph_count + 1 || !nk_record_holds(record, r.n, sizeof(struct nk_rec_graph_kernel))) return false;
    struct nk_run_graph_kernel *kernels = nk_run_alloc(run, r.n * sizeof *kernels);
    if (!kernels) return false;
    for (uint32_t i = 0; i < r.n; i++) {
        struct nk_rec_graph_kernel k = {0};
        nk_bytes_copy(record->tail, i * sizeof k, &k, sizeof k);
        kernels[i] = (struct nk_run_graph_kernel){BY_ID(run, kernel, k.kernel), k.nodes};
    }
    run->graphs[run->graph_count++] = (struct nk_run_graph){r.nodes, r.n, kernels};
    return true;
}

static bool take_trail(struct nk_run *run, const struct nk_record *record)
{
    struct nk_run_trail t = {0};
    nk_record_head(record, &t.r, sizeof t.r);
    if (!t.r.failure || t.r.failure > run->failure_count ||
        !nk_record_holds(record, t.r.n, sizeof(struct nk_rec_trail_launch)))
        return false;
    struct nk_run_launch *launches = nk_run_alloc(run, t.r.n * sizeof *launches);
    if (!launches) return false;
    for (uint32_t i = 0; i < t.r.n; i++) {
        struct nk_rec_trail_launch l = {0};
        nk_bytes_copy(record->tail, i * sizeof l, &l, sizeof l);
        launches[i] =
            (struct nk_run_launch){l.number, l.thread, BY_ID(run, kernel, l.kernel), BY_ID(run, graph, l.graph)};
    }
    t.launches = launches;
    t.gpu = gpu_of(run, t.r.gpu);
    run->trails[run->trail_count++] = t;
    return true;
}

static bool take_place(struct nk_run *run, const struct nk_record *record)
{
    struct nk_run_place *place = &run->places[run->place_count];
    nk_record_head(record, &place->r, sizeof place->r);
    place->stack = BY_ID(run, stack, place->r.stack);
    place->python = BY_ID(run, python, place->r.python);
    const struct nk_run_failure *failure = BY_ID(run, failure, place->r.failure);
    run->place_count += failure != NULL;
    return failure != NULL;
}

static bool take_surfaced(struct nk_run *run, const struct nk_record *record)
{
    struct nk_run_surfaced *s = &run->surfaced[run->surfaced_count];
    nk_record_head(record, &s->r, sizeof s->r);
    struct nk_run_failure *failure = BY_ID(run, failure, s->r.failure);
    if (!failure) return false;
    s->library = library(run, s->r.library);
    if (!failure->surfaced) failure->surfaced = s;
    run->surfaced_count++;
    return true;
}

static bool take_note(struct nk_run *run, const struct nk_record *record)
{
    struct nk_rec_note r;
    nk_record_head(record, &r, sizeof r);
    run->notes[run->note_count++] = r.text;
    return true;
}

static bool take(struct nk_run *run, const struct nk_record *record)
{
    switch (record->type) {
    case NK_REC_PROCESS:
        return take_process(run, record);
    case NK_REC_DRIVER:
        return nk_record_head(record, &run->driver, sizeof run->driver), true;
    case NK_REC_GPU:
        return take_gpu(run, record);
    case NK_REC_LIBRARY:
        return take_library(run, record);
    case NK_REC_PACKAGE:
        return take_package(run, record);
    case NK_REC_CONTAINER:
        return take_container(run, record);
    case NK_REC_LOAD:
        return take_load(run, record);
    case NK_REC_KERNEL:
        return take_kernel(run, record);
    case NK_REC_HOLDS:
        return take_holds(run, record);
    case NK_REC_NAMES:
        return take_names(run, record);
    case NK_REC_FAILURE:
        return take_failure(run, record);
    case NK_REC_STACK:
        return take_stack(run, record);
    case NK_REC_PYTHON:
        return take_python(run, record);
    case NK_REC_GRAPH:
        return take_graph(run, record);
    case NK_REC_TRAIL:
        return take_trail(run, record);
    case NK_REC_SURFACED:
        return take_surfaced(run, record);
    case NK_REC_PLACE:
        return take_place(run, record);
    case NK_REC_EXIT:
        return nk_record_head(record, &run->exit, sizeof run->exit), run->has_exit = true;
    case NK_REC_NOTE:
        return take_note(run, record);
    case NK_REC_PASSED:
        return nk_record_head(record, &run->passed[run->passed_count++], sizeof *run->passed), true;
    default:
        return true; // of a newer writer
    }
}

static bool make_room(struct nk_run *run, const size_t n[])
{
    run->texts = nk_run_alloc(run, (run->reader.strings + 1) * sizeof *run->texts);
    run->gpus = nk_run_alloc(run, n[NK_REC_GPU] * sizeof *run->gpus);
    run->libraries = nk_run_alloc(run, n[NK_REC_LIBRARY] * sizeof *run->libraries);
    run->containers = nk_run_alloc(run, n[NK_REC_CONTAINER] * sizeof *run->containers);
    run->loads = nk_run_alloc(run, n[NK_REC_LOAD] * sizeof *run->loads);
    run->kernels = nk_run_alloc(run, n[NK_REC_KERNEL] * sizeof *run->kernels);
    run->stacks = nk_run_alloc(run, n[NK_REC_STACK] * sizeof *run->stacks);
    run->pythons = nk_run_alloc(run, n[NK_REC_PYTHON] * sizeof *run->pythons);
    run->failures = nk_run_alloc(run, n[NK_REC_FAILURE] * sizeof *run->failures);
    run->places = nk_run_alloc(run, n[NK_REC_PLACE] * sizeof *run->places);
    run->surfaced = nk_run_alloc(run, n[NK_REC_SURFACED] * sizeof *run->surfaced);
    run->graphs = nk_run_alloc(run, n[NK_REC_GRAPH] * sizeof *run->graphs);
    run->trails = nk_run_alloc(run, n[NK_REC_TRAIL] * sizeof *run->trails);
    run->passed = nk_run_alloc(run, n[NK_REC_PASSED] * sizeof *run->passed);
    run->notes = nk_run_alloc(run, n[NK_REC_NOTE] * sizeof *run->notes);
    return run->texts && run->gpus && run->libraries && run->containers && run->loads && run->kernels && run->stacks &&
           run->pythons && run->failures && run->places && run->surfaced && run->graphs && run->trails && run->notes &&
           run->passed;
}

static void count_up(struct nk_run *run)
{
    for (size_t i = 0; i < run->kernel_count; i++) {
        uint32_t counter = (uint32_t)run->kernels[i].launches;
        run->kernels[i].launches = 0;
        nk_reader_counter(&run->reader, counter, &run->kernels[i].launches);
    }
    for (size_t i = 0; i < run->failure_count; i++) {
        struct nk_run_failure *f = &run->failures[i];
        nk_reader_counter(&run->reader, f->r.counter, &f->count);
        if (!f->count) f->count = 1; // the record itself stands for one
    }
}

enum { TYPES = NK_REC_PLACE + 1 };

// The process may still be writing: only what the first walk counted is taken, so that no array runs over.
static int fill(struct nk_run *run, struct nk_err *err)
{
    size_t count[TYPES] = {0}, taken[TYPES] = {0};
    struct nk_record record;
    while (nk_reader_next(&run->reader, &record))
        if (record.type < TYPES) count[record.type]++;
    if (!make_room(run, count)) return nk_fail(err, NK_ERR_MEMORY, "%s: not enough memory for it", run->path);
    bool cut = run->reader.cut;
    nk_reader_rewind(&run->reader);
    while (nk_reader_next(&run->reader, &record)) {
        if (record.type < TYPES && taken[record.type]++ == count[record.type]) break;
        if (!take(run, &record)) run->reader.skipped++;
    }
    run->reader.cut = cut;
    count_up(run);
    return 0;
}

int nk_run_read(struct nk_run *run, const char *path, struct nk_err *err)
{
    *run = (struct nk_run){0};
    char *whole = realpath(path, NULL);
    if (nk_file_read(&run->file, path, err) || nk_reader_open(&run->reader, run->file.bytes, path, err)) {
        free(whole);
        return -1;
    }
    run->path = copy(run, nk_bytes(whole ? whole : path, strlen(whole ? whole : path)));
    free(whole);
    return fill(run, err);
}

int nk_run_open(struct nk_run *run, const char *path, struct nk_err *err)
{
    if (nk_run_read(run, path, err)) return -1;
    nk_symbols_name(run);
    return 0;
}

void nk_run_free(struct nk_run *run)
{
    while (run->memory) {
        struct nk_run_block *older = run->memory->older;
        free(run->memory);
        run->memory = older;
    }
    nk_reader_close(&run->reader);
    nk_file_close(&run->file);
    *run = (struct nk_run){0};
}
