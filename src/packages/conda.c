// conda.c - what conda and mamba installed: conda-meta/*.json of the prefix, one a package.
//
// The file is looked for as a quoted string first; JSON is only read in the one that has it, and only so far as to take
// two members of the outermost object.
#include "base/file.h"
#include "packages/sources.h"

#include <string.h>

enum { DEEPEST = 64 };

// Takes the string that starts after the quote at *at; *at moves behind its closing quote. Escapes stay as they are:
// names and versions have none.
static bool string(struct nk_bytes text, uint64_t *at, struct nk_bytes *out)
{
    uint8_t byte;
    uint64_t start = *at;
    while (nk_bytes_u8(text, *at, &byte)) {
        if (byte == '"') {
            nk_bytes_part(text, start, *at - start, out);
            (*at)++;
            return true;
        }
        *at += byte == '\\' ? 2 : 1;
    }
    return false;
}

// The string value of `key` in the outermost object.
static bool member(struct nk_bytes text, const char *key, struct nk_bytes *value)
{
    uint8_t byte;
    int depth = 0;
    bool after_key = false;
    struct nk_bytes word;
    for (uint64_t at = 0; nk_bytes_u8(text, at, &byte);) {
        at++;
        if (byte == '{' || byte == '[') depth++;
        if (byte == '}' || byte == ']') depth--;
        if (byte == ',') after_key = false;
        if (byte != '"') continue;
        if (!string(text, &at, &word)) return false;
        if (after_key && depth == 1) {
            *value = word;
            return true;
        }
        uint64_t next = at;
        while (nk_bytes_u8(text, next, &byte) && (byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t')) next++;
        after_key = depth == 1 && byte == ':' && nk_bytes_equal(word, nk_bytes(key, strlen(key)));
    }
    return false;
}

// What a file of conda-meta says about its package, put into *out. 0, or 1 when it has no name.
typedef int (*take_fn)(struct nk_bytes json, void *out);

static int take_package(struct nk_bytes json, void *into)
{
    struct nk_package *out = into;
    struct nk_bytes name, version;
    if (!member(json, "name", &name)) return 1;
    if (!member(json, "version", &version)) version = nk_bytes("", 0);
    nk_packages_set(out->name, sizeof out->name, name);
    nk_packages_set(out->version, sizeof out->version, version);
    return 0;
}

// "conda-forge" of "https://conda.anaconda.org/conda-forge/linux-64". Other servers are left out: their addresses may
// hold a token.
static bool channel_of(struct nk_bytes json, struct nk_bytes *channel)
{
    static const char *const servers[] = {"https://conda.anaconda.org/", "https://repo.anaconda.com/"};
    if (!member(json, "channel", channel)) return false;
    for (size_t i = 0; i < sizeof servers / sizeof *servers; i++) {
        struct nk_bytes head;
        size_t size = strlen(servers[i]);
        if (!nk_bytes_part(*channel, 0, size, &head) || !nk_bytes_equal(head, nk_bytes(servers[i], size))) continue;
        uint64_t end = channel->size;
        uint8_t byte = 0;
        while (end > size && nk_bytes_u8(*channel, end - 1, &byte) && byte != '/') end--;
        if (end < size + 2 || !nk_bytes_part(*channel, size, end - 1 - size, channel)) return false;
        return nk_bytes_find(*channel, 0, "t/", 2) != 0;
    }
    return nk_bytes_find(*channel, 0, "/", 1) < 0;
}

// "conda-forge::pytorch=2.4.1=cuda120_py311h_0": what conda's manual calls a match specification.
static int take_spec(struct nk_bytes json, void *into)
{
    struct nk_buf *out = into;
    struct nk_bytes word;
    struct nk_package package;
    if (take_package(json, &package)) return 1;
    if (channel_of(json, &word) && word.size) {
        nk_buf_add(out, word.data, word.size);
        nk_buf_text(out, "::");
    }
    nk_buf_format(out, "%s=%s", package.name, package.version);
    if (member(json, "build", &word) && word.size) {
        nk_buf_text(out, "=");
        nk_buf_add(out, word.data, word.size);
    }
    return 0;
}

static int ask_prefix(const char *root, const char *path, size_t length, take_fn take, void *out)
{
    struct nk_buf dir = {0}, entry = {0}, name = {0};
    struct nk_packages_walk walk = {0};
    int result = 1;
    nk_buf_format(&dir, "%.*s/conda-meta", (int)length, path);
    nk_buf_text(&entry, "\"");
    for (const char *at = path + length + 1; *at; at++)
        nk_buf_format(&entry, *at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
    nk_buf_text(&entry, "\"");
    for (const char *json; result && !dir.failed && (json = nk_packages_next(&walk, root, dir.data, dir.size));) {
        struct nk_file file;
        if (!nk_packages_ends(json, ".json")) continue;
        nk_buf_clear(&name);
        nk_buf_format(&name, "%s%s/%s", root, dir.data, json);
        if (name.failed || entry.failed || nk_file_open(&file, name.data, NULL)) continue;
        if (nk_bytes_find(file.bytes, 0, entry.data, entry.size) >= 0) result = take(file.bytes, out);
        nk_file_close(&file);
    }
    nk_packages_close(&walk);
    nk_buf_free(&dir);
    nk_buf_free(&entry);
    nk_buf_free(&name);
    return result;
}

static int ask(const char *root, const char *path, take_fn take, void *out)
{
    size_t length = nk_packages_parent(path, strlen(path));
    int result = 1;
    for (int i = 0; length && result && i < DEEPEST; i++, length = nk_packages_parent(path, length))
        result = ask_prefix(root, path, length, take, out);
    return result;
}

int nk_packages_conda(const char *root, const char *path, struct nk_package *out)
{
    int result = ask(root, path, take_package, out);
    if (!result) strcpy(out->source, "conda");
    return result;
}

int nk_packages_conda_spec(const char *root, const char *path, struct nk_buf *out)
{
    return ask(root, path, take_spec, out);
}
