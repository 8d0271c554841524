// stream.c - device code in a file that passes by once: a window over it, containers found by their key, images read
// one by one as soon as they are whole.
#include "scan/stream.h"
#include "image/elf.h"
#include "image/fatbin.h"
#include "image/sign.h"
#include "scan/box.h"
#include "scan/crew.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define STEP        (1u << 20)  // bytes that are read at a time: they are searched while they are in the cache
#define RETAIN      (2u << 20)  // bytes that stay near the end, where the names of sections are
#define LARGE       (16u << 20) // of a window
#define TABLE_LIMIT (4u << 20)  // bytes of section headers that are kept
#define NAMES_REACH (32u << 10) // bytes that are kept on either side of what may be a section's name
#define LATE        (8u << 20)  // bytes of PTX that wait to be decoded
enum { BOXES = 32 };            // containers that do
enum { NAMES_KEPT = 8, ALL_SIGNS = NK_SIGN_CONTAINER | NK_SIGN_CUBIN | NK_SIGN_NAME };

// Bytes that may be a table of section names: they hold the name of the one section that matters.
struct kept {
    uint64_t at;
    size_t size;
    uint8_t *data;
};

struct window {
    nk_stream_read read;
    void *user;
    struct nk_err *err;
    uint8_t *data;
    size_t size, capacity;
    uint64_t base; // where data[0] lies in the file
    bool ended, failed;
    bool alone; // holds `large`
    // Section headers, copied when they pass.
    uint64_t table_at;
    size_t table_size;
    uint8_t *table;
    // Section names may stand long before them: behind them lld writes all symbol names. The last of these are kept.
    struct kept kept[NAMES_KEPT];
    size_t kept_count;
};

// ---- the window

static void save_table(struct window *w, size_t bytes)
{
    uint64_t start = w->base > w->table_at ? w->base : w->table_at;
    uint64_t end = w->base + bytes, table_end = w->table_at + w->table_size;
    if (end > table_end) end = table_end;
    if (w->table && start < end)
        memcpy(w->table + (start - w->table_at), w->data + (start - w->base), (size_t)(end - start));
}

static void drop(struct window *w, size_t bytes)
{
    save_table(w, bytes);
    memmove(w->data, w->data + bytes, w->size - bytes);
    w->size -= bytes;
    w->base += bytes;
}

// Bytes before `at` that have to stay: each costs a copy at every step.
static uint64_t retained(const struct window *w, uint64_t at)
{
    if (!w->table) return NK_FATBIN_HEADER; // read_entry
    uint64_t names = w->table_at > RETAIN ? w->table_at - RETAIN : 0, past = at > names ? at - names : 0;
    return past > RETAIN ? RETAIN : past > NAMES_REACH ? past : NAMES_REACH;
}

static bool fail(struct window *w, const char *sentence)
{
    nk_fail(w->err, NK_ERR_MEMORY, "%s", sentence);
    w->failed = w->ended = true;
    return false;
}

// Several members may pass by at once, but memory has a bound: of large windows there is one at a time.
static pthread_mutex_t large = PTHREAD_MUTEX_INITIALIZER;

static bool make_room(struct window *w, size_t wanted)
{
    if (wanted <= w->capacity) return true;
    if (wanted > LARGE && !w->alone) {
        pthread_mutex_lock(&large);
        w->alone = true;
    }
    uint8_t *more = realloc(w->data, wanted);
    if (!more) return fail(w, "not enough memory for an image in it");
    w->data = more;
    w->capacity = wanted;
    return true;
}

// Makes the bytes [at, at + size) available; false when the file ends before, or cannot be read.
static bool ensure(struct window *w, uint64_t at, uint64_t size)
{
    uint64_t end = at - w->base + size;
    if (end <= w->size) return true;
    if (w->ended) return false;
    size_t behind = (size_t)(at - w->base) < w->size ? (size_t)(at - w->base) : w->size;
    uint64_t stay = retained(w, at);
    if (behind > stay + STEP / 2) {
        drop(w, (size_t)(behind - stay));
        end = at - w->base + size;
    }
    // Room for a step more than is wanted, so that it is not made anew for each few bytes.
    if (end + STEP / 2 > w->capacity && !make_room(w, (size_t)end + STEP)) return false;
    size_t most = w->capacity < end + STEP ? w->capacity : (size_t)end + STEP;
    while (w->size < end && !w->ended) {
        int64_t got = w->read(w->user, w->data + w->size, most - w->size, w->err);
        if (got < 0) w->failed = true;
        if (got <= 0)
            w->ended = true;
        else
            w->size += (size_t)got;
    }
    return w->size >= end;
}

// A view of what is there from `at` on.
static struct nk_bytes from(const struct window *w, uint64_t at)
{
    return nk_bytes(w->data + (at - w->base), w->size - (size_t)(at - w->base));
}

// ---- containers

// A container whose images were all read, but for what may wait.
struct waiting {
    struct pass *pass;
    struct nk_box box;
    struct nk_task task;
    bool offered;
    size_t bytes; // of PTX
};

struct pass {
    struct window w;
    struct nk_scan_library *library;
    const struct nk_worker *worker;
    int number;                              // of this thread
    struct nk_box_tools tools[NK_CREW_MOST]; // of each thread
    struct waiting waiting[BOXES];           // box i lies in waiting[i % BOXES]
    uint64_t begun, ended;                   // boxes
    bool damaged;                            // the container before, behind entries that were good
    size_t late;                             // bytes of PTX that wait in them
};

static struct nk_box *begin_box(struct pass *pass, uint64_t at, enum nk_found_kind kind)
{
    struct nk_box *box = &pass->waiting[pass->begun % BOXES].box;
    nk_box_begin(box, &(struct nk_found){.offset = at, .kind = kind});
    return box;
}

static void close_box(void *user, int number)
{
    struct waiting *waiting = user;
    nk_box_close(&waiting->box, &waiting->pass->tools[number]);
}

static void end_oldest(struct pass *pass)
{
    struct waiting *waiting = &pass->waiting[pass->ended++ % BOXES];
    if (waiting->offered) {
        pass->late -= waiting->bytes;
        nk_crew_finish(pass->worker, &waiting->task);
    }
    nk_box_end(&waiting->box, pass->library);
}

// PTX that is left for the end of its container was copied: another thread may decode it as well as this one. (On the
// onnxruntime-gpu 1.27 wheel with two threads, one of which inflates most of the time: 0.39 s -> 0.37 s.)
static void end_box(struct pass *pass)
{
    struct waiting *waiting = &pass->waiting[pass->begun++ % BOXES];
    waiting->pass = pass;
    waiting->task = (struct nk_task){.work = close_box, .user = waiting};
    waiting->bytes = waiting->box.late_bytes;
    waiting->offered = waiting->bytes && pass->worker && nk_crew_offer(pass->worker->crew, &waiting->task);
    if (waiting->offered)
        pass->late += waiting->bytes;
    else
        close_box(waiting, pass->number);
    while (pass->ended < pass->begun) {
        bool full = pass->begun == pass->ended + BOXES || pass->late > LATE;
        if (pass->waiting[pass->ended % BOXES].offered && !full) break;
        end_oldest(pass);
    }
    if (pass->ended == pass->begun) pass->ended = pass->begun = 0; // the memory of one box is enough
}

// Reads the entry at `at` of a container. The 16 bytes before it, which were read already, become the header of a
// container of its own, so that the one reader of containers serves here too.
static bool read_entry(struct pass *pass, struct nk_box *box, uint64_t at, uint64_t size)
{
    uint8_t saved[NK_FATBIN_HEADER];
    struct window *w = &pass->w;
    uint8_t *header = w->data + (at - NK_FATBIN_HEADER - w->base);
    struct nk_fatbin walk;
    struct nk_entry_view entry;
    memcpy(saved, header, sizeof saved);
    memcpy(header, NK_FATBIN_KEY, NK_FATBIN_KEY_SIZE);
    for (int i = 0; i < 8; i++) header[8 + i] = (uint8_t)(size >> 8 * i);
    int result = nk_fatbin_begin(&walk, nk_bytes(header, (size_t)size + NK_FATBIN_HEADER), NULL) ? -1 : 1;
    while (result == 1 && (result = nk_fatbin_next(&walk, &entry, NULL)) == 1)
        nk_box_image(box, &entry, &pass->tools[pass->number]);
    memcpy(header, saved, sizeof saved);
    return !result;
}

// Bytes of the entry at `at`, at most `left`; 0 when its header lies.
static uint64_t entry_size(struct window *w, uint64_t at, uint64_t left)
{
    uint32_t header;
    uint64_t stored;
    if (!ensure(w, at, 16) || !nk_bytes_u32(from(w, at), 4, &header) || !nk_bytes_u64(from(w, at), 8, &stored))
        return 0;
    return header >= 64 && stored <= NK_STREAM_IMAGE && header + stored <= left ? header + stored : 0;
}

// Returns where the search goes on.
static uint64_t read_container(struct pass *pass, uint64_t at)
{
    uint64_t claimed;
    struct window *w = &pass->w;
    struct nk_box *box = begin_box(pass, at, NK_FOUND_CONTAINER);
    uint64_t next = at + NK_FATBIN_HEADER;
    bool good = ensure(w, at, NK_FATBIN_HEADER) && nk_bytes_u64(from(w, at), 8, &claimed) && claimed < UINT64_MAX / 2;
    for (uint64_t end = good ? next + claimed : 0; good && next < end && !box->failed;) {
        uint64_t size = entry_size(w, next, end - next);
        // The 16 bytes before an entry have to be there as well: read_entry needs them.
        good = size && ensure(w, next - NK_FATBIN_HEADER, size + NK_FATBIN_HEADER) && read_entry(pass, box, next, size);
        if (good) next += size;
    }
    if (!good) box->flags |= NK_FOUND_DAMAGED;
    pass->damaged = !good && next > at + NK_FATBIN_HEADER;
    end_box(pass);
    return next;
}

static uint64_t read_cubin(struct pass *pass, uint64_t at)
{
    struct window *w = &pass->w;
    struct nk_fatbin walk;
    struct nk_entry_view entry;
    uint64_t extent = 64, before = 0;
    while (extent > before && extent <= NK_STREAM_IMAGE && ensure(w, at, extent)) {
        before = extent;
        extent = nk_elf_extent(from(w, at));
    }
    bool whole = extent && extent <= NK_STREAM_IMAGE && ensure(w, at, extent);
    struct nk_box *box = begin_box(pass, at, NK_FOUND_CUBIN);
    if (whole && !nk_fatbin_begin(&walk, nk_bytes(from(w, at).data, (size_t)extent), NULL) &&
        nk_fatbin_next(&walk, &entry, NULL) == 1)
        nk_box_image(box, &entry, &pass->tools[pass->number]);
    else
        box->flags |= NK_FOUND_DAMAGED;
    end_box(pass);
    return at + (whole ? extent : 1);
}

// ---- the search

// Keeps the bytes around a name of the section of fat binaries.
static void keep_names(struct window *w, uint64_t at)
{
    struct kept *kept = &w->kept[w->kept_count++ % NAMES_KEPT];
    ensure(w, at, NAMES_REACH);
    uint64_t start = at - w->base > NAMES_REACH ? at - NAMES_REACH : w->base;
    size_t size = (size_t)(w->base + w->size - start);
    if (size > 2 * NAMES_REACH) size = 2 * NAMES_REACH;
    free(kept->data);
    *kept = (struct kept){.at = start, .data = malloc(size)};
    if (!kept->data) return;
    kept->size = size;
    memcpy(kept->data, w->data + (start - w->base), size);
}

// Searches one stretch of the window: [at, to) plus the few bytes that a sign at its end needs. Returns where to go on.
static uint64_t search(struct pass *pass, uint64_t at, uint64_t to)
{
    enum nk_sign sign;
    at += nk_sign_next(from(&pass->w, at), 0, to - at, ALL_SIGNS, &sign);
    switch (sign) {
    case NK_SIGN_CONTAINER:
        return read_container(pass, at);
    case NK_SIGN_CUBIN: // what is left of a damaged container is no image of its own
        return pass->damaged ? at + 1 : read_cubin(pass, at);
    case NK_SIGN_NAME:
        if (pass->w.table) keep_names(&pass->w, at);
        return at + 1;
    default:
        return at;
    }
}

static void search_all(struct pass *pass, uint64_t at)
{
    struct window *w = &pass->w;
    for (;;) {
        ensure(w, at, NK_SIGN_BYTES + 1); // false at the end of the file
        uint64_t end = w->base + w->size;
        if (at >= end || pass->library->failed) return;
        // The last bytes wait for what follows, unless nothing does.
        uint64_t to = w->ended ? end : end - NK_SIGN_BYTES;
        at = search(pass, at, to > at ? to : end);
    }
}

// ---- sections

static void learn_table(struct window *w, struct nk_elf *elf)
{
    uint16_t size, count;
    uint64_t at;
    if (!ensure(w, 0, 64) || !nk_bytes_starts(from(w, 0), "\177ELF\2\1", 6)) return;
    if (nk_elf_open(elf, nk_bytes(w->data, 64), NULL) || elf->machine == NK_EM_CUDA) return;
    if (!nk_bytes_u64(from(w, 0), 40, &at) || !nk_bytes_u16(from(w, 0), 58, &size) ||
        !nk_bytes_u16(from(w, 0), 60, &count) || size != 64 || !count || !at)
        return;
    w->table_at = at;
    w->table_size = (size_t)size * count <= TABLE_LIMIT ? (size_t)size * count : 0;
    w->table = calloc(1, w->table_size ? w->table_size : 1);
}

// The name of the section around `offset`; empty when there is none or its name has passed by.
static struct nk_bytes section_at(const struct window *w, struct nk_bytes names, uint64_t offset, bool *found)
{
    struct nk_bytes table = nk_bytes(w->table, w->table_size), name = {0};
    *found = false;
    for (uint64_t at = 0; at + 64 <= table.size; at += 64) {
        uint32_t name_at = 0, type = 0;
        uint64_t start = 0, size = 0;
        nk_bytes_u32(table, at, &name_at);
        nk_bytes_u32(table, at + 4, &type);
        nk_bytes_u64(table, at + 24, &start);
        nk_bytes_u64(table, at + 32, &size);
        if (type == NK_SHT_NOBITS || !type || offset < start || offset - start >= size) continue;
        *found = nk_bytes_string(names, name_at, &name);
        break;
    }
    return name;
}

static struct nk_bytes section_names(const struct window *w, uint16_t index)
{
    uint64_t start = 0, size = 0;
    struct nk_bytes table = nk_bytes(w->table, w->table_size), names = {0};
    if (!nk_bytes_u64(table, 64ull * index + 24, &start) || !nk_bytes_u64(table, 64ull * index + 32, &size))
        return names;
    if (start >= w->base && nk_bytes_part(nk_bytes(w->data, w->size), start - w->base, size, &names)) return names;
    for (size_t i = 0; i < NAMES_KEPT; i++) {
        const struct kept *kept = &w->kept[i];
        if (start >= kept->at && nk_bytes_part(nk_bytes(kept->data, kept->size), start - kept->at, size, &names)) break;
    }
    return names;
}

// Input of the device linker was read as if it were loadable: what its images said counts no more.
static void forget_kernels(struct nk_scan_library *library, struct nk_scan_box *box)
{
    for (size_t i = box->first_kernel; i < box->first_kernel + box->kernels; i++) {
        library->shapes[library->kernels[i].shape].kernels--;
        library->kernels[i].name = 0;
    }
    for (size_t i = box->first_image; i < box->first_image + box->images; i++) {
        library->images[i].flags &= ~(uint32_t)NK_IMAGE_RELOCATABLE;
        library->images[i].kernels = UINT32_MAX;
    }
    box->kernels = 0;
    box->unread = false;
}

static void drop_forgotten(struct nk_scan_library *library)
{
    size_t kept = 0;
    for (size_t b = 0; b < library->box_count; b++) {
        struct nk_scan_box *box = &library->boxes[b];
        size_t first = kept;
        for (size_t i = 0; i < box->kernels; i++) library->kernels[kept++] = library->kernels[box->first_kernel + i];
        box->first_kernel = first;
    }
    library->kernel_count = kept;
}

// False when there are containers and no names of sections.
static bool name_sections(struct pass *pass, uint16_t index)
{
    struct window *w = &pass->w;
    struct nk_scan_library *library = pass->library;
    save_table(w, w->size);
    struct nk_bytes names = section_names(w, index);
    for (size_t i = 0; i < library->box_count; i++) {
        struct nk_scan_box *box = &library->boxes[i];
        bool found;
        struct nk_bytes name = section_at(w, names, box->offset, &found);
        if (nk_bytes_equal(name, nk_bytes("__nv_relfatbin", 14))) {
            box->flags |= NK_FOUND_RELOCATABLE;
            forget_kernels(library, box);
        } else if (!nk_bytes_equal(name, nk_bytes(".nv_fatbin", 10)) && names.size) {
            box->flags |= NK_FOUND_OUTSIDE;
        }
        if (found) box->section = nk_scan_add_text(library, name);
    }
    drop_forgotten(library);
    return names.size || !library->box_count;
}

static void free_pass(struct pass *pass)
{
    struct window *w = &pass->w;
    free(w->table);
    free(w->data);
    if (w->alone) pthread_mutex_unlock(&large);
    for (size_t i = 0; i < NAMES_KEPT; i++) free(w->kept[i].data);
    for (size_t i = 0; i < BOXES; i++) nk_box_free(&pass->waiting[i].box);
    for (size_t i = 0; i < NK_CREW_MOST; i++) nk_box_tools_free(&pass->tools[i]);
    free(pass);
}

static int result_of(const struct pass *pass, bool named, struct nk_err *err)
{
    uint64_t mismatch = 0;
    for (size_t i = 0; i < NK_CREW_MOST; i++) mismatch += pass->tools[i].mismatch;
    if (pass->w.failed) return -1;
    if (mismatch)
        return nk_fail(err, NK_ERR_BAD_INPUT,
                       "the beginnings of %llu images do not say the same as the whole images; please report that",
                       (unsigned long long)mismatch);
    if (pass->library->failed) return nk_fail(err, NK_ERR_MEMORY, "not enough memory for what is in it");
    if (!named)
        return nk_fail(err, NK_ERR_BAD_INPUT,
                       "the names of its sections could not be read in passing: input of the device linker is counted "
                       "as if it could be loaded; unpack it and scan the file");
    return 0;
}

int nk_scan_stream(struct nk_scan_library *library, nk_stream_read read, void *user, const struct nk_scan_how *how,
                   const struct nk_worker *worker, struct nk_err *err)
{
    struct pass *pass = calloc(1, sizeof *pass);
    struct nk_elf elf;
    uint16_t index = 0;
    if (!pass) return nk_fail(err, NK_ERR_MEMORY, "not enough memory");
    pass->w.read = read;
    pass->w.user = user;
    pass->w.err = err;
    pass->library = library;
    pass->worker = worker;
    pass->number = worker ? worker->number : 0;
    for (size_t i = 0; i < NK_CREW_MOST; i++) pass->tools[i] = (struct nk_box_tools){.how = how, .passing = true};
    library->kernels_read = how->kernels;
    learn_table(&pass->w, &elf);
    if (pass->w.table) nk_bytes_u16(from(&pass->w, 0), 62, &index);
    search_all(pass, 0);
    while (pass->ended < pass->begun) end_oldest(pass);
    bool named = !pass->w.table || name_sections(pass, index);
    library->size = pass->w.base + pass->w.size;
    int result = result_of(pass, named, err);
    library->incomplete = result < 0;
    free_pass(pass);
    return result;
}
