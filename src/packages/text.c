// text.c - reading lists and header blocks of package managers.
#include "packages/sources.h"

#include <dirent.h>
#include <string.h>

void nk_packages_set(char *field, size_t size, struct nk_bytes text)
{
    size_t n = text.size < size - 1 ? text.size : size - 1;
    for (size_t i = 0; i < n; i++) {
        uint8_t byte = 0;
        nk_bytes_u8(text, i, &byte);
        field[i] = byte < ' ' || byte == 127 ? '?' : (char)byte;
    }
    field[n] = 0;
}

bool nk_packages_line(struct nk_bytes *rest, struct nk_bytes *line)
{
    if (!rest->size) return false;
    int64_t end = nk_bytes_find(*rest, 0, "\n", 1);
    uint64_t length = end < 0 ? rest->size : (uint64_t)end;
    if (!nk_bytes_part(*rest, 0, length, line)) return false;
    nk_bytes_from(*rest, end < 0 ? length : length + 1, rest);
    uint8_t last = 0;
    if (line->size && nk_bytes_u8(*line, line->size - 1, &last) && last == '\r')
        nk_bytes_part(*line, 0, line->size - 1, line);
    return true;
}

static struct nk_bytes trimmed(struct nk_bytes text)
{
    uint8_t byte = 0;
    while (nk_bytes_u8(text, 0, &byte) && (byte == ' ' || byte == '\t')) nk_bytes_from(text, 1, &text);
    while (text.size && nk_bytes_u8(text, text.size - 1, &byte) && (byte == ' ' || byte == '\t'))
        nk_bytes_part(text, 0, text.size - 1, &text);
    return text;
}

bool nk_packages_header(struct nk_bytes text, const char *name, struct nk_bytes *value)
{
    size_t size = strlen(name);
    struct nk_bytes line;
    while (nk_packages_line(&text, &line) && line.size) {
        uint8_t colon = 0;
        if (!nk_bytes_starts(line, name, size) || !nk_bytes_u8(line, size, &colon) || colon != ':') continue;
        nk_bytes_from(line, size + 1, value);
        *value = trimmed(*value);
        return true;
    }
    return false;
}

bool nk_packages_listed(struct nk_bytes text, struct nk_bytes entry, const char *ends)
{
    int64_t hit = -1;
    if (!entry.size) return false;
    while ((hit = nk_bytes_find(text, (uint64_t)(hit + 1), entry.data, entry.size)) >= 0) {
        uint8_t before = '\n', after = '\n';
        if (hit) nk_bytes_u8(text, (uint64_t)hit - 1, &before);
        nk_bytes_u8(text, (uint64_t)hit + entry.size, &after); // stays '\n' at the end of the text
        if (before == '\n' && (after == '\n' || after == '\r' || (after && strchr(ends, after)))) return true;
    }
    return false;
}

size_t nk_packages_parent(const char *path, size_t length)
{
    while (length && path[length - 1] != '/') length--;
    while (length && path[length - 1] == '/') length--;
    return length;
}

bool nk_packages_ends(const char *text, const char *suffix)
{
    size_t size = strlen(text), tail = strlen(suffix);
    return size >= tail && !strcmp(text + size - tail, suffix);
}

void nk_packages_close(struct nk_packages_walk *walk)
{
    if (walk->stream) closedir(walk->stream);
    walk->stream = NULL;
}

const char *nk_packages_next(struct nk_packages_walk *walk, const char *root, const char *dir, size_t length)
{
    if (!walk->opened) {
        struct nk_buf path = {0};
        nk_buf_format(&path, "%s%.*s/", root, (int)length, dir);
        walk->opened = true;
        walk->stream = path.failed ? NULL : opendir(path.data);
        nk_buf_free(&path);
    }
    struct dirent *entry = walk->stream ? readdir(walk->stream) : NULL;
    if (!entry) nk_packages_close(walk);
    return entry ? entry->d_name : NULL;
}

int nk_packages_metadata(struct nk_bytes text, struct nk_package *out)
{
    struct nk_bytes name, version = nk_bytes("", 0);
    if (!nk_packages_header(text, "Name", &name) || !name.size) return 1;
    nk_packages_header(text, "Version", &version);
    nk_packages_set(out->name, sizeof out->name, name);
    nk_packages_set(out->version, sizeof out->version, version);
    return 0;
}
