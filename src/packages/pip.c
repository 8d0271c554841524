// pip.c - what pip and its kin installed: *.dist-info/RECORD, and .egg folders.
//
// A RECORD names its files relative to the folder of the *.dist-info (site-packages): files in it as
// "torch/lib/libtorch.so", files of the same prefix beside it as "../../libmkl_core.so.2".
#include "base/file.h"
#include "packages/sources.h"

#include <ctype.h>
#include <string.h>

enum { DEEPEST = 64 }; // folders above a file that are looked at

struct search {
    const char *root, *path;
    struct nk_package *out;
    char *installer;
    struct nk_buf site;          // "/x/lib/python3.11/site-packages", without root
    struct nk_buf plain, quoted; // the entry looked for, as CSV may spell it
    struct nk_buf file;          // path that is opened
};

static const char *file_at(struct search *s, const char *info, const char *name)
{
    nk_buf_clear(&s->file);
    nk_buf_format(&s->file, "%s%s/%s/%s", s->root, s->site.data, info, name);
    return s->file.failed ? "" : s->file.data;
}

static void spell(struct search *s, int up, const char *rest)
{
    nk_buf_clear(&s->plain);
    nk_buf_clear(&s->quoted);
    while (up-- > 0) nk_buf_text(&s->plain, "../");
    nk_buf_text(&s->plain, rest);
    if (s->plain.failed) return;
    nk_buf_text(&s->quoted, "\"");
    for (const char *at = s->plain.data; *at; at++) nk_buf_text(&s->quoted, (char[3]){*at, *at == '"' ? '"' : 0, 0});
    nk_buf_text(&s->quoted, "\"");
}

static bool recorded(struct search *s, const char *info)
{
    struct nk_file file;
    if (nk_file_open(&file, file_at(s, info, "RECORD"), NULL)) return false;
    bool found = nk_packages_listed(file.bytes, nk_bytes(s->plain.data, s->plain.size), ",") ||
                 nk_packages_listed(file.bytes, nk_bytes(s->quoted.data, s->quoted.size), ",") ||
                 nk_packages_listed(file.bytes, nk_bytes(s->path, strlen(s->path)), ",");
    nk_file_close(&file);
    return found;
}

// The text between quotes in the value of "key = '...'" or "key: type = '...'", at the start of a line.
static bool assigned(struct nk_bytes text, const char *key, struct nk_bytes *value)
{
    struct nk_bytes line;
    while (nk_packages_line(&text, &line)) {
        uint8_t after = 0;
        if (!nk_bytes_starts(line, key, strlen(key)) || !nk_bytes_u8(line, strlen(key), &after)) continue;
        if (after != ' ' && after != '=' && after != ':') continue;
        int64_t open = nk_bytes_find(line, 0, "'", 1), close;
        const char *quote = open < 0 ? "\"" : "'";
        if (open < 0) open = nk_bytes_find(line, 0, "\"", 1);
        if (open < 0 || (close = nk_bytes_find(line, (uint64_t)open + 1, quote, 1)) < 0) continue;
        return nk_bytes_part(line, (uint64_t)open + 1, (uint64_t)(close - open - 1), value);
    }
    return false;
}

// PyPI's torch calls itself "2.1.2" in METADATA; which CUDA it was built with stands only in torch/version.py.
static void add_local_version(struct search *s)
{
    struct nk_package *p = s->out;
    struct nk_file file;
    struct nk_bytes text;
    if (strncmp(p->name, "torch", 5) || strchr(p->version, '+') || !p->version[0]) return;
    if (nk_file_open(&file, file_at(s, p->name, "version.py"), NULL)) return;
    size_t size = strlen(p->version);
    uint8_t plus = 0;
    if (assigned(file.bytes, "__version__", &text) && nk_bytes_starts(text, p->version, size) &&
        nk_bytes_u8(text, size, &plus) && plus == '+') {
        nk_packages_set(p->version, sizeof p->version, text);
    } else if (assigned(file.bytes, "cuda", &text) && text.size < 8 && size + 12 < sizeof p->version) {
        char digits[8], *end = p->version + size;
        nk_packages_set(digits, sizeof digits, text);
        strcpy(end, "+cu");
        end += 3;
        for (const char *at = digits; *at; at++)
            if (isdigit((unsigned char)*at)) *end++ = *at;
        *end = 0;
    }
    nk_file_close(&file);
}

static void read_installer(struct search *s, const char *info)
{
    struct nk_file file;
    struct nk_bytes rest, line = nk_bytes("", 0);
    if (nk_file_open(&file, file_at(s, info, "INSTALLER"), NULL)) return;
    rest = file.bytes;
    nk_packages_line(&rest, &line);
    nk_packages_set(s->installer, 16, line);
    nk_file_close(&file);
}

static void read_origin(struct search *s, const char *info)
{
    struct nk_file file;
    if (nk_file_open(&file, file_at(s, info, "direct_url.json"), NULL)) return;
    nk_packages_origin(file.bytes, s->out);
    nk_file_close(&file);
}

static int metadata(struct search *s, const char *info, const char *name)
{
    struct nk_file file;
    if (nk_file_open(&file, file_at(s, info, name), NULL)) return 1;
    int result = nk_packages_metadata(file.bytes, s->out);
    nk_file_close(&file);
    return result;
}

static int take(struct search *s, const char *info)
{
    if (metadata(s, info, "METADATA")) return 1;
    add_local_version(s);
    read_installer(s, info);
    // What conda packs has the place where it was built.
    if (strcmp(s->installer, "conda")) read_origin(s, info);
    strcpy(s->out->installer, s->installer);
    return 0;
}

// A guess at the name, only so that the likely RECORD is read first: do "torch/lib/x.so" and "torch-2.1.2" begin alike?
static bool likely(const char *info, const char *entry)
{
    size_t i = 0;
    while (isalnum((unsigned char)entry[i]) && tolower((unsigned char)info[i]) == tolower((unsigned char)entry[i])) i++;
    return i && (!isalnum((unsigned char)entry[i]) || !isalnum((unsigned char)info[i]));
}

// Asks every *.dist-info in the site folder, the likely ones first.
static int ask_site(struct search *s)
{
    if (s->plain.failed || s->quoted.failed || s->site.failed) return 1;
    for (int round = 0; round < 2; round++) {
        struct nk_packages_walk walk = {0};
        for (const char *name; (name = nk_packages_next(&walk, s->root, s->site.data, s->site.size));) {
            if (!nk_packages_ends(name, ".dist-info") || likely(name, s->plain.data) != (round == 0)) continue;
            if (!recorded(s, name) || take(s, name)) continue;
            nk_packages_close(&walk);
            return 0;
        }
    }
    return 1;
}

// The site folders of each Python below prefix + lib: files outside them are recorded with "../".
static int ask_pythons(struct search *s, size_t length, const char *lib, int up)
{
    static const char *const kinds[] = {"site-packages", "dist-packages"};
    struct nk_buf dir = {0};
    struct nk_packages_walk walk = {0};
    int result = 1;
    nk_buf_format(&dir, "%.*s%s", (int)length, s->path, lib);
    spell(s, up, s->path + length + 1);
    for (const char *name; result && !dir.failed && (name = nk_packages_next(&walk, s->root, dir.data, dir.size));)
        for (int kind = 0; !strncmp(name, "python3", 7) && result && kind < 2; kind++) {
            nk_buf_clear(&s->site);
            nk_buf_format(&s->site, "%s/%s/%s", dir.data, name, kinds[kind]);
            result = ask_site(s);
        }
    nk_packages_close(&walk);
    nk_buf_free(&dir);
    return result;
}

// The folder path[0..length) as site-packages, as an .egg, and as the prefix of a Python.
static int ask_folder(struct search *s, size_t length)
{
    nk_buf_clear(&s->site);
    nk_buf_format(&s->site, "%.*s", (int)length, s->path);
    if (s->site.failed) return 1;
    if (nk_packages_ends(s->site.data, ".egg") && !metadata(s, "EGG-INFO", "PKG-INFO")) return 0;
    spell(s, 0, s->path + length + 1);
    if (!ask_site(s)) return 0;
    if (!ask_pythons(s, length, "", 2)) return 0;
    return ask_pythons(s, length, "/lib", 3);
}

int nk_packages_pip(const char *root, const char *path, struct nk_package *out, char installer[16])
{
    struct search s = {.root = root, .path = path, .out = out, .installer = installer};
    size_t length = nk_packages_parent(path, strlen(path));
    int result = 1;
    installer[0] = 0;
    for (int i = 0; result && length && i < DEEPEST; i++, length = nk_packages_parent(path, length))
        result = ask_folder(&s, length);
    if (!result) strcpy(out->source, "pip");
    nk_buf_free(&s.site);
    nk_buf_free(&s.plain);
    nk_buf_free(&s.quoted);
    nk_buf_free(&s.file);
    return result;
}
