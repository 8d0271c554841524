// kinds.c - what kind of work a kernel does, by the words in its name.
#define _GNU_SOURCE
#include "report/kinds.h"
#include "advice/knowledge.h"
#include "report/words.h"

#include <string.h>

// Does one of the words ("gemm;Gemm") stand in the name? No words at all: any name will do.
static bool holds(const char *name, size_t size, const char *words)
{
    if (!*words) return true;
    for (const char *end; *words; words = end + (*end == ';')) {
        end = strchrnul(words, ';');
        if (memmem(name, size, words, (size_t)(end - words))) return true;
    }
    return false;
}

unsigned nk_kind_of(const char *mangled, const char *library)
{
    const struct nk_knowledge *table = &nk_known_kernel_kinds;
    const char *file = nk_words_base(library);
    size_t size = strlen(mangled);
    for (int row = 1; size && row < table->rows; row++) {
        const char *prefix = nk_known(table, row, NK_WORK_LIBRARY);
        if (strncmp(file, prefix, strlen(prefix)) || !holds(mangled, size, nk_known(table, row, NK_WORK_WORDS)))
            continue;
        return (unsigned)nk_known_row(table, NK_WORK_KIND, nk_known(table, row, NK_WORK_KIND));
    }
    return NK_KIND_OTHER;
}

const char *nk_kind_word(unsigned kind)
{
    const struct nk_knowledge *table = &nk_known_kernel_kinds;
    if (kind == NK_KIND_OTHER) return "other";
    if (kind >= (unsigned)table->rows) return NULL;
    const char *word = nk_known(table, (int)kind, NK_WORK_KIND);
    return nk_known_row(table, NK_WORK_KIND, word) == (int)kind ? word : NULL;
}
