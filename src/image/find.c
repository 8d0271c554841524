// find.c - every place in a file where device code lies.
//
// Containers in .nv_fatbin and __nv_relfatbin lie back to back. Everywhere else (.rodata, .data, sections of the
// vendor's own, unnamed bytes) they are searched for by the 8 bytes that start each of them, at any offset: some are
// embedded byte arrays without alignment.
#define _GNU_SOURCE
#include "image/find.h"
#include "base/file.h"
#include "image/archive.h"
#include "image/elf.h"
#include "image/fatbin.h"
#include "image/ptx.h"
#include "image/sign.h"

#include <string.h>

// A file has two such sections, an object at most a few; what exceeds this is found by searching.
#define MAX_WALKED 64
// Sections beyond are not asked for the name of a place, so that a lying section count costs no time.
#define MAX_NAMED 4096

// Section headers of bare cubins that are looked at in one file, to learn where they end: a file full of damaged ones
// that overlap each other must not cost the square of its size.
#define MAX_LOOKED (16u << 20)

struct range {
    uint64_t start, end;
};

struct search {
    struct nk_bytes file;
    unsigned options;
    bool quick;
    uint64_t base; // of `file` in the archive
    struct nk_bytes member;
    nk_found_fn each;
    void *user;
    const struct nk_elf *elf; // NULL: not an ELF file
    struct range walked[MAX_WALKED];
    size_t n_walked;
    uint64_t looked; // see MAX_LOOKED
    uint64_t found;  // places handed out
    uint64_t unsearched;
    // The name for places in [.start, .end): the last answer of section_at.
    struct range named;
    struct nk_bytes name;
};

static int hand_out(struct search *search, struct range place, enum nk_found_kind kind, uint32_t flags,
                    struct nk_bytes section)
{
    struct nk_found found = {.offset = search->base + place.start,
                             .kind = kind,
                             .flags = flags,
                             .section = section,
                             .member = search->member};
    if (!nk_bytes_part(search->file, place.start, place.end - place.start, &found.bytes)) return 0;
    search->found++;
    return search->each(&found, search->user);
}

static bool is_key_at(struct nk_bytes view, uint64_t at)
{
    struct nk_bytes key;
    return nk_bytes_part(view, at, NK_FATBIN_KEY_SIZE, &key) &&
           memcmp(key.data, NK_FATBIN_KEY, NK_FATBIN_KEY_SIZE) == 0;
}

static uint64_t next_key(struct nk_bytes view, uint64_t from)
{
    enum nk_sign sign;
    return nk_sign_next(view, from, view.size, NK_SIGN_CONTAINER, &sign);
}

// Where the container at `at` ends inside `view`. A damaged one reaches up to the next container behind its last good
// entry, so that one wrong size does not swallow the rest of a section.
static uint64_t container_end(struct nk_bytes view, uint64_t at, bool *damaged)
{
    struct nk_fatbin walk;
    struct nk_entry_view entry;
    struct nk_bytes rest, next;
    *damaged = true;
    if (!nk_bytes_from(view, at, &rest) || nk_fatbin_begin(&walk, rest, NULL)) return next_key(view, at + 1);
    // The next one is far away: let memory bring its header while the entries of this one are read (a tenth of the time
    // that the headers of cuBLASLt take).
    if (nk_bytes_part(rest, walk.claimed, NK_FATBIN_HEADER, &next)) __builtin_prefetch(next.data);
    int result;
    while ((result = nk_fatbin_next(&walk, &entry, NULL)) == 1) continue;
    *damaged = result < 0;
    if (!result) return at + walk.claimed;
    return next_key(view, at + (walk.at > NK_FATBIN_HEADER ? walk.at : NK_FATBIN_HEADER));
}

// ---- sections of containers, back to back

static int walk_range(struct search *search, struct range place, uint32_t flags, struct nk_bytes section)
{
    struct nk_bytes view = nk_bytes(search->file.data, (size_t)place.end);
    for (uint64_t at = place.start; at < place.end;) {
        if (!view.data[at]) { // padding; none was ever seen, but a linker may add some
            at++;
            continue;
        }
        bool damaged = true;
        uint64_t end = is_key_at(view, at) ? container_end(view, at, &damaged) : next_key(view, at);
        uint32_t all = flags | (damaged ? NK_FOUND_DAMAGED : 0u);
        int stop = hand_out(search, (struct range){at, end}, NK_FOUND_CONTAINER, all, section);
        if (stop) return stop;
        at = end;
    }
    return 0;
}

static bool overlaps(const struct search *search, struct range place)
{
    for (size_t i = 0; i < search->n_walked; i++)
        if (place.start < search->walked[i].end && search->walked[i].start < place.end) return true;
    return false;
}

static bool holds_containers(const struct nk_elf_section *section, uint32_t *flags)
{
    bool relocatable = nk_bytes_equal(section->name, nk_bytes("__nv_relfatbin", 14));
    *flags = relocatable ? NK_FOUND_RELOCATABLE : 0;
    return section->type != NK_SHT_NOBITS && (relocatable || nk_bytes_equal(section->name, nk_bytes(".nv_fatbin", 10)));
}

// The part of a section that lies in the file, noted as one that was searched; false when it was already, or is none.
static bool take_section(struct search *search, const struct nk_elf_section *section, struct range *place)
{
    if (section->offset >= search->file.size || !section->size || search->n_walked == MAX_WALKED) return false;
    uint64_t left = search->file.size - section->offset, size = section->size < left ? section->size : left;
    *place = (struct range){section->offset, section->offset + size};
    if (overlaps(search, *place)) return false;
    search->walked[search->n_walked++] = *place;
    return true;
}

static int walk_sections(struct search *search)
{
    struct nk_elf_section section;
    struct range place;
    uint32_t flags;
    for (uint32_t i = 0; i < search->elf->sections && search->n_walked < MAX_WALKED; i++) {
        if (!nk_elf_section(search->elf, i, &section) || !holds_containers(&section, &flags)) continue;
        if (!take_section(search, &section, &place)) continue;
        int stop = walk_range(search, place, flags, section.name);
        if (stop) return stop;
    }
    return 0;
}

// ---- everywhere else

// The name of the section around `at`. The answer is kept together with the range in which it holds.
static struct nk_bytes section_at(struct search *search, uint64_t at)
{
    if (search->named.start <= at && at < search->named.end) return search->name;
    search->named = (struct range){at, UINT64_MAX};
    search->name = nk_bytes(NULL, 0);
    struct nk_elf_section section;
    for (uint32_t i = 0; search->elf && i < search->elf->sections && i < MAX_NAMED; i++) {
        if (!nk_elf_section(search->elf, i, &section) || section.type == NK_SHT_NOBITS || !section.size) continue;
        uint64_t end = section.size < UINT64_MAX - section.offset ? section.offset + section.size : UINT64_MAX;
        if (section.offset > at && section.offset < search->named.end) search->named.end = section.offset;
        if (section.offset > at || at >= end) continue;
        search->name = section.name;
        search->named.end = end;
        break;
    }
    return search->name;
}

// Bytes of the cubin that `rest` starts with; 0 when that cannot be said.
static uint64_t cubin_size(struct search *search, struct nk_bytes rest)
{
    struct nk_elf elf;
    if (search->looked > MAX_LOOKED || nk_elf_open(&elf, rest, NULL)) return 0;
    search->looked += elf.sections + elf.segments + 1;
    uint64_t extent = nk_elf_extent(rest);
    return extent <= rest.size ? extent : 0;
}

// What a search has found at `at`, and where it ends. `key` is the next container from there on, if that is known.
static uint64_t end_of(struct search *search, struct nk_bytes view, uint64_t at, enum nk_sign sign, uint64_t *key,
                       bool *damaged)
{
    if (sign == NK_SIGN_CONTAINER) return container_end(view, at, damaged);
    uint64_t size = cubin_size(search, nk_bytes(view.data + at, view.size - (size_t)at));
    *damaged = !size;
    if (size) return at + size;
    // A damaged cubin may claim anything: do not let it hide the containers behind it.
    if (*key <= at) *key = next_key(view, at);
    return *key;
}

// Not one entry: bytes that only look like the start of a container, which must not hide the cubins behind them.
static bool holds_nothing(struct nk_bytes view, uint64_t at)
{
    struct nk_fatbin walk;
    struct nk_entry_view entry;
    struct nk_bytes rest;
    return !nk_bytes_from(view, at, &rest) || nk_fatbin_begin(&walk, rest, NULL) ||
           nk_fatbin_next(&walk, &entry, NULL) != 1;
}

static int search_range(struct search *search, struct range place)
{
    struct nk_bytes view = nk_bytes(search->file.data, (size_t)place.end), part;
    if (search->quick && nk_bytes_part(view, place.start, place.end - place.start, &part))
        nk_file_expect(part, NK_FILE_ALL);
    uint32_t outside = search->elf && search->elf->sections ? NK_FOUND_OUTSIDE : 0;
    uint64_t key = 0;
    enum nk_sign sign;
    for (uint64_t at = place.start;;) {
        at = nk_sign_next(view, at, view.size, NK_SIGN_CONTAINER | NK_SIGN_CUBIN, &sign);
        if (!sign) return 0;
        bool damaged = false, container = sign == NK_SIGN_CONTAINER;
        uint64_t end = end_of(search, view, at, sign, &key, &damaged);
        int stop = hand_out(search, (struct range){at, end}, container ? NK_FOUND_CONTAINER : NK_FOUND_CUBIN,
                            outside | (damaged ? NK_FOUND_DAMAGED : 0u), section_at(search, at));
        if (stop) return stop;
        // After damage look for cubins right behind its start.
        if (damaged && container && holds_nothing(view, at))
            at += NK_FATBIN_HEADER;
        else
            at = damaged && !container && search->looked <= MAX_LOOKED ? at + 1 : end;
    }
}

static int search_elsewhere(struct search *search)
{
    for (uint64_t at = 0; at < search->file.size;) {
        struct range next = {search->file.size, search->file.size}; // the next range that was walked
        for (size_t i = 0; i < search->n_walked; i++)
            if (search->walked[i].end > at && search->walked[i].start < next.start) next = search->walked[i];
        int stop = next.start > at ? search_range(search, (struct range){at, next.start}) : 0;
        if (stop) return stop;
        at = next.end;
    }
    return 0;
}

// ---- from headers alone

// Sections that are full of containers though their name does not say so.
static bool is_full(const struct search *search, const struct nk_elf_section *section)
{
    if (section->type != NK_SHT_PROGBITS || section->flags & NK_SHF_EXECINSTR) return false;
    return is_key_at(search->file, section->offset) || nk_bytes_equal(section->name, nk_bytes(".cask_resource", 14));
}

static int search_full_sections(struct search *search)
{
    struct nk_elf_section section;
    struct range place;
    for (uint32_t i = 0; i < search->elf->sections && i < MAX_NAMED; i++) {
        if (!nk_elf_section(search->elf, i, &section) || !is_full(search, &section)) continue;
        int stop = take_section(search, &section, &place) ? search_range(search, place) : 0;
        if (stop) return stop;
    }
    return 0;
}

static int search_quickly(struct search *search)
{
    int stop = search_full_sections(search);
    if (stop) return stop;
    if (!search->found) return search_elsewhere(search);
    search->unsearched = search->file.size;
    for (size_t i = 0; i < search->n_walked; i++) search->unsearched -= search->walked[i].end - search->walked[i].start;
    return 0;
}

// ---- one file

static int search_elf(struct search *search, struct nk_err *err)
{
    struct nk_elf elf;
    if (nk_elf_open(&elf, search->file, err)) return -1;
    if (elf.machine == NK_EM_CUDA) {
        bool damaged = nk_elf_extent(search->file) > search->file.size;
        return hand_out(search, (struct range){0, search->file.size}, NK_FOUND_CUBIN, damaged ? NK_FOUND_DAMAGED : 0u,
                        nk_bytes(NULL, 0));
    }
    search->elf = &elf;
    int stop = walk_sections(search);
    if (!stop && !(search->options & NK_FIND_SECTIONS_ONLY))
        stop = search->quick ? search_quickly(search) : search_elsewhere(search);
    search->elf = NULL;
    if (stop || !elf.sections_lost) return stop;
    return nk_fail(err, NK_ERR_BAD_INPUT,
                   "the section headers at 0x%llx lie outside the file of %zu bytes: it was cut short",
                   (unsigned long long)elf.section_table, search->file.size);
}

static int search_file(struct search *search, struct nk_err *err)
{
    struct range all = {0, search->file.size};
    if (nk_bytes_starts(search->file, "\177ELF", 4)) return search_elf(search, err);
    if (is_key_at(search->file, 0)) return walk_range(search, all, 0, nk_bytes(NULL, 0));
    if (nk_ptx_looks(search->file)) return hand_out(search, all, NK_FOUND_PTX, 0, nk_bytes(NULL, 0));
    return search->options & NK_FIND_SECTIONS_ONLY ? 0 : search_elsewhere(search);
}

static int search_archive(struct search *search, struct nk_err *err)
{
    struct nk_archive walk;
    struct nk_archive_member member;
    int result;
    if (nk_archive_begin(&walk, search->file, err)) return -1;
    while ((result = nk_archive_next(&walk, &member, err)) == 1) {
        struct search inner = {.file = member.bytes,
                               .options = search->options,
                               .quick = search->quick,
                               .base = member.offset,
                               .member = member.name,
                               .each = search->each,
                               .user = search->user};
        // A member that is no readable ELF file does not keep us from the next.
        int stop = search_file(&inner, NULL);
        search->unsearched += inner.unsearched;
        if (stop > 0) return stop;
    }
    return result;
}

static int search_any(struct search *search, struct nk_err *err)
{
    return nk_archive_looks(search->file) ? search_archive(search, err) : search_file(search, err);
}

int nk_find_images(struct nk_bytes file, unsigned options, nk_found_fn each, void *user, struct nk_err *err)
{
    struct search search = {.file = file, .options = options, .each = each, .user = user};
    return search_any(&search, err);
}

int nk_find_quickly(struct nk_bytes file, nk_found_fn each, void *user, uint64_t *unsearched, struct nk_err *err)
{
    struct search search = {.file = file, .quick = true, .each = each, .user = user};
    // Members of an archive are looked at one after another, all over it.
    if (!nk_archive_looks(file)) nk_file_expect(file, NK_FILE_HERE_AND_THERE);
    int result = search_any(&search, err);
    *unsearched = search.unsearched;
    return result;
}
