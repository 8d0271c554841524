// texts.c - the catalogue of the advice.
#include "advice/texts.h"

#include <stdlib.h>
#include <string.h>

static const char *const texts[][NK_LANGUAGES] = {
#define NK_TEXT(key, english, chinese) {english, chinese},
#include "advice/texts.def"
#undef NK_TEXT
};

const char *nk_text_raw(enum nk_language language, enum nk_text text) { return texts[text][language]; }

// POSIX: of the three locale variables the first that is set and not empty decides.
enum nk_language nk_text_language(void)
{
    static const char *const names[] = {"NOKERNEL_LANG", "LC_ALL", "LC_MESSAGES", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && *value) return strncmp(value, "zh", 2) ? NK_ENGLISH : NK_CHINESE;
    }
    return NK_ENGLISH;
}

void nk_text_fill(struct nk_buf *out, const char *text, const char *const *values, size_t count)
{
    for (const char *at = text; *at;) {
        size_t i = at[0] == '{' && at[1] >= '1' && at[1] <= '9' && at[2] == '}' ? (size_t)(at[1] - '1') : count;
        if (i < count) {
            if (values[i]) nk_buf_text(out, values[i]);
            at += 3;
        } else {
            nk_buf_add(out, at++, 1);
        }
    }
}

void nk_text_add(struct nk_buf *out, enum nk_language language, enum nk_text text, const char *first,
                 const char *second, const char *third, const char *fourth)
{
    const char *const values[] = {first, second, third, fourth};
    nk_text_fill(out, texts[text][language], values, 4);
}
