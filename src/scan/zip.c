// zip.c - the members of an ordinary zip file.
//
// The layout is that of PKWARE's APPNOTE.TXT (6.3.10), sections 4.3.7 (local header), 4.3.12 (directory), 4.3.14 to
// 4.3.16 (its end), 4.5.3 (sizes beyond 4 GB).
#define _GNU_SOURCE
#include "scan/zip.h"
#include "scan/inflate.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LOCAL_SIZE     30u
#define ENTRY_SIZE     46u
#define END_SIZE       22u
#define LOCATOR_SIZE   20u
#define END64_SIZE     56u
#define LONGEST_END    (END_SIZE + 65535u)
#define MOST_DIRECTORY (256u << 20)
#define INPUT          (128u << 10) // small: who decodes may have to wait for one that is being read
#define FIRST_INPUT    4096u
#define METHOD_STORED  0
#define METHOD_DEFLATE 8
#define FLAG_ENCRYPTED 1u
#define MADE_BY_UNIX   3

struct entry {
    uint16_t made_by, flags, method;
    uint32_t crc, mode;
    uint64_t packed, size, local;
    struct nk_bytes name;
    uint64_t next; // in the directory
};

struct nk_zip {
    nk_zip_read_at read_at;
    void *user;
    uint8_t *memory; // of the directory
    struct nk_bytes directory;
    uint64_t at;    // in the directory
    uint64_t start; // of the directory in the file: members end before
};

enum { INPUTS = 16 };

struct nk_zip_reader {
    const struct nk_zip *zip;
    struct nk_zip_member member;
    bool opened, ended;
    const char *wrong;    // what is wrong with the member, once all bytes of it were returned
    uint64_t out, passed; // passed: packed bytes that were given to the decoder
    uint32_t crc;
    struct nk_bytes given; // in the input that is being decoded, number `emptied`
    struct nk_inflate *inflate;
    // Packed bytes, read by whoever has the lock. Input i lies in input[i % INPUTS].
    pthread_mutex_t lock;
    uint64_t from, left; // where the next ones lie, how many
    atomic_uint_least64_t filled, emptied;
    size_t size[INPUTS];
    uint8_t input[INPUTS][INPUT];
};

// ---- the directory

// Sizes that do not fit stand in the extra field 1, in this order, those that do not fit only.
static bool read_extra(struct nk_bytes extra, struct entry *entry)
{
    uint64_t *const fields[] = {&entry->size, &entry->packed, &entry->local};
    uint16_t id, size;
    for (uint64_t at = 0; nk_bytes_u16(extra, at, &id) && nk_bytes_u16(extra, at + 2, &size); at += 4ull + size) {
        struct nk_bytes field;
        if (id != 1 || !nk_bytes_part(extra, at + 4, size, &field)) continue;
        uint64_t next = 0;
        for (size_t i = 0; i < 3; i++) {
            if (*fields[i] != UINT32_MAX) continue;
            if (!nk_bytes_u64(field, next, fields[i])) return false;
            next += 8;
        }
        return true;
    }
    return entry->size != UINT32_MAX && entry->packed != UINT32_MAX && entry->local != UINT32_MAX;
}

static bool read_entry(struct nk_bytes directory, uint64_t at, struct entry *entry)
{
    uint32_t magic, packed, size, local, attributes;
    uint16_t name, extra, comment, disk;
    struct nk_bytes fields, more;
    if (!nk_bytes_part(directory, at, ENTRY_SIZE, &fields)) return false;
    bool all = nk_bytes_u32(fields, 0, &magic) && nk_bytes_u16(fields, 4, &entry->made_by) &&
               nk_bytes_u16(fields, 8, &entry->flags) && nk_bytes_u16(fields, 10, &entry->method) &&
               nk_bytes_u32(fields, 16, &entry->crc) && nk_bytes_u32(fields, 20, &packed) &&
               nk_bytes_u32(fields, 24, &size) && nk_bytes_u16(fields, 28, &name) && nk_bytes_u16(fields, 30, &extra) &&
               nk_bytes_u16(fields, 32, &comment) && nk_bytes_u16(fields, 34, &disk) &&
               nk_bytes_u32(fields, 38, &attributes) && nk_bytes_u32(fields, 42, &local);
    if (!all || magic != 0x02014b50 || disk) return false;
    entry->packed = packed;
    entry->size = size;
    entry->local = local;
    entry->mode = entry->made_by >> 8 == MADE_BY_UNIX ? attributes >> 16 : 0;
    entry->next = at + ENTRY_SIZE + name + extra + comment;
    return nk_bytes_part(directory, at + ENTRY_SIZE, name, &entry->name) &&
           nk_bytes_part(directory, at + ENTRY_SIZE + name, extra, &more) && read_extra(more, entry) &&
           entry->next <= directory.size;
}

// Is every entry one that this reader reads, and does each member end before the next begins?
static bool is_ordinary(const struct nk_zip *zip, uint64_t count)
{
    uint64_t at = 0, behind = 0;
    for (uint64_t i = 0; i < count; i++) {
        struct entry entry;
        if (!read_entry(zip->directory, at, &entry)) return false;
        bool method = entry.method == METHOD_DEFLATE || (entry.method == METHOD_STORED && entry.size == entry.packed);
        if (!method || entry.flags & FLAG_ENCRYPTED || !entry.name.size || memchr(entry.name.data, 0, entry.name.size))
            return false;
        uint64_t header = LOCAL_SIZE + entry.name.size;
        if (entry.local < behind || entry.local > zip->start || entry.packed > zip->start ||
            header + entry.packed > zip->start - entry.local)
            return false;
        behind = entry.local + header + entry.packed;
        at = entry.next;
    }
    return at == zip->directory.size;
}

struct place {
    uint64_t count, size, start;
    uint64_t end; // where the directory must end
};

static bool find_end64(struct nk_zip *zip, uint64_t end, struct place *place)
{
    uint8_t bytes[END64_SIZE];
    uint64_t at;
    uint32_t magic;
    struct nk_bytes view = nk_bytes(bytes, sizeof bytes);
    if (end < LOCATOR_SIZE || !zip->read_at(zip->user, end - LOCATOR_SIZE, bytes, LOCATOR_SIZE)) return false;
    if (!nk_bytes_u32(view, 0, &magic) || magic != 0x07064b50 || !nk_bytes_u64(view, 8, &at)) return false;
    if (at > end || end - at < END64_SIZE + LOCATOR_SIZE || !zip->read_at(zip->user, at, bytes, END64_SIZE))
        return false;
    place->end = at;
    return nk_bytes_u32(view, 0, &magic) && magic == 0x06064b50 && nk_bytes_u64(view, 32, &place->count) &&
           nk_bytes_u64(view, 40, &place->size) && nk_bytes_u64(view, 48, &place->start);
}

bool nk_zip_has_end(nk_zip_read_at read_at, void *user, uint64_t size)
{
    size_t tail = size < LONGEST_END ? (size_t)size : LONGEST_END;
    uint8_t *bytes = malloc(tail + 1);
    bool read = bytes && tail >= END_SIZE && read_at(user, size - tail, bytes, tail);
    bool found = read && memmem(bytes, tail - END_SIZE + 4, "PK\5\6", 4); // all of it
    free(bytes);
    return found;
}

// The end of the directory is the last thing in the file, but for a comment.
static bool find_directory(struct nk_zip *zip, uint64_t size, struct place *place)
{
    size_t tail = size < LONGEST_END ? (size_t)size : LONGEST_END;
    uint8_t *bytes = malloc(tail + 1);
    bool found = false;
    uint32_t magic, directory, start;
    uint16_t count, comment;
    if (bytes && tail >= END_SIZE && zip->read_at(zip->user, size - tail, bytes, tail))
        for (size_t at = tail - END_SIZE + 1; !found && at-- > 0;) {
            struct nk_bytes view = nk_bytes(bytes + at, tail - at);
            if (!nk_bytes_u32(view, 0, &magic) || magic != 0x06054b50) continue;
            if (!nk_bytes_u16(view, 20, &comment) || comment != tail - at - END_SIZE) continue;
            nk_bytes_u16(view, 10, &count);
            nk_bytes_u32(view, 12, &directory);
            nk_bytes_u32(view, 16, &start);
            *place = (struct place){count, directory, start, size - tail + at};
            bool large = count == UINT16_MAX || directory == UINT32_MAX || start == UINT32_MAX;
            if (large && !find_end64(zip, size - tail + at, place)) break;
            // Places that do not fit are those of a file that something was put before.
            found =
                place->start <= size && place->size <= size - place->start && place->start + place->size == place->end;
        }
    free(bytes);
    return found;
}

struct nk_zip *nk_zip_open(nk_zip_read_at read_at, void *user, uint64_t size)
{
    struct place place;
    struct nk_zip *zip = nk_inflate_there() ? calloc(1, sizeof *zip) : NULL;
    if (!zip) return NULL;
    zip->read_at = read_at;
    zip->user = user;
    bool good = find_directory(zip, size, &place) && place.size <= MOST_DIRECTORY &&
                (zip->memory = malloc((size_t)place.size + 1)) &&
                read_at(user, place.start, zip->memory, (size_t)place.size);
    if (good) {
        zip->start = place.start;
        zip->directory = nk_bytes(zip->memory, (size_t)place.size);
        good = is_ordinary(zip, place.count);
    }
    if (good) return zip;
    nk_zip_close(zip);
    return NULL;
}

void nk_zip_close(struct nk_zip *zip)
{
    if (!zip) return;
    free(zip->memory);
    free(zip);
}

bool nk_zip_next(struct nk_zip *zip, struct nk_zip_member *member)
{
    struct entry entry;
    if (zip->at >= zip->directory.size || !read_entry(zip->directory, zip->at, &entry)) return false;
    uint32_t type = entry.mode & S_IFMT;
    bool folder = entry.name.data[entry.name.size - 1] == '/';
    zip->at = entry.next;
    *member = (struct nk_zip_member){.name = entry.name,
                                     .size = entry.size,
                                     .packed = entry.packed,
                                     .header = entry.local,
                                     .crc = entry.crc,
                                     .method = entry.method,
                                     .regular = !folder && (!type || type == S_IFREG)};
    return true;
}

// ---- readers

struct nk_zip_reader *nk_zip_reader_new(const struct nk_zip *zip)
{
    struct nk_zip_reader *reader = malloc(sizeof *reader);
    struct nk_inflate *inflate = nk_inflate_new();
    if (reader && inflate) {
        pthread_mutex_init(&reader->lock, NULL);
        reader->zip = zip;
        reader->inflate = inflate;
        nk_zip_reader_begin(reader, &(struct nk_zip_member){0});
        reader->ended = true;
        return reader;
    }
    nk_inflate_free(inflate);
    free(reader);
    return NULL;
}

void nk_zip_reader_free(struct nk_zip_reader *reader)
{
    if (!reader) return;
    pthread_mutex_destroy(&reader->lock);
    nk_inflate_free(reader->inflate);
    free(reader);
}

void nk_zip_reader_begin(struct nk_zip_reader *reader, const struct nk_zip_member *member)
{
    reader->member = *member;
    reader->opened = reader->ended = false;
    reader->wrong = NULL;
    reader->left = reader->passed = 0; // nothing is there to be read ahead before it is opened
}

// ---- packed bytes

static bool read_input(struct nk_zip_reader *reader, uint64_t at, size_t size)
{
    size_t i = reader->filled % INPUTS;
    if (!reader->zip->read_at(reader->zip->user, at, reader->input[i], size)) return false;
    reader->size[i] = size;
    reader->filled++;
    return true;
}

static bool read_next(struct nk_zip_reader *reader)
{
    size_t size = reader->left < INPUT ? (size_t)reader->left : INPUT;
    if (!size || reader->filled - reader->emptied == INPUTS || !read_input(reader, reader->from, size)) return false;
    reader->from += size;
    reader->left -= size;
    return true;
}

bool nk_zip_prepare(struct nk_zip_reader *reader)
{
    if (pthread_mutex_trylock(&reader->lock)) return false;
    bool read = read_next(reader);
    pthread_mutex_unlock(&reader->lock);
    return read;
}

// The input that is to be decoded.
static void give(struct nk_zip_reader *reader)
{
    size_t i = reader->emptied % INPUTS;
    reader->given = nk_bytes(reader->input[i], reader->size[i]);
}

// The local header, whose name and extra field may be longer than those of the directory, and behind it the first bytes
// of the member: of most members they are all that is asked for.
static bool open_locked(struct nk_zip_reader *reader)
{
    uint32_t magic;
    uint16_t name, extra;
    uint64_t there = reader->zip->start - reader->member.header; // LOCAL_SIZE and more: is_ordinary
    reader->filled = reader->emptied = 0;
    if (!read_input(reader, reader->member.header, there < FIRST_INPUT ? (size_t)there : FIRST_INPUT)) return false;
    give(reader);
    if (!nk_bytes_u32(reader->given, 0, &magic) || magic != 0x04034b50 || !nk_bytes_u16(reader->given, 26, &name) ||
        !nk_bytes_u16(reader->given, 28, &extra))
        return false;
    uint64_t header = LOCAL_SIZE + name + extra, left = reader->member.packed;
    if (header > there || left > there - header) return false;
    if (!nk_bytes_from(reader->given, header, &reader->given)) reader->given.size = 0;
    if (reader->given.size > left) reader->given.size = (size_t)left;
    reader->passed = reader->given.size;
    reader->from = reader->member.header + header + reader->passed;
    reader->left = left - reader->passed;
    return true;
}

static bool open_member(struct nk_zip_reader *reader)
{
    pthread_mutex_lock(&reader->lock);
    reader->opened = open_locked(reader);
    pthread_mutex_unlock(&reader->lock);
    reader->out = reader->crc = 0;
    nk_inflate_begin(reader->inflate);
    return reader->opened;
}

static bool fill(struct nk_zip_reader *reader)
{
    if (reader->given.size || reader->passed == reader->member.packed) return true;
    bool there = ++reader->emptied < reader->filled;
    if (!there) {
        pthread_mutex_lock(&reader->lock);
        there = reader->emptied < reader->filled;
        if (!there) {
            reader->filled = reader->emptied = 0; // the one in the cache is enough while nobody reads ahead
            there = read_next(reader);
        }
        pthread_mutex_unlock(&reader->lock);
    }
    if (!there) return false;
    give(reader);
    reader->passed += reader->given.size;
    return true;
}

// ---- a member

static int damaged(struct nk_zip_reader *reader, const char *what, struct nk_err *err)
{
    reader->ended = true;
    return nk_fail(err, NK_ERR_BAD_INPUT, "%s", what);
}

static int64_t stored(struct nk_zip_reader *reader, void *into, size_t size, bool *ended)
{
    size_t n = size < reader->given.size ? size : reader->given.size;
    memcpy(into, reader->given.data, n);
    reader->given = nk_bytes(reader->given.data + n, reader->given.size - n);
    *ended = !reader->given.size && reader->passed == reader->member.packed;
    return (int64_t)n;
}

// The last bytes of a member, at most those that were announced. What is said about it does not depend on how many are
// asked for at a time: these come before the word that something is wrong.
static int64_t last_bytes(struct nk_zip_reader *reader, int64_t got, struct nk_err *err)
{
    uint64_t size = reader->member.size;
    if (reader->out > size) got -= (int64_t)(reader->out - size);
    if (reader->out != size)
        reader->wrong = "it has another size than announced";
    else if (reader->crc != reader->member.crc)
        reader->wrong = "its checksum is wrong";
    reader->ended = !reader->wrong;
    return got || !reader->wrong ? got : damaged(reader, reader->wrong, err);
}

int64_t nk_zip_read(void *user, void *into, size_t size, struct nk_err *err)
{
    struct nk_zip_reader *reader = user;
    int64_t got = 0;
    bool ended = false;
    if (reader->ended) return 0;
    if (reader->wrong) return damaged(reader, reader->wrong, err);
    if (!reader->opened && !open_member(reader)) return damaged(reader, "its local header is damaged", err);
    while (!got && !ended) {
        if (!fill(reader)) return damaged(reader, "the file could not be read", err);
        bool dry = !reader->given.size; // the decoder may still have something to give
        got = reader->member.method == METHOD_STORED
                  ? stored(reader, into, size, &ended)
                  : nk_inflate_more(reader->inflate, &reader->given, into, size, &ended);
        if (got < 0) return damaged(reader, "its deflated bytes are damaged", err);
        if (dry && !got && !ended) return damaged(reader, "its deflated bytes end too early", err);
    }
    reader->crc = nk_inflate_crc(reader->crc, into, (size_t)got);
    reader->out += (uint64_t)got;
    if (!ended && reader->out <= reader->member.size) return got;
    return last_bytes(reader, got, err);
}

uint64_t nk_zip_passed(const struct nk_zip_reader *reader) { return reader->passed; }
