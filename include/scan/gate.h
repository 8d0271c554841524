// gate.h - what must not be found (--fail-on), and what must be there (--expect).
#ifndef NK_SCAN_GATE_H
#define NK_SCAN_GATE_H

#include "scan/gpus.h"

enum nk_scan_rule {
    NK_RULE_NONE,    // no kernel of a library runs
    NK_RULE_PARTLY,  // some or all kernels of a library do not run
    NK_RULE_HOLLOW,  // a kernel would be launched with an empty body
    NK_RULE_JIT,     // a kernel has to be compiled from PTX
    NK_RULE_UNKNOWN, // of a kernel nothing can be said
    NK_RULE_EXPECT,  // an image that must be there is not
    NK_RULE_COUNT
};

enum { NK_SCAN_EXPECTED = 32 };

struct nk_scan_gate {
    unsigned fail_on; // bits by enum nk_scan_rule
    struct nk_scan_expected {
        int sm;
        char suffix;
        bool ptx; // PTX of that target, too
    } expected[NK_SCAN_EXPECTED];
    size_t expected_count;
};

struct nk_scan_finding {
    enum nk_scan_rule rule;
    const struct nk_scan_item *item;
    const struct nk_scan_library *library;
    const struct nk_scan_gpu *gpu; // NULL for EXPECT
    char *text;                    // a sentence
};

struct nk_scan_findings {
    struct nk_scan_finding *finding;
    size_t count, room;
    bool judged, expected; // verdicts for GPUs were held against a rule; images were looked for
    bool failed;           // memory was short
};

// Reads "none,hollow" and "sm_75,sm_80,sm_90+ptx". 0, or -1 with a sentence.
int nk_scan_gate_fail_on(const char *text, struct nk_scan_gate *gate, struct nk_err *err);
int nk_scan_gate_expect(const char *text, struct nk_scan_gate *gate, struct nk_err *err);
// Everything in the scan that breaks a rule of the gate, in its order. Libraries without a kernel break none.
void nk_scan_check(const struct nk_scan *scan, const struct nk_scan_gate *gate, const struct nk_scan_gpus *gpus,
                   struct nk_scan_findings *findings);
void nk_scan_findings_free(struct nk_scan_findings *findings);
// "partly"; what the rule is about, and what to do, in a sentence each.
const char *nk_scan_rule_word(enum nk_scan_rule rule);
const char *nk_scan_rule_sentence(enum nk_scan_rule rule);
const char *nk_scan_rule_help(enum nk_scan_rule rule);

#endif
