// origin.c - where a Python package came from: direct_url.json (PEP 610), and the pyproject.toml of a source tree.
#include "base/buf.h"
#include "packages/sources.h"

#include <string.h>

static void skip(struct nk_bytes text, uint64_t *at, const char *what)
{
    uint8_t byte;
    while (nk_bytes_u8(text, *at, &byte) && strchr(what, byte) && byte) (*at)++;
}

bool nk_packages_json(struct nk_bytes json, const char *key, struct nk_bytes *value)
{
    size_t size = strlen(key);
    uint8_t byte = 0;
    for (int64_t at = 0; (at = nk_bytes_find(json, (uint64_t)at, key, size)) >= 0; at++) {
        uint64_t end = (uint64_t)at + size + 1;
        uint8_t before = 0, after = 0;
        if (!at || !nk_bytes_u8(json, (uint64_t)at - 1, &before) || before != '"') continue;
        if (!nk_bytes_u8(json, end - 1, &after) || after != '"') continue;
        skip(json, &end, " \t\r\n");
        if (!nk_bytes_u8(json, end, &byte) || byte != ':') continue;
        end++;
        skip(json, &end, " \t\r\n");
        if (!nk_bytes_u8(json, end, &byte) || byte != '"') continue;
        int64_t close = nk_bytes_find(json, end + 1, "\"", 1);
        return close >= 0 && nk_bytes_part(json, end + 1, (uint64_t)close - end - 1, value);
    }
    return false;
}

// True when `key` has the value true.
static bool is_true(struct nk_bytes json, const char *key)
{
    int64_t at = nk_bytes_find(json, 0, key, strlen(key));
    uint64_t end = at < 0 ? 0 : (uint64_t)at + strlen(key);
    struct nk_bytes rest;
    skip(json, &end, "\" \t\r\n:");
    return at >= 0 && nk_bytes_from(json, end, &rest) && nk_bytes_starts(rest, "true", 4);
}

static int hex(uint8_t c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

// The path of a file URL: "%20" is a space.
static void add_path(struct nk_buf *out, struct nk_bytes url)
{
    uint8_t byte, high, low;
    for (uint64_t at = 0; nk_bytes_u8(url, at, &byte); at++) {
        if (byte == '%' && nk_bytes_u8(url, at + 1, &high) && nk_bytes_u8(url, at + 2, &low) && hex(high) >= 0 &&
            hex(low) >= 0) {
            byte = (uint8_t)(hex(high) * 16 + hex(low));
            at += 2;
        }
        if (byte < 32 || byte == 127) byte = '?'; // no path of ours, and no command
        nk_buf_add(out, &byte, 1);
    }
}

// A URL without what may be secret: user and password before the host (but the user of ssh), what is asked for.
static void add_url(struct nk_buf *out, struct nk_bytes url)
{
    struct nk_bytes rest;
    int64_t scheme = nk_bytes_find(url, 0, "://", 3);
    uint64_t start = scheme < 0 ? 0 : (uint64_t)scheme + 3, end = url.size, at = start;
    uint8_t byte;
    bool ssh = nk_bytes_starts(url, "ssh://", 6);
    nk_buf_add(out, url.data, start);
    for (uint64_t i = start; nk_bytes_u8(url, i, &byte) && byte != '/'; i++)
        if (byte == '@') at = i + 1;
    if (ssh && at > start) nk_buf_text(out, "git@");
    for (uint64_t i = at; end == url.size && nk_bytes_u8(url, i, &byte); i++)
        if (byte == '?' || byte == '#') end = i;
    if (nk_bytes_part(url, at, end - at, &rest)) nk_buf_add(out, rest.data, rest.size);
}

void nk_packages_origin(struct nk_bytes json, struct nk_package *out)
{
    struct nk_bytes url, vcs, commit;
    struct nk_buf text = {0};
    if (!nk_packages_json(json, "url", &url)) return;
    bool folder = nk_bytes_starts(url, "file://", 7);
    if (folder) {
        nk_bytes_from(url, 7, &url);
        nk_buf_text(&text, is_true(json, "editable") ? "editable:" : "file:");
        add_path(&text, url);
    } else {
        if (nk_packages_json(json, "vcs", &vcs)) nk_buf_format(&text, "%.*s+", (int)vcs.size, (const char *)vcs.data);
        add_url(&text, url);
        if (nk_packages_json(json, "commit_id", &commit))
            nk_buf_format(&text, "@%.*s", (int)commit.size, (const char *)commit.data);
    }
    // Cut short it would be another place.
    if (!text.failed && text.size < sizeof out->origin)
        nk_packages_set(out->origin, sizeof out->origin, nk_bytes(text.data, text.size));
    nk_buf_free(&text);
}

// The text between quotes of a line `key = "..."`.
static bool assigned(struct nk_bytes line, const char *key, struct nk_bytes *value)
{
    uint64_t at = strlen(key);
    uint8_t quote = 0;
    if (!nk_bytes_starts(line, key, at)) return false;
    skip(line, &at, " \t");
    if (!nk_bytes_u8(line, at, &quote) || quote != '=') return false;
    at++;
    skip(line, &at, " \t");
    if (!nk_bytes_u8(line, at, &quote) || (quote != '"' && quote != '\'')) return false;
    int64_t close = nk_bytes_find(line, at + 1, &quote, 1);
    return close >= 0 && nk_bytes_part(line, at + 1, (uint64_t)close - at - 1, value);
}

int nk_packages_pyproject(struct nk_bytes text, struct nk_package *out)
{
    struct nk_bytes line, value;
    bool inside = false;
    while (nk_packages_line(&text, &line)) {
        if (nk_bytes_starts(line, "[", 1))
            inside = nk_bytes_starts(line, "[project]", 9) || nk_bytes_starts(line, "[tool.poetry]", 13);
        else if (inside && !*out->name && assigned(line, "name", &value))
            nk_packages_set(out->name, sizeof out->name, value);
        else if (inside && !*out->version && assigned(line, "version", &value))
            nk_packages_set(out->version, sizeof out->version, value);
    }
    return !*out->name;
}
