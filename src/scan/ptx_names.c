// ptx_names.c - the kernels of PTX text as compilers write it.
//
// A kernel begins a line: ".visible .entry NAME(". Whatever else has ".entry" in it (a comment, a string) ends this
// reading, and so does a comment of the other kind anywhere.
#include "scan/ptx_names.h"
#include "image/ptx.h"

#include <string.h>

#define HEAD 65536u // .version and .target stand in so many bytes: reading them goes up to the end of the text

static const char entry[] = ".entry";

static bool is_blank(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static bool is_name(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
           c == '%';
}

// Nothing but linking directives stands before `at` on its line.
static bool begins_line(struct nk_bytes text, uint64_t at)
{
    for (uint64_t i = at; i > 0 && text.data[i - 1] != '\n'; i--) {
        uint8_t c = text.data[i - 1];
        if (c != '.' && c != ' ' && c != '\t' && (c < 'a' || c > 'z')) return false;
    }
    return true;
}

// Where the body begins (its brace), or a declaration ends (its semicolon).
static bool find_body(struct nk_bytes text, uint64_t at, uint64_t *body)
{
    for (; at < text.size && text.data[at] != '{' && text.data[at] != ';'; at++)
        if (text.data[at] == '/' || text.data[at] == '"') return false;
    *body = at;
    return at < text.size;
}

// The body is empty, or nothing but "ret;".
static bool is_bare(struct nk_bytes text, uint64_t brace)
{
    uint64_t at = brace + 1;
    while (at < text.size && is_blank(text.data[at])) at++;
    if (at + 4 <= text.size && !memcmp(text.data + at, "ret;", 4)) at += 4;
    while (at < text.size && is_blank(text.data[at])) at++;
    return at < text.size && text.data[at] == '}';
}

// Reads the kernel whose ".entry" is at `at`. Returns where the search goes on, 0 when this is not as it should be.
static uint64_t read_kernel(struct nk_bytes text, uint64_t at, struct nk_kernel_view *kernel)
{
    uint64_t name = at + sizeof entry - 1, end, body;
    if (!begins_line(text, at) || name >= text.size || !is_blank(text.data[name])) return 0;
    while (name < text.size && is_blank(text.data[name])) name++;
    for (end = name; end < text.size && is_name(text.data[end]);) end++;
    if (end == name || !find_body(text, end, &body)) return 0;
    *kernel = (struct nk_kernel_view){.name = nk_bytes(text.data + name, (size_t)(end - name)),
                                      .bare_return = text.data[body] == '{' && is_bare(text, body)};
    return body;
}

int nk_ptx_names(struct nk_bytes text, nk_kernel_fn each, void *user)
{
    struct nk_bytes beginning = nk_bytes(text.data, text.size < HEAD ? text.size : HEAD);
    struct nk_ptx_head head;
    struct nk_kernel_view kernel;
    int64_t hit;
    int stop = 0;
    if (nk_ptx_read_head(beginning, &head, NULL) || nk_bytes_find(text, 0, "/*", 2) >= 0) return -1;
    for (uint64_t at = 0; !stop && (hit = nk_bytes_find(text, at, entry, sizeof entry - 1)) >= 0;) {
        if (!(at = read_kernel(text, (uint64_t)hit, &kernel))) return -1;
        stop = each(&kernel, user);
    }
    return stop;
}
