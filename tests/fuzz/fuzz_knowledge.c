// fuzz_knowledge.c - any bytes as a table of a user's own; the first byte chooses which.
#include "fuzz.h"

#include "advice/advice.h"
#include "advice/knowledge.h"
#include "advice/override.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {
#define NAME(table, NAME, columns, keys) #table,
        NK_KNOWLEDGE_LIST(NAME)
#undef NAME
    };
    struct nk_err err;
    struct nk_advice advice;
    struct nk_advice_case about;
    if (!size) return 0;
    if (!nk_knowledge_read(names[*data % (sizeof names / sizeof *names)], nk_bytes(data + 1, size - 1), "input",
                           &err)) {
        nk_advice_case_init(&about);
        about.package = "torch";
        about.version = "2.4.1+cu121";
        about.target = (struct nk_target){.sm = 120, .driver = 12080};
        about.verdict = (struct nk_verdict){.runs = NK_RUNS_NONE, .reason = NK_REASON_NO_IMAGE, .image = -1};
        nk_advise(&about, NK_ENGLISH, &advice);
        nk_advice_free(&advice);
    }
    nk_knowledge_reset();
    return 0;
}
