// json_text.h - texts of files and environments as JSON strings.
#ifndef NK_BASE_JSON_TEXT_H
#define NK_BASE_JSON_TEXT_H

#include <jansson.h>

// A new reference; NULL when memory is short. JSON must be UTF-8, a file name need not be: where a text is not, each of
// its bytes above 127 becomes '?'.
json_t *nk_json_text(const char *text);

#endif
