// gate.c - what must not be found, and what must be there.
#define _GNU_SOURCE
#include "scan/gate.h"
#include "image/kernels.h"
#include "scan/words.h"
#include "verdict/arch.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *word, *sentence, *help;
} rules[NK_RULE_COUNT] = {
    {"none", "No kernel of the library runs on the GPU.",
     "Build it with machine code for this architecture, or with PTX that the driver can compile for it."},
    {"partly", "Some kernels of the library do not run on the GPU.",
     "Give every source file the same list of architectures; --kernels names the kernels that lack one."},
    {"hollow", "Kernels are present for the GPU with an empty body: a launch does nothing.",
     "Look at the conditions on __CUDA_ARCH__ in these kernels, or see to it that they are not launched on this GPU."},
    {"jit", "Kernels have to be compiled from PTX when they are first used.",
     "Add machine code for this architecture if the first use must not wait for the compiler."},
    {"unknown", "It cannot be said whether kernels run on the GPU.",
     "An image could not be read, or is of a kind that is not known: the scan says which on stderr."},
    {"expect", "An image that a release must have is not there.",
     "Build every source file for the architectures that --expect lists."},
};

const char *nk_scan_rule_word(enum nk_scan_rule rule) { return rules[rule].word; }
const char *nk_scan_rule_sentence(enum nk_scan_rule rule) { return rules[rule].sentence; }
const char *nk_scan_rule_help(enum nk_scan_rule rule) { return rules[rule].help; }

// ---- words of the command line

static int take_rule(const char *word, struct nk_scan_gate *gate, struct nk_err *err)
{
    for (int rule = 0; rule < NK_RULE_EXPECT; rule++)
        if (!strcmp(word, rules[rule].word)) {
            gate->fail_on |= 1u << rule;
            return 0;
        }
    return nk_fail(err, NK_ERR_USAGE, "%.32s: none, partly, hollow, jit or unknown was expected", word);
}

static int take_expected(const char *word, struct nk_scan_gate *gate, struct nk_err *err)
{
    char name[32];
    struct nk_arch arch;
    size_t size = strlen(word);
    bool ptx = size > 4 && (!strcmp(word + size - 4, "+ptx") || !strcmp(word + size - 4, "+PTX"));
    if (ptx) size -= 4;
    if (size >= sizeof name) return nk_fail(err, NK_ERR_USAGE, "an architecture like sm_90 or sm_90+ptx was expected");
    memcpy(name, word, size);
    name[size] = 0;
    if (nk_arch_parse(name, &arch, err)) return -1;
    if (gate->expected_count == NK_SCAN_EXPECTED)
        return nk_fail(err, NK_ERR_LIMIT, "at most %d architectures were expected", NK_SCAN_EXPECTED);
    gate->expected[gate->expected_count++] = (struct nk_scan_expected){arch.sm, arch.suffix, ptx};
    return 0;
}

static int each_word(const char *text, int (*take)(const char *, struct nk_scan_gate *, struct nk_err *),
                     struct nk_scan_gate *gate, struct nk_err *err)
{
    int result = 0;
    char *copy = strdup(text), *rest = copy, *word;
    if (!copy) return nk_fail(err, NK_ERR_MEMORY, "not enough memory");
    while (!result && (word = strsep(&rest, ","))) result = take(word, gate, err);
    free(copy);
    return result;
}

int nk_scan_gate_fail_on(const char *text, struct nk_scan_gate *gate, struct nk_err *err)
{
    return each_word(text, take_rule, gate, err);
}

int nk_scan_gate_expect(const char *text, struct nk_scan_gate *gate, struct nk_err *err)
{
    return each_word(text, take_expected, gate, err);
}

// ---- findings

struct place {
    const struct nk_scan_item *item;
    const struct nk_scan_library *library;
};

static void add(struct nk_scan_findings *findings, enum nk_scan_rule rule, struct place place,
                const struct nk_scan_gpu *gpu, struct nk_buf *text)
{
    struct nk_scan_finding *more =
        text->failed ? NULL : nk_scan_grow(findings->finding, findings->count, &findings->room, sizeof *more);
    if (more) {
        findings->finding = more;
        more[findings->count++] = (struct nk_scan_finding){rule, place.item, place.library, gpu, text->data};
        *text = (struct nk_buf){0};
    } else {
        findings->failed = true;
        nk_buf_free(text);
    }
}

static bool broken(enum nk_scan_rule rule, enum nk_scan_word word, const struct nk_scan_counts *counts)
{
    switch (rule) {
    case NK_RULE_NONE:
        return word == NK_SCAN_NONE;
    case NK_RULE_PARTLY:
        return word == NK_SCAN_PARTLY || word == NK_SCAN_NONE;
    case NK_RULE_HOLLOW:
        return counts->hollow > 0;
    case NK_RULE_JIT:
        return counts->jit > 0;
    default:
        return counts->unknown > 0 || word == NK_SCAN_UNKNOWN;
    }
}

static void explain(struct nk_buf *text, enum nk_scan_rule rule, enum nk_scan_word word,
                    const struct nk_scan_counts *counts)
{
    uint64_t all = counts->native + counts->jit + counts->hollow + counts->none + counts->unknown;
    if (rule == NK_RULE_HOLLOW || rule == NK_RULE_JIT) {
        nk_scan_number(text, rule == NK_RULE_JIT ? counts->jit : counts->hollow);
        nk_buf_text(text, " of ");
        nk_scan_count(text, all, "kernel", "kernels");
        nk_buf_text(text, rule == NK_RULE_JIT ? " compiled from PTX" : " present but empty");
    } else {
        nk_scan_detail(text, word, counts);
    }
}

static void check_gpu(struct place place, const struct nk_scan_gpu *gpu, const struct nk_scan_gate *gate,
                      struct nk_scan_findings *findings)
{
    if (!gate->fail_on) return;
    struct nk_scan_counts counts;
    enum nk_scan_word word = nk_scan_judge(place.library, &gpu->target, &counts);
    bool told = false; // "partly" says what "none" says
    for (int rule = 0; rule < NK_RULE_EXPECT; rule++) {
        struct nk_buf text = {0};
        if (!(gate->fail_on & 1u << rule) || !broken((enum nk_scan_rule)rule, word, &counts)) continue;
        if (rule == NK_RULE_PARTLY && told) continue;
        told = true;
        explain(&text, (enum nk_scan_rule)rule, word, &counts);
        add(findings, (enum nk_scan_rule)rule, place, gpu, &text);
    }
}

// Does an image of exactly this target hold the kernels of the shape?
static bool has(const struct nk_scan_library *library, const struct nk_scan_shape *shape, uint16_t kind, int sm,
                char suffix)
{
    for (size_t i = shape->first; i < shape->first + shape->images; i++) {
        const struct nk_image *image = &library->shape_images[i];
        bool held = library->holds[i] == NK_KERNEL_PRESENT || library->holds[i] == NK_KERNEL_HOLLOW;
        if (held && image->kind == kind && image->arch == sm && image->suffix == (uint8_t)suffix) return true;
    }
    return false;
}

static void expect_image(struct place place, const struct nk_scan_expected *wanted, bool ptx,
                         struct nk_scan_findings *findings)
{
    const struct nk_scan_library *library = place.library;
    struct nk_buf text = {0};
    char name[NK_ARCH_TEXT];
    uint64_t lacking = 0;
    for (size_t i = 0; i < library->shape_count; i++)
        if (!has(library, &library->shapes[i], ptx ? NK_KIND_PTX : NK_KIND_CUBIN, wanted->sm, wanted->suffix))
            lacking += library->shapes[i].kernels;
    if (!lacking) return;
    nk_buf_format(&text, "%s%s is expected, ", ptx ? "PTX " : "",
                  nk_arch_text(name, (struct nk_arch){wanted->sm, wanted->suffix, ptx}));
    nk_scan_number(&text, lacking);
    nk_buf_text(&text, " of ");
    nk_scan_count(&text, library->kernel_count, "kernel", "kernels");
    nk_buf_text(&text, " have none");
    add(findings, NK_RULE_EXPECT, place, NULL, &text);
}

static void check_library(struct place place, const struct nk_scan_gate *gate, const struct nk_scan_gpus *gpus,
                          struct nk_scan_findings *findings)
{
    for (size_t i = 0; i < gpus->count; i++) check_gpu(place, &gpus->gpu[i], gate, findings);
    for (size_t i = 0; i < gate->expected_count; i++) {
        expect_image(place, &gate->expected[i], false, findings);
        if (gate->expected[i].ptx) expect_image(place, &gate->expected[i], true, findings);
    }
}

void nk_scan_check(const struct nk_scan *scan, const struct nk_scan_gate *gate, const struct nk_scan_gpus *gpus,
                   struct nk_scan_findings *findings)
{
    findings->judged = gate->fail_on != 0;
    findings->expected = gate->expected_count > 0;
    for (size_t i = 0; i < scan->count; i++)
        for (size_t k = 0; k < scan->items[i]->count; k++)
            check_library((struct place){scan->items[i], scan->items[i]->libraries[k]}, gate, gpus, findings);
}

void nk_scan_findings_free(struct nk_scan_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) free(findings->finding[i].text);
    free(findings->finding);
    *findings = (struct nk_scan_findings){0};
}
