// parts.c - what the files of the room share: repairs, names, drivers.
#include "advice/parts.h"
#include "verdict/arch.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

struct nk_repair *nk_repair_add(struct nk_advice *out, enum nk_text safe, const char *evidence, enum nk_text text,
                                const char *first, const char *second, const char *third, const char *fourth)
{
    if (out->count == NK_REPAIRS_MOST) return NULL;
    struct nk_repair *repair = &out->repair[out->count++];
    *repair =
        (struct nk_repair){.safe_because = safe, .safe = safe != NK_TEXT_RISK_MOVES && safe != NK_TEXT_RISK_SYSTEM};
    nk_text_add(&repair->text, out->language, text, first, second, third, fourth);
    nk_buf_text(&repair->evidence, evidence);
    return repair;
}

void nk_repair_upstream(struct nk_advice *out, struct nk_repair *repair, const struct nk_advice_case *about)
{
    bool ran = about->result || about->verdict.runs == NK_RUNS_HOLLOW;
    if (!repair || !ran || repair->command.size) return;
    nk_repair_say(out, repair, NK_TEXT_UPSTREAM, NULL);
    nk_buf_text(&repair->command, "nokernel report --last --markdown");
}

void nk_repair_risks(struct nk_repair *repair, enum nk_text risk)
{
    repair->safe_because = risk;
    repair->safe = false;
}

void nk_repair_say(struct nk_advice *out, struct nk_repair *repair, enum nk_text text, const char *first)
{
    if (!repair) return;
    nk_buf_text(&repair->text, out->language == NK_CHINESE ? "；" : "; ");
    nk_text_add(&repair->text, out->language, text, first, NULL, NULL, NULL);
}

const char *nk_name_sm(char out[NK_NAME_TEXT], int sm)
{
    snprintf(out, NK_NAME_TEXT, "sm_%d", sm);
    return out;
}

const char *nk_name_cuda(char out[NK_NAME_TEXT], int cuda)
{
    snprintf(out, NK_NAME_TEXT, "%d.%d", cuda / 1000, cuda % 1000 / 10);
    return out;
}

const char *nk_name_cc(char out[NK_NAME_TEXT], int sm)
{
    snprintf(out, NK_NAME_TEXT, "%d.%d", sm / 10, sm % 10);
    return out;
}

const char *nk_name_driver(char out[NK_NAME_TEXT], int cuda)
{
    char version[NK_NAME_TEXT];
    int row = nk_known_row(&nk_known_cuda_versions, NK_CUDA_CUDA, nk_name_cuda(version, cuda));
    const char *driver = row ? nk_known(&nk_known_cuda_versions, row, NK_CUDA_DRIVER) : "";
    snprintf(out, NK_NAME_TEXT, "%.*s", (int)strcspn(driver, "."), driver);
    return out;
}

bool nk_name_toolkit(struct nk_buf *out, enum nk_language language, int sm)
{
    char name[NK_NAME_TEXT];
    int row = nk_known_row(&nk_known_sm_toolkit, NK_SM_SM, nk_name_sm(name, sm) + 3);
    const char *first = row ? nk_known(&nk_known_sm_toolkit, row, NK_SM_FIRST) : "";
    const char *last = row ? nk_known(&nk_known_sm_toolkit, row, NK_SM_LAST) : "";
    if (!*first) return false;
    nk_text_add(out, language, *last ? NK_TEXT_TOOLKIT_BETWEEN : NK_TEXT_TOOLKIT_FROM, first, last, NULL, NULL);
    return true;
}

const char *nk_known_in(enum nk_language language, const struct nk_knowledge *table, int row, int column)
{
    const char *chinese = language == NK_CHINESE ? nk_known(table, row, column + 1) : "";
    return *chinese ? chinese : nk_known(table, row, column);
}

const char *nk_case_machine(const struct nk_advice_case *about)
{
    bool arm = nk_arch_kin(about->target.sm) == NK_KIN_TEGRA || about->target.sm == 121;
    return arm ? "aarch64" : about->machine;
}

static int folded(char c) { return c == '_' || c == '.' ? '-' : tolower((unsigned char)c); }

bool nk_same_package(const char *a, const char *b)
{
    while (*a && folded(*a) == folded(*b)) a++, b++;
    return !*a && !*b;
}

// CUDA 11 and later run on the first driver of their major version (minor-version compatibility).
bool nk_driver_starts(int driver, int cuda) { return !driver || driver >= (cuda >= 11000 ? cuda / 1000 * 1000 : cuda); }
