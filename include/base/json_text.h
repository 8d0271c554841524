// json_text.h - texts of files and environments as JSON strings, and JSON as text.
#ifndef NK_BASE_JSON_TEXT_H
#define NK_BASE_JSON_TEXT_H

#include "base/buf.h"

#include <jansson.h>

// A new reference; NULL when memory is short. JSON must be UTF-8, a file name need not be: where a text is not, each of
// its bytes above 127 becomes '?'.
json_t *nk_json_text(const char *text);
// The same; JSON null for NULL and "", which stand for what is not known.
json_t *nk_json_or_null(const char *text);

// Appends `value`, whose reference it takes, with these flags of jansson. NULL (memory was short while it was made), or
// want of memory now: out->failed.
void nk_json_write(struct nk_buf *out, json_t *value, size_t flags);
// A whole document: indented, with a line end.
void nk_json_write_document(struct nk_buf *out, json_t *document);

#endif
