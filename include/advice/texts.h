// texts.h - what the advice says, in English and in Simplified Chinese (texts.def). All texts are static.
#ifndef NK_ADVICE_TEXTS_H
#define NK_ADVICE_TEXTS_H

#include "base/buf.h"

enum nk_language { NK_ENGLISH, NK_CHINESE, NK_LANGUAGES };

enum nk_text {
#define NK_TEXT(key, english, chinese) NK_TEXT_##key,
#include "advice/texts.def"
#undef NK_TEXT
    NK_TEXT_COUNT
};

// The language that a reader asked for: NOKERNEL_LANG (en, zh), else LC_ALL, LC_MESSAGES or LANG, the first that is
// set.
enum nk_language nk_text_language(void);
// Appends a text with {1} to {4} replaced (NULL: nothing).
void nk_text_add(struct nk_buf *out, enum nk_language language, enum nk_text text, const char *first,
                 const char *second, const char *third, const char *fourth);
// Appends any text with {1} to {count} replaced (NULL: nothing).
void nk_text_fill(struct nk_buf *out, const char *text, const char *const *values, size_t count);
// The text as it stands in the catalogue.
const char *nk_text_raw(enum nk_language language, enum nk_text text);

#endif
