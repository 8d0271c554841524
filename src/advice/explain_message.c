// explain_message.c - what programs, compilers and libraries print where the driver returns nothing, or not yet.
//
// A row of messages.tsv is known by parts of its text in this order ("*" between them), in any case of letters. Of the
// message itself the architecture and the versions of PTX are taken into the answer.
#define _GNU_SOURCE
#include "advice/explain.h"
#include "advice/parts.h"
#include "verdict/arch.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *cell(int row, int column) { return nk_known(&nk_known_messages, row, column); }

static bool holds(const char *message, const char *pattern)
{
    while (*pattern) {
        char part[128] = "";
        size_t size = strcspn(pattern, "*");
        if (size >= sizeof part) return false;
        memcpy(part, pattern, size);
        message = strcasestr(message, part);
        if (!message) return false;
        message += size;
        pattern += size + (pattern[size] == '*');
    }
    return true;
}

// The architecture that follows one of these words: "CC 8.9", "SM 120", "SM89", "CUDA arch 520" (of __CUDA_ARCH__).
static bool arch_after(const char *message, const char *word, struct nk_arch *arch)
{
    for (const char *at = message; (at = strcasestr(at, word)); at++) {
        const char *digits = at + strlen(word);
        if ((at > message && isalnum((unsigned char)at[-1])) || !isdigit((unsigned char)*digits)) continue;
        char *end;
        long number = strtol(digits, &end, 10);
        if (number > 9999) continue;
        if (*end == '.' && isdigit((unsigned char)end[1]))
            number = number * 10 + end[1] - '0';
        else if (number >= 200)
            number /= 10;
        *arch = (struct nk_arch){.sm = (int)number};
        if (nk_arch_kin(arch->sm) != NK_KIN_UNKNOWN) return true;
    }
    return false;
}

static bool arch_of(const char *message, struct nk_arch *arch)
{
    static const char *const words[] = {"compute capability ", "cuda capability ", "cuda arch ", "cc ", "sm ", "sm"};
    if (nk_explain_arch_within(message, arch)) return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (arch_after(message, words[i], arch)) return true;
    return false;
}

// "8.1" after a word and a quote, if any.
static const char *version_after(char out[NK_NAME_TEXT], const char *message, const char *word)
{
    const char *at = strcasestr(message, word);
    *out = 0;
    if (!at) return out;
    at += strlen(word);
    at += strspn(at, " '\"");
    size_t size = strspn(at, "0123456789.");
    while (size && at[size - 1] == '.') size--;
    if (size < NK_NAME_TEXT) snprintf(out, NK_NAME_TEXT, "%.*s", (int)size, at);
    return out;
}

// The newest CUDA version whose PTX is this one, or the oldest: several share 8.5.
static const char *cuda_of(const char *isa, bool newest)
{
    const char *found = "";
    for (int row = 1; row < nk_known_cuda_versions.rows; row++)
        if (!strcmp(nk_known(&nk_known_cuda_versions, row, NK_CUDA_ISA), isa) && (newest || !*found))
            found = nk_known(&nk_known_cuda_versions, row, NK_CUDA_CUDA);
    return found;
}

static void add_filled(struct nk_buf *out, enum nk_language language, int row, int column, const char *message)
{
    char sm[NK_ARCH_TEXT] = "", number[NK_NAME_TEXT] = "NUMBER", isa[NK_NAME_TEXT], limit[NK_NAME_TEXT],
         driver[NK_NAME_TEXT];
    const char *text = nk_known_in(language, &nk_known_messages, row, column);
    struct nk_buf toolkit = {0};
    struct nk_arch arch;
    if (arch_of(message, &arch)) {
        arch.virtual = false;
        nk_arch_text(sm, arch);
        snprintf(number, sizeof number, "%d", arch.sm);
        nk_explain_toolkits(&toolkit, language, &arch);
    }
    version_after(isa, message, ".version ");
    version_after(limit, message, "version is ");
    nk_name_driver(driver, nk_version_cuda(cuda_of(isa, false)));
    const struct {
        const char *mark, *value;
    } marks[] = {{"{sm}", *sm ? sm : nk_text_raw(language, NK_TEXT_THIS_ARCH)},
                 {"{number}", number},
                 {"{toolkit}", toolkit.data ? toolkit.data : nk_text_raw(language, NK_TEXT_TOOLKIT_KNOWING)},
                 {"{isa}", *isa ? isa : nk_text_raw(language, NK_TEXT_ISA_THIS)},
                 {"{limit}", *limit ? limit : nk_text_raw(language, NK_TEXT_ISA_OLDER)},
                 {"{cuda}", cuda_of(isa, false)},
                 {"{limit_cuda}", cuda_of(limit, true)},
                 {"{driver}", driver}};
    while (*text) {
        size_t i = 0, count = sizeof marks / sizeof *marks;
        while (i < count && strncmp(text, marks[i].mark, strlen(marks[i].mark))) i++;
        nk_buf_add(out, i < count ? marks[i].value : text, i < count ? strlen(marks[i].value) : 1);
        text += i < count ? strlen(marks[i].mark) : 1;
    }
    nk_buf_free(&toolkit);
}

bool nk_explain_message(struct nk_explained *out, const char *message, int *code)
{
    static const struct {
        int column;
        const char *key, *label;
    } rows[] = {
        {NK_MESSAGE_MEANS, "means", "means"}, {NK_MESSAGE_NOT, "does_not_mean", "not"}, {NK_MESSAGE_DO, "do", "do"}};
    enum nk_language language = nk_text_language();
    int row = 1;
    while (row < nk_known_messages.rows && !holds(message, cell(row, NK_MESSAGE_TEXT))) row++;
    if (row == nk_known_messages.rows) return false;
    *code = atoi(cell(row, NK_MESSAGE_CODE));
    if (*code) return true;
    out->kind = "message";
    add_filled(&out->title, language, row, NK_MESSAGE_TITLE, message);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        add_filled(nk_explain_row(out, rows[i].key, rows[i].label, false), language, row, rows[i].column, message);
    nk_buf_text(nk_explain_row(out, "source", "source", false), cell(row, NK_MESSAGE_SOURCE));
    return true;
}
