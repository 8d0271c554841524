// json_text.c - texts of files and environments as JSON strings, and JSON as text.
#define _GNU_SOURCE
#include "base/json_text.h"

#include <stdlib.h>
#include <string.h>

json_t *nk_json_text(const char *text)
{
    json_t *string = json_string(text);
    if (string) return string;
    char *copy = strdup(text);
    for (char *c = copy; c && *c; c++)
        if ((unsigned char)*c >= 0x80) *c = '?';
    string = json_string(copy ? copy : "");
    free(copy);
    return string;
}

json_t *nk_json_or_null(const char *text) { return text && *text ? nk_json_text(text) : json_null(); }

static int add(const char *part, size_t size, void *out)
{
    nk_buf_add(out, part, size);
    return 0;
}

void nk_json_write(struct nk_buf *out, json_t *value, size_t flags)
{
    if (!value || json_dump_callback(value, add, out, flags)) out->failed = true;
    json_decref(value);
}

void nk_json_write_document(struct nk_buf *out, json_t *document)
{
    nk_json_write(out, document, JSON_INDENT(1));
    nk_buf_text(out, "\n");
}
