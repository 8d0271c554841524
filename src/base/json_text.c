// json_text.c - texts of files and environments as JSON strings.
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
