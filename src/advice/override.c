// override.c - reading rows that take the place of embedded ones, or stand before them.
//
// A file has the form of those in knowledge/: a heading, then a row a line, cells separated by tabs. Its heading may
// name the columns in any order, and leave out all but those that tell rows apart and the source. A row with the key of
// an embedded one replaces it. Empty lines and lines that begin with "#" do not count.
#define _GNU_SOURCE
#include "advice/override.h"
#include "advice/knowledge.h"
#include "base/file.h"
#include "verdict/arch.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_COLUMNS = 16, MOST_BYTES = 16 << 20, MOST_ROWS = 100000 };

static struct table {
    const char *name, *columns, *keys;
    struct nk_knowledge *table;
    struct nk_knowledge embedded;
    char *text;         // of the rows that were read
    const char **cells; // ours, NULL when the table is the embedded one
} tables[] = {
#define TABLE(table, NAME, columns, keys) {#table, columns, keys, &nk_known_##table, {0}, NULL, NULL},
    NK_KNOWLEDGE_LIST(TABLE)
#undef TABLE
};
enum { TABLES = sizeof tables / sizeof *tables };

// A file while it is read.
struct file {
    const struct table *table;
    const char *where;
    struct nk_err *err;
    int columns, column[MOST_COLUMNS]; // what stands in its cells, by the table's columns
    const char **cells;
    int rows, room, line;
};

// ---- words

// The place of a word in a list separated by spaces, or -1.
static int place_of(const char *list, const char *word, size_t size)
{
    for (int i = 0; *list; i++) {
        size_t length = strcspn(list, " ");
        if (length == size && !strncmp(list, word, size)) return i;
        list += length + (list[length] == ' ');
    }
    return -1;
}

static bool is_in(const char *list, const char *word) { return place_of(list, word, strlen(word)) >= 0; }

static const char *column_name(const struct table *t, int column, char out[32])
{
    const char *at = t->columns;
    while (column--) at = strchr(at, ' ') + 1;
    snprintf(out, 32, "%.*s", (int)strcspn(at, " "), at);
    return out;
}

// ---- cells

static bool archs_are_known(const char *list)
{
    while (*list) {
        char one[16];
        struct nk_arch arch;
        size_t size = strcspn(list, ";");
        snprintf(one, sizeof one, "%.*s", (int)size, list);
        if (!size || size >= sizeof one || nk_arch_parse(one, &arch, NULL) || nk_arch_kin(arch.sm) == NK_KIN_UNKNOWN)
            return false;
        list += size + (list[size] == ';');
    }
    return true;
}

static int bad(const struct file *f, const char *column, const char *cell, const char *expected)
{
    return nk_fail(f->err, NK_ERR_BAD_INPUT, "%s:%d: %s \"%.40s\": %s", f->where, f->line, column, cell, expected);
}

static int check_cell(const struct file *f, const char *column, const char *cell)
{
    if (!*cell)
        return place_of(f->table->keys, column, strlen(column)) == 0
                   ? bad(f, column, cell, "a text was expected: it tells rows apart")
               : !strcmp(column, "source") ? bad(f, column, cell, "who says so was expected")
                                           : 0;
    if (is_in("sass ptx linalg extra arches", column) && !archs_are_known(cell))
        return bad(f, column, cell, "architectures were expected, as 80;90a;120");
    if (is_in("variant cuda", column) && !nk_version_cuda(cell))
        return bad(f, column, cell, "a version of CUDA was expected, as 12.8 or cu128");
    if (!strcmp(column, "sm") && nk_arch_kin(atoi(cell)) == NK_KIN_UNKNOWN)
        return bad(f, column, cell, "the number of an architecture was expected, as 120");
    if (!strcmp(column, "machine") && strcmp(cell, "x86_64") && strcmp(cell, "aarch64"))
        return bad(f, column, cell, "x86_64 or aarch64 was expected");
    return 0;
}

// ---- lines

static int heading(struct file *f, char *line)
{
    const struct table *t = f->table;
    char *rest = line, name[32];
    bool there[MOST_COLUMNS] = {false};
    for (char *word; (word = strsep(&rest, "\t"));) {
        int place = place_of(t->columns, word, strlen(word));
        if (place < 0 || f->columns == MOST_COLUMNS)
            return nk_fail(f->err, NK_ERR_BAD_INPUT, "%s:%d: there is no column \"%.40s\" in %s; there are: %s",
                           f->where, f->line, word, t->name, t->columns);
        if (there[place])
            return nk_fail(f->err, NK_ERR_BAD_INPUT, "%s:%d: the column %.40s stands there twice", f->where, f->line,
                           word);
        there[place] = true;
        f->column[f->columns++] = place;
    }
    for (int i = 0; i < t->embedded.columns; i++) {
        column_name(t, i, name);
        if (!there[i] && (is_in(t->keys, name) || !strcmp(name, "source")))
            return nk_fail(f->err, NK_ERR_BAD_INPUT, "%s:%d: the column %s is missing", f->where, f->line, name);
    }
    return 0;
}

static int row(struct file *f, char *line)
{
    int count = 0, columns = f->table->embedded.columns;
    char *rest = line, name[32];
    if (f->rows == f->room) {
        int room = f->room ? f->room * 2 : 64;
        const char **cells = reallocarray(f->cells, (size_t)room * (size_t)columns, sizeof *cells);
        if (!nk_got(cells) || room > MOST_ROWS) {
            if (cells) f->cells = cells;
            return nk_fail(f->err, NK_ERR_LIMIT, "%s: fewer than %d rows were expected", f->where, MOST_ROWS);
        }
        f->cells = cells;
        f->room = room;
    }
    const char **cells = f->cells + (size_t)f->rows * (size_t)columns;
    for (int i = 0; i < columns; i++) cells[i] = "";
    for (char *word; (word = strsep(&rest, "\t")); count++)
        if (count < f->columns) cells[f->column[count]] = word;
    if (count != f->columns)
        return nk_fail(f->err, NK_ERR_BAD_INPUT, "%s:%d: %d cells, the heading has %d (they are separated by tabs)",
                       f->where, f->line, count, f->columns);
    for (int i = 0; i < columns; i++)
        if (check_cell(f, column_name(f->table, i, name), cells[i])) return -1;
    f->rows++;
    return 0;
}

static int lines(struct file *f, char *text)
{
    for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
        size_t size = strlen(line);
        f->line++;
        if (size && line[size - 1] == '\r') line[size - 1] = 0;
        if (!*line || *line == '#') continue;
        if (f->columns ? row(f, line) : heading(f, line)) return -1;
    }
    if (f->columns) return 0;
    return nk_fail(f->err, NK_ERR_BAD_INPUT, "%s: a heading was expected: %s", f->where, f->table->columns);
}

// ---- tables

static bool same_key(const struct table *t, const char *const *a, const char *const *b)
{
    char name[32];
    for (int i = 0; i < t->embedded.columns; i++)
        if (is_in(t->keys, column_name(t, i, name)) && strcmp(a[i], b[i])) return false;
    return true;
}

// The heading, the rows that were read, and the embedded ones that none of them replaces.
static int merge(struct table *t, struct file *f, char *text)
{
    int columns = t->embedded.columns, rows = 1 + f->rows;
    size_t width = (size_t)columns * sizeof *t->cells;
    const char **cells = malloc(width * (size_t)(rows + t->embedded.rows));
    if (!nk_got(cells)) return nk_fail(f->err, NK_ERR_MEMORY, "%s: not enough memory", f->where);
    memcpy(cells, t->embedded.cells, width);
    if (f->rows) memcpy(cells + columns, f->cells, width * (size_t)f->rows);
    for (int e = 1; e < t->embedded.rows; e++) {
        const char *const *old = t->embedded.cells + e * columns;
        bool replaced = false;
        for (int r = 0; r < f->rows && !replaced; r++) replaced = same_key(t, f->cells + r * columns, old);
        if (!replaced) memcpy(cells + rows++ * columns, old, width);
    }
    free(t->text);
    free(t->cells);
    t->text = text;
    t->cells = cells;
    *t->table = (struct nk_knowledge){columns, rows, cells};
    return 0;
}

static struct table *table_of(const char *name, size_t size)
{
    for (size_t i = 0; i < TABLES; i++) {
        if (!tables[i].embedded.cells) tables[i].embedded = *tables[i].table;
        if (strlen(tables[i].name) == size && !strncmp(tables[i].name, name, size)) return &tables[i];
    }
    return NULL;
}

int nk_knowledge_read(const char *name, struct nk_bytes bytes, const char *where, struct nk_err *err)
{
    struct table *t = table_of(name, strlen(name));
    if (!t) return nk_fail(err, NK_ERR_USAGE, "%s: there is no table %.60s", where, name);
    if (bytes.size > MOST_BYTES || nk_bytes_find(bytes, 0, "", 1) >= 0)
        return nk_fail(err, NK_ERR_BAD_INPUT, "%s: a text of at most %d MB was expected", where, MOST_BYTES >> 20);
    struct file f = {.table = t, .where = where, .err = err};
    char *text = malloc(bytes.size + 1);
    if (!nk_got(text)) return nk_fail(err, NK_ERR_MEMORY, "%s: not enough memory", where);
    nk_bytes_copy(bytes, 0, text, bytes.size);
    text[bytes.size] = 0;
    int result = lines(&f, text);
    if (!result) result = merge(t, &f, text);
    free(f.cells);
    if (result) free(text);
    return result;
}

void nk_knowledge_reset(void)
{
    for (size_t i = 0; i < TABLES; i++) {
        if (tables[i].cells) *tables[i].table = tables[i].embedded;
        free(tables[i].text);
        free(tables[i].cells);
        tables[i].text = NULL;
        tables[i].cells = NULL;
    }
}

// ---- files

static int read_file(const char *path, struct nk_err *err)
{
    struct nk_file file;
    char name[64] = "";
    const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    size_t size = strlen(base);
    if (size < 5 || strcmp(base + size - 4, ".tsv") || size >= sizeof name || !table_of(base, size - 4)) {
        struct nk_err names = {0};
        for (size_t i = 0, at = 0; i < TABLES && at < sizeof names.text - 32; i++)
            at += (size_t)snprintf(names.text + at, sizeof names.text - at, " %s.tsv", tables[i].name);
        return nk_fail(err, NK_ERR_USAGE, "%.100s: the name of a table was expected:%s", path, names.text);
    }
    memcpy(name, base, size - 4);
    if (nk_file_open(&file, path, err)) return -1;
    int result = nk_knowledge_read(name, file.bytes, path, err);
    nk_file_close(&file);
    return result;
}

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

static int is_table(const struct dirent *entry)
{
    size_t size = strlen(entry->d_name);
    return size > 4 && entry->d_name[0] != '.' && !strcmp(entry->d_name + size - 4, ".tsv");
}

static int read_folder(const char *path, struct nk_err *err)
{
    struct dirent **list = NULL;
    int result = 0, count = scandir(path, &list, is_table, by_name);
    if (count < 0) return nk_fail(err, NK_ERR_SYSTEM, "%.200s: a folder that can be read was expected", path);
    for (int i = 0; i < count; i++) {
        char *whole = NULL;
        if (!result && asprintf(&whole, "%s/%s", path, list[i]->d_name) < 0)
            result = nk_fail(err, NK_ERR_MEMORY, "%.200s: not enough memory", path);
        else if (!result)
            result = read_file(whole, err);
        free(whole);
        free(list[i]);
    }
    free(list);
    if (!result && !count) return nk_fail(err, NK_ERR_USAGE, "%.200s: a file NAME.tsv was expected in it", path);
    return result;
}

int nk_knowledge_override(const char *path, struct nk_err *err)
{
    struct stat st;
    if (stat(path, &st)) return nk_fail(err, NK_ERR_SYSTEM, "%.200s: there is no such file or folder", path);
    bool folder = S_ISDIR(st.st_mode);
    int result = folder ? read_folder(path, err) : read_file(path, err);
    if (result) nk_knowledge_reset();
    return result;
}
