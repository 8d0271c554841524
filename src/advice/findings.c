// findings.c - the catalogue of what `nokernel doctor` can find.
#include "advice/findings.h"

#include <strings.h>

static const struct nk_finding_text findings[] = {
#define NK_FINDING(code, name, area, severity, sentence, sentence_zh, means, means_zh, not_means, not_means_zh,        \
                   remedy, remedy_zh, command, safety, verify)                                                         \
    {#code,                                                                                                            \
     area,                                                                                                             \
     NK_SEVERITY_##severity,                                                                                           \
     {sentence, sentence_zh},                                                                                          \
     {means, means_zh},                                                                                                \
     {not_means, not_means_zh},                                                                                        \
     {remedy, remedy_zh},                                                                                              \
     command,                                                                                                          \
     NK_TEXT_##safety,                                                                                                 \
     verify},
#include "advice/findings.def"
#undef NK_FINDING
};

const struct nk_finding_text *nk_finding(enum nk_finding_name name) { return &findings[name]; }

const struct nk_finding_text *nk_finding_find(const char *code)
{
    for (int i = 0; i < NK_FINDING_COUNT; i++)
        if (!strcasecmp(findings[i].code, code)) return &findings[i];
    return NULL;
}

const char *nk_severity_word(enum nk_severity severity)
{
    static const char *const words[] = {"note", "warning", "failure"};
    return words[severity];
}
