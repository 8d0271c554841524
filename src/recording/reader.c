// reader.c - walks the records of a recording.
#include "recording/reader.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BLOCKS = 1024 }; // the writer makes 64; a look-up walks them all

int nk_reader_open(struct nk_reader *reader, struct nk_bytes bytes, const char *name, struct nk_err *err)
{
    struct nk_file_header header;
    *reader = (struct nk_reader){.bytes = bytes, .at = sizeof header};
    if (!nk_bytes_copy(bytes, 0, &header, sizeof header))
        return nk_fail(err, NK_ERR_BAD_INPUT, "%s: a recording of at least %zu bytes was expected, the file has %zu",
                       name, sizeof header, bytes.size);
    if (memcmp(header.magic, NK_RECORDING_MAGIC, sizeof header.magic))
        return nk_fail(err, NK_ERR_BAD_INPUT, "%s: a recording of nokernel was expected, the file begins otherwise",
                       name);
    if (header.version != NK_RECORDING_VERSION)
        return nk_fail(err, NK_ERR_UNSUPPORTED, "%s: a recording of format %d was expected, this one has format %u",
                       name, NK_RECORDING_VERSION, header.version);
    return 0;
}

// Makes room for one more element. Capacity doubles, so memory stays a small multiple of what was read.
static bool room(void **array, uint32_t count, uint32_t *capacity, size_t size)
{
    if (count < *capacity) return true;
    uint32_t more = *capacity ? *capacity * 2 : 64;
    void *data = more > *capacity ? nk_got(realloc(*array, more * size)) : NULL;
    if (!data) return false;
    *array = data;
    *capacity = more;
    return true;
}

static bool take_string(struct nk_reader *reader, const struct nk_record *record)
{
    struct nk_rec_string string;
    nk_record_head(record, &string, sizeof string);
    // Ids below the count come again after a rewind.
    if (string.id && string.id <= reader->strings) return true;
    if (string.id != reader->strings + 1 || !nk_record_holds(record, string.size, 1)) return false;
    if (!room((void **)&reader->string, reader->strings, &reader->strings_room, sizeof *reader->string)) return false;
    uint64_t offset = (uint64_t)(record->tail.data - reader->bytes.data);
    reader->string[reader->strings++] = (struct nk_reader_text){offset, string.size};
    return true;
}

static bool take_counters(struct nk_reader *reader, const struct nk_record *record)
{
    struct nk_rec_counters block;
    nk_record_head(record, &block, sizeof block);
    uint64_t tail = (uint64_t)(record->tail.data - reader->bytes.data);
    if (block.offset < tail || !nk_bytes_holds(record->tail, block.offset - tail, (uint64_t)block.n * 8)) return false;
    // Offsets only grow: a smaller one is met again, after a rewind.
    if (reader->blocks && block.offset <= reader->block[reader->blocks - 1].offset) return true;
    if (reader->blocks == MOST_BLOCKS) return false;
    reader->copied |= block.flags & NK_COUNTERS_COPIED;
    if (!room((void **)&reader->block, reader->blocks, &reader->blocks_room, sizeof *reader->block)) return false;
    reader->block[reader->blocks++] = block;
    return true;
}

bool nk_reader_next(struct nk_reader *reader, struct nk_record *record)
{
    for (;;) {
        struct nk_record_header header;
        struct nk_bytes whole;
        if (reader->at == reader->bytes.size) return false;
        bool sound = nk_bytes_copy(reader->bytes, reader->at, &header, sizeof header) && header.length % 8 == 0 &&
                     header.length >= sizeof header && nk_bytes_part(reader->bytes, reader->at, header.length, &whole);
        if (!sound) { // nothing tells where the next one would begin
            reader->cut = true;
            return false;
        }
        *record = (struct nk_record){.type = header.type, .offset = reader->at};
        reader->at += header.length;
        bool taken = nk_bytes_part(whole, sizeof header, header.head, &record->head) &&
                     nk_bytes_from(whole, sizeof header + header.head, &record->tail);
        if (taken && header.type == NK_REC_STRING) taken = take_string(reader, record);
        if (taken && header.type == NK_REC_COUNTERS) taken = take_counters(reader, record);
        if (taken) return true;
        reader->skipped++;
    }
}

void nk_reader_rewind(struct nk_reader *reader)
{
    reader->at = sizeof(struct nk_file_header);
    reader->cut = false;
    reader->skipped = 0;
}

struct nk_bytes nk_reader_text(const struct nk_reader *reader, uint32_t id)
{
    struct nk_bytes text = nk_bytes("", 0);
    if (id && id <= reader->strings)
        nk_bytes_part(reader->bytes, reader->string[id - 1].offset, reader->string[id - 1].size, &text);
    return text;
}

bool nk_reader_counter(const struct nk_reader *reader, uint32_t index, uint64_t *value)
{
    for (uint32_t i = 0; i < reader->blocks; i++) {
        const struct nk_rec_counters *block = &reader->block[i];
        if (index >= block->first && index - block->first < block->n)
            return nk_bytes_u64(reader->bytes, block->offset + 8 * (uint64_t)(index - block->first), value);
    }
    return false;
}

void nk_reader_close(struct nk_reader *reader)
{
    free(reader->string);
    free(reader->block);
    *reader = (struct nk_reader){0};
}

void nk_record_head(const struct nk_record *record, void *out, size_t size)
{
    memset(out, 0, size);
    nk_bytes_copy(record->head, 0, out, record->head.size < size ? record->head.size : size);
}

bool nk_record_holds(const struct nk_record *record, uint64_t count, size_t size)
{
    return count <= record->tail.size / size;
}
