// memo.c - payloads that were read already, and what was in them.
#include "scan/memo.h"
#include "scan/hash.h"

#include <stdlib.h>
#include <string.h>

#define MOST (4u << 20)

struct remembered {
    size_t size, note;
    uint64_t unpacked;
    uint32_t flags;
    uint8_t codec, bytes[]; // the payload, then the note
};

bool nk_memo_find(const struct nk_memo *memo, const struct nk_entry_view *entry, uint32_t *flags, struct nk_bytes *note)
{
    struct nk_bytes payload = entry->payload;
    if (payload.size > NK_MEMO_LARGEST || !memo->bytes) return false;
    const struct remembered *known = nk_table_get(&memo->known, nk_scan_hash(payload.data, payload.size));
    if (!known || !nk_bytes_equal(payload, nk_bytes(known->bytes, known->size))) return false;
    if (known->codec != entry->image.codec || known->unpacked != entry->unpacked) return false;
    *flags = known->flags;
    *note = nk_bytes(known->bytes + known->size, known->note);
    return true;
}

void nk_memo_add(struct nk_memo *memo, const struct nk_entry_view *entry, uint32_t flags, struct nk_bytes note)
{
    struct nk_bytes payload = entry->payload;
    if (!payload.size || payload.size > NK_MEMO_LARGEST || note.size > NK_MEMO_LARGEST) return;
    size_t size = payload.size + note.size;
    if (size > MOST - memo->bytes) return;
    uint64_t key = nk_scan_hash(payload.data, payload.size);
    if (nk_table_get(&memo->known, key)) return;
    struct remembered *known = malloc(sizeof *known + size);
    if (!known) return;
    *known = (struct remembered){payload.size, note.size, entry->unpacked, flags, entry->image.codec};
    memcpy(known->bytes, payload.data, payload.size);
    if (note.size) memcpy(known->bytes + payload.size, note.data, note.size);
    if (nk_table_put(&memo->known, key, known))
        free(known);
    else
        memo->bytes += size;
}

void nk_memo_free(struct nk_memo *memo)
{
    size_t cursor = 0;
    for (void *known; (known = nk_table_next(&memo->known, &cursor, NULL));) free(known);
    nk_table_free(&memo->known);
    *memo = (struct nk_memo){0};
}
