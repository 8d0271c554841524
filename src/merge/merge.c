// merge.c - the set of reports: facts and texts kept once, counts packed.
#define _GNU_SOURCE
#include "merge/merge.h"
#include "base/json_text.h"

#include <stdlib.h>
#include <string.h>

uint64_t nk_merge_sum(uint64_t a, uint64_t b) { return a > INT64_MAX || b > INT64_MAX - a ? INT64_MAX : a + b; }

const char *nk_seen_word(enum nk_seen seen)
{
    static const char *const words[] = {"missing", "hollow", "jit", "ran", "unknown", "native", "gpu"};
    return words[seen < NK_SEEN_COUNT ? seen : NK_SEEN_UNKNOWN];
}

const char *nk_merge_path(const char *path)
{
    static const char *const roots[] = {"/site-packages/", "/dist-packages/"};
    const char *slash = strrchr(path, '/'), *inside = NULL;
    for (size_t i = 0; i < 2; i++)
        for (const char *at = path; (at = strstr(at, roots[i])); at++)
            if (!inside || at + strlen(roots[i]) > inside) inside = at + strlen(roots[i]);
    while (inside && *inside == '/') inside++;
    return inside && strncmp(inside, "~/", 2) ? inside : slash ? slash + 1 : path;
}

// ---- a report

void nk_merge_report_add(struct nk_merge_report *report, const struct nk_fact *fact, uint64_t count)
{
    if (report->count == report->room) {
        size_t room = report->room ? report->room * 2 : 64;
        struct nk_merge_item *more = realloc(report->item, room * sizeof *more);
        if (!more) {
            report->failed = true;
            return;
        }
        report->item = more;
        report->room = room;
    }
    report->item[report->count++] = (struct nk_merge_item){*fact, count};
}

void nk_merge_report_clear(struct nk_merge_report *report)
{
    report->count = 0;
    report->failed = false;
}

void nk_merge_report_free(struct nk_merge_report *report)
{
    free(report->item);
    *report = (struct nk_merge_report){0};
}

// ---- texts and keys, each once

// Room for one more element of two arrays that grow together.
static int grow(void **array, size_t size, uint32_t **next, size_t count, size_t *room)
{
    if (count < *room) return 0;
    size_t more = *room ? *room * 2 : 256;
    void *data = realloc(*array, more * size);
    if (!data) return -1;
    *array = data;
    uint32_t *chain = next ? realloc(*next, more * sizeof *chain) : NULL;
    if (next && !chain) return -1;
    if (next) *next = chain;
    *room = more;
    return 0;
}

static uint32_t first(const struct nk_table *table, uint64_t hash)
{
    return (uint32_t)(uintptr_t)nk_table_get(table, hash);
}

// The one with number `number` becomes the first of its hash.
static int link_in(struct nk_table *table, uint64_t hash, uint32_t *next, size_t number)
{
    next[number] = first(table, hash);
    return nk_table_put(table, hash, (void *)(uintptr_t)(number + 1));
}

// A new text as it may be shown: valid UTF-8 without control characters. A line end parts the kernels of ONE_OF.
static char *clean(const char *text, bool lines)
{
    json_t *valid = nk_json_text(text);
    char *copy = valid ? strdup(json_string_value(valid)) : NULL;
    json_decref(valid);
    for (char *c = copy; c && *c; c++) {
        unsigned char before = c > copy ? (unsigned char)c[-1] : 0, this = (unsigned char)*c;
        bool c1 = before == 0xc2 && this < 0xa0;
        if ((this < 32 && !(lines && *c == '\n')) || this == 127 || c1) *c = '?';
        if (c1) c[-1] = '?';
    }
    return copy;
}

// Is it kept as it is?
static bool plain(const char *text, bool lines)
{
    for (; *text; text++)
        if ((unsigned char)*text >= 127 || ((unsigned char)*text < 32 && !(lines && *text == '\n'))) return false;
    return true;
}

static int64_t intern_text(struct nk_merge *m, const char *text, bool lines)
{
    if (!*text) return 0;
    char *own = plain(text, lines) ? NULL : clean(text, lines);
    const char *as = own ? own : text;
    uint64_t hash = nk_hash_bytes(as, strlen(as));
    for (uint32_t at = first(&m->by_text, hash); at; at = m->next_text[at - 1])
        if (!strcmp(m->texts[at - 1], as)) {
            free(own);
            return at - 1;
        }
    if (!own) own = strdup(text);
    if (!own || m->text_count >= UINT32_MAX - 1 ||
        grow((void **)&m->texts, sizeof *m->texts, &m->next_text, m->text_count, &m->text_room) ||
        link_in(&m->by_text, hash, m->next_text, m->text_count)) {
        free(own);
        return -1;
    }
    m->texts[m->text_count] = own;
    return (int64_t)m->text_count++;
}

static int64_t intern_key(struct nk_merge *m, const struct nk_merge_key *key)
{
    uint64_t hash = nk_hash_bytes(key, sizeof *key);
    for (uint32_t at = first(&m->by_key, hash); at; at = m->next_key[at - 1])
        if (!memcmp(&m->keys[at - 1], key, sizeof *key)) return at - 1;
    if (m->key_count >= UINT32_MAX - 1 ||
        grow((void **)&m->keys, sizeof *m->keys, &m->next_key, m->key_count, &m->key_room) ||
        link_in(&m->by_key, hash, m->next_key, m->key_count))
        return -1;
    m->keys[m->key_count] = *key;
    return (int64_t)m->key_count++;
}

static int64_t key_of(struct nk_merge *m, const struct nk_fact *fact)
{
    struct nk_merge_key key = {.sm = fact->sm,
                               .seen = (uint8_t)fact->seen,
                               .rules = (uint8_t)fact->rules,
                               .memory = fact->memory,
                               .contradiction = fact->contradiction};
    for (int i = 0; i < NK_FACT_TEXTS; i++) {
        int64_t text = intern_text(m, fact->text[i], i == NK_FACT_ONE_OF);
        if (text < 0) return -1;
        key.text[i] = (uint32_t)text;
    }
    return intern_key(m, &key);
}

const char *nk_merge_text(const struct nk_merge *merge, uint32_t number)
{
    return number < merge->text_count ? merge->texts[number] : "";
}

// ---- packed facts: numbers of seven bits a byte, keys as the difference to the one before

struct pair {
    uint64_t key, count;
};

static size_t pack_number(uint8_t *to, uint64_t number)
{
    size_t size = 0;
    for (; number > 127; number >>= 7) to[size++] = (uint8_t)(number | 128);
    to[size++] = (uint8_t)number;
    return size;
}

static uint64_t unpack_number(const struct nk_merge_known *report, uint32_t *at)
{
    uint64_t number = 0;
    for (unsigned shift = 0; *at < report->size; shift += 7) {
        uint8_t byte = report->packed[(*at)++];
        number |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) break;
    }
    return number;
}

bool nk_merge_each(const struct nk_merge_known *report, uint32_t *at, uint32_t *key, uint64_t *count)
{
    if (*at >= report->size) return false;
    uint32_t before = *at ? *key : 0;
    *key = before + (uint32_t)unpack_number(report, at);
    *count = unpack_number(report, at);
    return true;
}

static int pack(struct nk_merge_known *report, const struct pair *pairs, size_t count)
{
    uint8_t *packed = malloc(count * 20 + 1);
    size_t size = 0;
    uint64_t before = 0;
    for (size_t i = 0; packed && i < count; i++) {
        size += pack_number(packed + size, pairs[i].key - before);
        size += pack_number(packed + size, pairs[i].count);
        before = pairs[i].key;
    }
    if (!packed || size > UINT32_MAX) {
        free(packed);
        return -1;
    }
    uint8_t *fit = realloc(packed, size ? size : 1);
    free(report->packed);
    report->packed = fit ? fit : packed;
    report->size = (uint32_t)size;
    return 0;
}

// ---- adding

static int by_key(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    return x->key < y->key ? -1 : x->key > y->key;
}

// Sorts, and makes one of pairs with the same key. Returns how many are left.
static size_t unite(struct pair *pairs, size_t count, uint64_t together(uint64_t, uint64_t))
{
    size_t kept = 0;
    if (count) qsort(pairs, count, sizeof *pairs, by_key);
    for (size_t i = 0; i < count; i++)
        if (kept && pairs[kept - 1].key == pairs[i].key)
            pairs[kept - 1].count = together(pairs[kept - 1].count, pairs[i].count);
        else
            pairs[kept++] = pairs[i];
    return kept;
}

static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

static struct nk_merge_known *known(struct nk_merge *m, uint64_t id)
{
    uint32_t at = first(&m->by_id, id);
    if (at) return &m->reports[at - 1];
    if (m->report_count >= UINT32_MAX - 1 ||
        grow((void **)&m->reports, sizeof *m->reports, NULL, m->report_count, &m->report_room) ||
        nk_table_put(&m->by_id, id, (void *)(uintptr_t)(m->report_count + 1)))
        return NULL;
    m->reports[m->report_count] = (struct nk_merge_known){.id = id};
    return &m->reports[m->report_count++];
}

static size_t facts_of(const struct nk_merge_known *report)
{
    size_t count = 0;
    uint64_t value;
    for (uint32_t at = 0, key = 0; nk_merge_each(report, &at, &key, &value);) count++;
    return count;
}

int nk_merge_add(struct nk_merge *merge, const struct nk_merge_report *report)
{
    if (!merge->text_count) {
        char *none = calloc(1, 1);
        if (!none || grow((void **)&merge->texts, sizeof *merge->texts, &merge->next_text, 0, &merge->text_room)) {
            free(none);
            return -1;
        }
        merge->texts[merge->text_count++] = none;
    }
    struct nk_merge_known *to = known(merge, report->id);
    size_t before = to ? facts_of(to) : 0, count = 0;
    struct pair *pairs = to ? malloc((before + report->count + 1) * sizeof *pairs) : NULL;
    int result = pairs && !report->failed ? 0 : -1;
    for (; !result && count < report->count; count++) {
        int64_t key = key_of(merge, &report->item[count].fact);
        if (key < 0) result = -1;
        pairs[count] = (struct pair){(uint64_t)key, nk_merge_sum(report->item[count].count, 0)};
    }
    if (!result) {
        count = unite(pairs, count, nk_merge_sum);
        for (uint32_t at = 0, key = 0; before-- && nk_merge_each(to, &at, &key, &pairs[count].count);)
            pairs[count++].key = key;
        count = unite(pairs, count, larger);
        result = pack(to, pairs, count);
    }
    free(pairs);
    return result;
}

void nk_merge_free(struct nk_merge *m)
{
    for (size_t i = 0; i < m->text_count; i++) free(m->texts[i]);
    for (size_t i = 0; i < m->report_count; i++) free(m->reports[i].packed);
    free(m->texts);
    free(m->keys);
    free(m->reports);
    free(m->next_text);
    free(m->next_key);
    nk_table_free(&m->by_text);
    nk_table_free(&m->by_key);
    nk_table_free(&m->by_id);
    *m = (struct nk_merge){0};
}
