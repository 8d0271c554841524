// explain.c - what a word means: errors, reasons, and the way to architectures and GPUs.
#define _GNU_SOURCE
#include "advice/explain.h"
#include "advice/findings.h"
#include "advice/parts.h"
#include "driver/results.h"
#include "verdict/arch.h"
#include "verdict/rules.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

// What helps against a reason for which code does not run. Reasons that name no fault have no row.
static const struct {
    enum nk_reason reason;
    enum nk_text text;
} remedies[] = {
    {NK_REASON_HOLLOW, NK_TEXT_REMEDY_HOLLOW},
    {NK_REASON_CUBIN_ABI_NEWER, NK_TEXT_REMEDY_CUBIN_ABI},
    {NK_REASON_KERNEL_NOT_IN_IMAGE, NK_TEXT_REMEDY_NOT_IN_IMAGE},
    {NK_REASON_CODEC_NEWER_THAN_DRIVER, NK_TEXT_REMEDY_CODEC},
    {NK_REASON_PTX_TOO_NEW_ISA, NK_TEXT_REMEDY_PTX_NEW},
    {NK_REASON_JIT_DISABLED, NK_TEXT_REMEDY_JIT_DISABLED},
    {NK_REASON_FORCE_PTX_NO_PTX, NK_TEXT_REMEDY_FORCE_PTX},
    {NK_REASON_TEGRA, NK_TEXT_REMEDY_TEGRA},
    {NK_REASON_ARCH_SPECIFIC, NK_TEXT_REMEDY_ARCH_SPECIFIC},
    {NK_REASON_FAMILY, NK_TEXT_REMEDY_FAMILY},
    {NK_REASON_PTX_HIGHER_THAN_GPU, NK_TEXT_REMEDY_PTX_HIGHER},
    {NK_REASON_NO_IMAGE, NK_TEXT_REMEDY_NO_IMAGE},
    {NK_REASON_LTO_ONLY, NK_TEXT_REMEDY_LTO},
};

static void drop_empty(struct nk_explained *out)
{
    if (out->count && !out->row[out->count - 1].text.size) nk_buf_free(&out->row[--out->count].text);
}

struct nk_buf *nk_explain_row(struct nk_explained *out, const char *key, const char *label, bool list)
{
    static struct nk_buf nowhere; // a row too many would be a mistake of this file: it is dropped
    drop_empty(out);
    if (out->count == NK_EXPLAIN_ROWS) return &nowhere;
    struct nk_explain_row *row = &out->row[out->count++];
    *row = (struct nk_explain_row){.key = key, .label = label, .list = list};
    return &row->text;
}

static void say(struct nk_explained *out, const char *key, const char *label, const char *text)
{
    if (*text) nk_buf_text(nk_explain_row(out, key, label, false), text);
}

static void say_text(struct nk_explained *out, const char *key, const char *label, enum nk_text text)
{
    say(out, key, label, nk_text_raw(nk_text_language(), text));
}

// ---- results

static void explain_result(struct nk_explained *out, int code, const struct nk_result *result)
{
    struct nk_buf number = {0};
    nk_buf_format(&number, "%d", code);
    int row = number.data ? nk_known_row(&nk_known_errors, NK_ERROR_CODE, number.data) : 0;
    out->kind = "error";
    nk_buf_format(&out->title, "%d", code);
    if (result && result->runtime_name) nk_buf_format(&out->title, " %s", result->runtime_name);
    if (result && result->driver_name)
        nk_buf_format(&out->title, "%s%s", result->runtime_name ? ", " : " ", result->driver_name);
    if (result) say(out, "text", "says", result->text);
    if (row) {
        enum nk_language language = nk_text_language();
        say(out, "means", "means", nk_known_in(language, &nk_known_errors, row, NK_ERROR_MEANS));
        say(out, "does_not_mean", "not", nk_known_in(language, &nk_known_errors, row, NK_ERROR_NOT));
        say(out, "do", "do", nk_known_in(language, &nk_known_errors, row, NK_ERROR_DO));
        say(out, "source", "source", nk_known(&nk_known_errors, row, NK_ERROR_SOURCE));
    } else {
        say_text(out, "means", "means", nk_result_is_image(code) ? NK_TEXT_RESULT_IMAGE : NK_TEXT_RESULT_OTHER);
    }
    nk_buf_free(&number);
}

// Codes of CUDA before 10.1 have a row of their own and mean something else today.
static bool by_number(struct nk_explained *out, const char *word)
{
    char *end;
    long code = strtol(word, &end, 10);
    if (!isdigit((unsigned char)*word) || *end || code > 9999) return false;
    const struct nk_result *result = nk_result_find((int)code);
    if (!result && !nk_known_row(&nk_known_errors, NK_ERROR_CODE, word)) return false;
    explain_result(out, (int)code, result);
    return true;
}

// The number in "CUDA error 209 at x.cu:3", "CUDA driver error: 209", "Cuda failure 209"; 0.
static int number_in(const char *message)
{
    static const char *const whose[] = {"", "driver ", "runtime "}, *const what[] = {"error", "failure"};
    for (const char *at = message; (at = strcasestr(at, "cuda ")); at++)
        for (size_t i = 0; i < 6; i++) {
            const char *word = at + 5 + strlen(whose[i / 2]), *digits = word + strlen(what[i % 2]);
            if (strncasecmp(at + 5, whose[i / 2], strlen(whose[i / 2])) ||
                strncasecmp(word, what[i % 2], strlen(what[i % 2])))
                continue;
            digits += strspn(digits, " :=(#");
            if (!strncasecmp(digits, "code", 4)) digits += 4 + strspn(digits + 4, " :=(");
            size_t size = strspn(digits, "0123456789");
            if (size && size < 4 && nk_result_find(atoi(digits))) return atoi(digits);
        }
    return 0;
}

// The longest text of a result that stands in a message; else its number.
static bool by_message(struct nk_explained *out, const char *word)
{
    const struct nk_result *best = NULL;
    for (int code = 1; code < 1000; code++) {
        const struct nk_result *result = nk_result_find(code);
        if (!result || strlen(result->text) < 8) continue;
        bool in = strcasestr(word, result->text) || (strlen(word) >= 12 && strcasestr(result->text, word));
        if ((result->runtime_name && strstr(word, result->runtime_name)) ||
            (result->driver_name && strstr(word, result->driver_name)))
            in = true;
        if (in && (!best || strlen(result->text) > strlen(best->text))) best = result;
    }
    if (!best && number_in(word)) best = nk_result_find(number_in(word));
    if (best) explain_result(out, best->code, best);
    return best;
}

// ---- reasons

static enum nk_text group(enum nk_reason reason)
{
    if (reason < NK_REASON_HOLLOW) return NK_TEXT_SO_RUNS;
    if (reason == NK_REASON_HOLLOW) return NK_TEXT_SO_HOLLOW;
    if (reason == NK_REASON_EMPTY) return NK_TEXT_SO_EMPTY;
    return reason < NK_REASON_KERNEL_NOT_IN_IMAGE ? NK_TEXT_SO_UNKNOWN : NK_TEXT_SO_NOT;
}

static void explain_reason(struct nk_explained *out, enum nk_reason reason)
{
    struct nk_target target = {0};
    enum nk_language language = nk_text_language();
    out->kind = "reason";
    nk_buf_text(&out->title, nk_reason_key(reason));
    say(out, "means", "means", language == NK_CHINESE ? nk_reason_chinese(reason) : nk_reason_sentence(reason));
    say_text(out, "verdict", "so", group(reason));
    int code = nk_rule_result(reason, NULL, &target);
    if (code) {
        struct nk_buf result = {0};
        nk_buf_format(&result, "%d %s", code, nk_result_name(NK_DRIVER, code));
        nk_text_add(nk_explain_row(out, "result", "error", false), language, NK_TEXT_SO_RESULT, result.data, NULL, NULL,
                    NULL);
        nk_buf_free(&result);
    }
    for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++)
        if (remedies[i].reason == reason) say_text(out, "do", "do", remedies[i].text);
}

static bool by_reason(struct nk_explained *out, const char *word)
{
    for (int r = 1; r < NK_REASON_COUNT; r++) {
        if (strcasecmp(word, nk_reason_key((enum nk_reason)r))) continue;
        explain_reason(out, (enum nk_reason)r);
        return true;
    }
    return false;
}

// ---- findings of doctor

// "{1} has no code for {2}": what is put in stands there as "...".
static const char *const dots[] = {"...",
                                   "...",
                                   "...",
                                   "PYTHON",
                                   "nokernel doctor",
                                   "PYTHON -m pip install ",
                                   "PYTHON -m pip install --force-reinstall --no-deps \"...\"",
                                   "PYTHON -m pip uninstall -y ",
                                   "PYTHON -m pip check"};
enum { DOTS = sizeof dots / sizeof *dots };

static void say_finding(struct nk_explained *out, const char *key, const char *label, const char *text)
{
    if (*text) nk_text_fill(nk_explain_row(out, key, label, false), text, dots, DOTS);
}

// One a line: "D101 driver: there is no NVIDIA driver ...".
static bool list_findings(struct nk_explained *out)
{
    struct nk_buf *row = nk_explain_row(out, "findings", "findings", true);
    out->kind = "findings";
    nk_buf_text(&out->title, "what nokernel doctor can find");
    for (int i = 0; i < NK_FINDING_COUNT; i++) {
        const struct nk_finding_text *f = nk_finding((enum nk_finding_name)i);
        nk_buf_format(row, "%s%s %s: ", i ? "\n" : "", f->code, f->area);
        nk_text_fill(row, f->sentence[nk_text_language()], dots, DOTS);
    }
    return true;
}

static bool by_finding(struct nk_explained *out, const char *word)
{
    if (!strcasecmp(word, "findings")) return list_findings(out);
    const struct nk_finding_text *f = nk_finding_find(word);
    enum nk_language language = nk_text_language();
    if (!f) return false;
    out->kind = "finding";
    nk_buf_format(&out->title, "%s, a %s of nokernel doctor about: %s", f->code, nk_severity_word(f->severity),
                  f->area);
    say_finding(out, "text", "says", f->sentence[language]);
    say_finding(out, "means", "means", f->means[language]);
    say_finding(out, "does_not_mean", "not", f->not_means[language]);
    say_finding(out, "do", "do",
                *f->remedy[language] ? f->remedy[language] : nk_text_raw(language, NK_TEXT_DOCTOR_TELLS));
    say_finding(out, "command", "command", f->command);
    say_finding(out, "verify", "verify", f->verify);
    return true;
}

// ---- architectures and GPUs

static bool known_arch(const char *text, struct nk_arch *arch)
{
    return !nk_arch_parse(text, arch, NULL) && nk_arch_kin(arch->sm) != NK_KIN_UNKNOWN;
}

// "sm_121a" in "ptxas fatal: Value 'sm_121a' is not defined".
bool nk_explain_arch_within(const char *word, struct nk_arch *arch)
{
    static const char *const starts[] = {"sm_", "compute_"};
    for (size_t i = 0; i < 2; i++)
        for (const char *at = word; (at = strcasestr(at, starts[i])); at++) {
            char name[24] = "";
            size_t size = strlen(starts[i]) + strspn(at + strlen(starts[i]), "0123456789");
            if (at[size] == 'a' || at[size] == 'f') size++;
            if (size < sizeof name) memcpy(name, at, size);
            if (known_arch(name, arch)) return true;
        }
    return false;
}

// Does the name hold the word, as whole words?
static bool names_gpu(const char *name, const char *word)
{
    const char *at = strcasestr(name, word);
    return at && strlen(word) > 1 && !isalnum((unsigned char)at[strlen(word)]) &&
           (at == name || strchr(" (", at[-1]) != NULL);
}

// A GPU by its name or by a part of it: "RTX 5090", "h100". The whole name comes first. "RTX" is no GPU.
static bool by_gpu(const char *word, struct nk_arch *arch)
{
    int best = 0, sms = 0;
    for (int row = 1; row < nk_known_gpus.rows; row++) {
        const char *name = nk_known(&nk_known_gpus, row, NK_GPU_NAME);
        if (!names_gpu(name, word)) continue;
        sms +=
            !best || strcmp(nk_known(&nk_known_gpus, best, NK_GPU_SM), nk_known(&nk_known_gpus, row, NK_GPU_SM)) != 0;
        // "RTX 5070" is not "RTX 5070 Ti": of several names the shortest is meant.
        if (!best || strlen(name) < strlen(nk_known(&nk_known_gpus, best, NK_GPU_NAME))) best = row;
    }
    if (!best || (sms > 1 && !strpbrk(word, "0123456789"))) return false;
    *arch = (struct nk_arch){.sm = atoi(nk_known(&nk_known_gpus, best, NK_GPU_SM))};
    return true;
}

bool nk_explain_is_one(const char *words)
{
    struct nk_explained unused = {0};
    struct nk_arch arch;
    int code = 0;
    bool one = by_gpu(words, &arch) || nk_explain_message(&unused, words, &code) || by_message(&unused, words);
    nk_explained_free(&unused);
    return one;
}

bool nk_explain(const char *word, struct nk_explained *out)
{
    struct nk_arch arch;
    *out = (struct nk_explained){0};
    const struct nk_result *named = nk_result_named(word);
    if (by_number(out, word)) return true;
    if (named) {
        explain_result(out, named->code, named);
        return true;
    }
    if (by_reason(out, word) || by_finding(out, word)) return true;
    if (!known_arch(word, &arch)) {
        int code = 0;
        if (nk_explain_message(out, word, &code) && !code) return true;
        if (code) {
            explain_result(out, code, nk_result_find(code));
            return true;
        }
        if (by_message(out, word)) return true;
        if (!by_gpu(word, &arch) && !nk_explain_arch_within(word, &arch)) return false;
    }
    nk_explain_arch(out, &arch);
    drop_empty(out);
    return true;
}

void nk_explained_free(struct nk_explained *explained)
{
    nk_buf_free(&explained->title);
    for (size_t i = 0; i < explained->count; i++) nk_buf_free(&explained->row[i].text);
}

const char *nk_explain_word(size_t i)
{
    static char text[NK_ARCH_TEXT];
    if (i + 1 < NK_REASON_COUNT) return nk_reason_key((enum nk_reason)(i + 1));
    i -= NK_REASON_COUNT - 1;
    if (i < NK_FINDING_COUNT) return nk_finding((enum nk_finding_name)i)->code;
    i -= NK_FINDING_COUNT;
    for (int code = 1; code < 1000; code++) {
        const struct nk_result *result = nk_result_find(code);
        const char *names[] = {result ? result->runtime_name : NULL, result ? result->driver_name : NULL};
        for (size_t n = 0; n < 2; n++)
            if (names[n] && !i--) return names[n];
    }
    for (int sm = 0; (sm = nk_arch_next(sm));)
        if (!i--) return nk_arch_text(text, (struct nk_arch){.sm = sm});
    return NULL;
}
