// findings.h - the catalogue of what `nokernel doctor` can find (findings.def). All texts are static.
#ifndef NK_ADVICE_FINDINGS_H
#define NK_ADVICE_FINDINGS_H

#include "advice/texts.h"

enum nk_severity { NK_SEVERITY_NOTE, NK_SEVERITY_WARNING, NK_SEVERITY_FAILURE };

enum nk_finding_name {
#define NK_FINDING(code, name, ...) NK_FINDING_##name,
#include "advice/findings.def"
#undef NK_FINDING
    NK_FINDING_COUNT
};

struct nk_finding_text {
    const char *code, *area; // "D101", "driver"
    enum nk_severity severity;
    const char *sentence[NK_LANGUAGES], *means[NK_LANGUAGES], *not_means[NK_LANGUAGES], *remedy[NK_LANGUAGES];
    const char *command; // "" when there is none
    enum nk_text safety;
    const char *verify; // a command
};

const struct nk_finding_text *nk_finding(enum nk_finding_name name);
// By code ("D101", in either case), or NULL.
const struct nk_finding_text *nk_finding_find(const char *code);
// "note", "warning", "failure".
const char *nk_severity_word(enum nk_severity severity);

#endif
