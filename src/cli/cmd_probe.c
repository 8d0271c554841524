// cmd_probe.c - `nokernel probe`: does each GPU move memory, and does it launch?
#define _GNU_SOURCE
#include "base/json_text.h"
#include "cli/command.h"
#include "doctor/doctor.h"
#include "driver/abi.h"
#include "driver/results.h"
#include "probe/probe.h"
#include "report/words.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int probe_main(int argc, char **argv);

const struct nk_command nk_cmd_probe = {
    .name = "probe",
    .summary = "whether each GPU moves memory, and whether it launches a kernel",
    .help = "Usage: nokernel probe [OPTIONS]\n"
            "\n"
            "Uses each GPU through the driver alone: moves memory there and back, then launches a kernel\n"
            "of its own that fits every GPU, and checks both. Says which step fails and what that means.\n"
            "A program that fails on a GPU that passes lacks code for it, or fails by itself.\n"
            "\n"
            "Options\n"
            "  --gpu N,..     these GPUs only, as the driver numbers them under CUDA_VISIBLE_DEVICES\n"
            "  --timeout SEC  seconds that each GPU may take (30): a driver that hangs is left alone\n"
            "  --json         as JSON (schema nokernel-probe/1)\n"
            "  --paths full   do not replace the home directory by ~\n"
            "  --ptx          print the kernel, which is PTX, and do nothing else\n"
            "  --help         this text\n"
            "\n"
            "Exit status: 0 every GPU passed; 1 the output could not be written; 2 wrong usage; 3 there is\n"
            "no driver or no GPU to probe; 4 a GPU did not pass.\n",
    .main = probe_main,
};

enum { EXIT_NOTHING = NK_EXIT_INPUT, EXIT_FAILED = 4, COLUMNS = 80, LONGEST = 3600 };

struct words {
    const char *gpu, *timeout, *paths;
    bool json, ptx;
    int seconds;
};

struct state {
    struct nk_doctor doctor;
    size_t count; // of GPUs that are probed
    int ordinal[NK_DOCTOR_GPUS];
    struct nk_probe_result result[NK_DOCTOR_GPUS];
};

// ---- the command line

static int check(struct words *w, int operands)
{
    char *end;
    long seconds = strtol(w->timeout, &end, 10);
    if (operands) return nk_cli_fail(NK_EXIT_USAGE, "probe: it takes options only; nokernel probe --help tells more");
    if (strcmp(w->paths, "short") && strcmp(w->paths, "full"))
        return nk_cli_fail(NK_EXIT_USAGE, "probe: --paths %s: short or full was expected", w->paths);
    if (*end || end == w->timeout || seconds < 1 || seconds > LONGEST)
        return nk_cli_fail(NK_EXIT_USAGE, "probe: --timeout %s: seconds from 1 to %d were expected", w->timeout,
                           LONGEST);
    w->seconds = (int)seconds;
    return NK_EXIT_OK;
}

static bool chosen_already(const struct state *s, int ordinal)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->ordinal[i] == ordinal) return true;
    return false;
}

// The GPUs of --gpu, or all of them.
static int choose(struct state *s, const char *list)
{
    for (size_t i = 0; !list && i < s->doctor.gpu_count; i++) s->ordinal[s->count++] = s->doctor.gpus[i].ordinal;
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        size_t size = strcspn(at, ",");
        long number = strspn(at, "0123456789") == size && size && size < 6 ? strtol(at, NULL, 10) : -1;
        if (number < 0) return nk_cli_fail(NK_EXIT_USAGE, "probe: --gpu %s: numbers of GPUs were expected (0,1)", list);
        if (number >= (long)s->doctor.gpu_count)
            return nk_cli_fail(NK_EXIT_USAGE, "probe: --gpu %ld: the driver shows %zu GPU%s, counted from 0", number,
                               s->doctor.gpu_count, s->doctor.gpu_count == 1 ? "" : "s");
        if (!chosen_already(s, (int)number)) s->ordinal[s->count++] = (int)number;
    }
    return NK_EXIT_OK;
}

// ---- findings

static enum nk_finding_name finding_of(const struct nk_probe_result *r)
{
    if (r->end == NK_PROBE_HANGS) return NK_FINDING_PROBE_HANGS;
    if (r->end == NK_PROBE_DIED) return NK_FINDING_PROBE_DIED;
    if (r->end == NK_PROBE_WRONG)
        return r->step == NK_STEP_CHECK ? NK_FINDING_PROBE_WRONG : NK_FINDING_PROBE_MEMORY_WRONG;
    if (r->step <= NK_STEP_CONTEXT) return NK_FINDING_PROBE_CONTEXT;
    if (nk_probe_half(r->step) == NK_PROBE_MEMORY) return NK_FINDING_PROBE_MEMORY;
    if (r->result == NK_CUDA_JIT_COMPILER_NOT_FOUND) return NK_FINDING_PROBE_NO_COMPILER;
    if (r->result == NK_CUDA_JIT_COMPILATION_DISABLED) return NK_FINDING_PROBE_NO_JIT;
    return r->step <= NK_STEP_FIND ? NK_FINDING_PROBE_LOAD : NK_FINDING_PROBE_LAUNCH;
}

static void add_finding(struct state *s, size_t i, int seconds)
{
    const struct nk_probe_result *r = &s->result[i];
    const char *call = nk_probe_call(r->step);
    char gpu[16], second[160], third[64];
    if (r->end == NK_PROBE_WORKS) return;
    snprintf(gpu, sizeof gpu, "%d", s->ordinal[i]);
    snprintf(third, sizeof third, "%d", seconds);
    snprintf(second, sizeof second, "%s", call);
    if (r->end == NK_PROBE_REFUSED)
        snprintf(second, sizeof second, "%s: %d %s", call, r->result, nk_result_name(NK_DRIVER, r->result));
    if (r->end == NK_PROBE_WRONG) snprintf(second, sizeof second, "%u of %u numbers", r->wrong, NK_PROBE_BYTES / 4);
    if (r->end == NK_PROBE_DIED && r->result > 0)
        snprintf(third, sizeof third, "signal %d, %s", r->result, strsignal(r->result));
    else if (r->end == NK_PROBE_DIED)
        snprintf(third, sizeof third, "without a signal");
    struct nk_doctor_finding *f = nk_doctor_find(&s->doctor, finding_of(r), gpu, second, third);
    f->gpu = s->ordinal[i];
    if (r->end == NK_PROBE_WRONG) nk_doctor_see(f, "number %u is 0x%08x, not 0x%08x", r->at, r->got, r->wanted);
    if (*r->log) nk_doctor_see(f, "the driver's compiler says: %s", r->log);
}

// ---- what is said

static bool works(const struct nk_probe_result *r, enum nk_probe_half half)
{
    return r->end == NK_PROBE_WORKS || nk_probe_half(r->step) > half;
}

// "works", "fails" or "not tried". Where compiling is forbidden, launching was not tried.
static const char *word_of(const struct nk_probe_result *r, enum nk_probe_half half)
{
    if (works(r, half)) return "works";
    bool forbidden = r->end == NK_PROBE_REFUSED && r->result == NK_CUDA_JIT_COMPILATION_DISABLED;
    return half > nk_probe_half(r->step) || (half == NK_PROBE_LAUNCH && forbidden) ? "not tried" : "fails";
}

static void headline(struct nk_buf *out, const struct state *s)
{
    size_t passed = 0;
    const struct nk_buf *first = s->doctor.finding_count ? &s->doctor.findings[0]->sentence : NULL;
    for (size_t i = 0; i < s->count; i++) passed += s->result[i].end == NK_PROBE_WORKS;
    nk_buf_text(out, "nokernel probe: ");
    if (passed == s->count && s->count == 1)
        nk_buf_format(out, "memory moves and kernels launch on GPU %d", s->ordinal[0]);
    else if (passed == s->count && s->count)
        nk_buf_format(out, "memory moves and kernels launch on all %zu GPUs that were probed", s->count);
    else if (s->count > 1)
        nk_buf_format(out, "%zu of %zu GPUs did not pass", s->count - passed, s->count);
    else
        nk_buf_text(out, first && first->data ? first->data : nk_text_raw(s->doctor.language, NK_TEXT_PROBE_NOTHING));
}

static void gpu_rows(struct nk_page *page, const struct state *s, size_t i)
{
    static const char *const what[] = {"moving memory", "launching"};
    static const char *const done[] = {"4 MB there and back, unchanged",
                                       "a kernel was compiled, launched, and its numbers are right"};
    const struct nk_probe_result *r = &s->result[i];
    const struct nk_doctor_gpu *gpu = &s->doctor.gpus[s->ordinal[i]];
    struct nk_buf line = {0};
    char label[16];
    snprintf(label, sizeof label, "GPU %d", s->ordinal[i]);
    nk_buf_format(&line, "%s, %s", gpu->name, gpu->text);
    nk_page_buf(page, 2, label, NK_STYLE_STRONG, &line);
    for (int half = NK_PROBE_MEMORY; half <= NK_PROBE_LAUNCH; half++) {
        const char *word = word_of(r, half);
        bool bad = !strcmp(word, "fails");
        if (!strcmp(word, "works"))
            nk_buf_format(&line, "%s works: %s", what[half], done[half]);
        else if (bad)
            nk_buf_format(&line, "%s %s in %s", what[half], r->end == NK_PROBE_HANGS ? "HANGS" : "FAILS",
                          nk_probe_call(r->step));
        else
            nk_buf_format(&line, "%s was not tried", what[half]);
        nk_page_buf(page, 4, "", bad ? NK_STYLE_BAD : NK_STYLE_PLAIN, &line);
    }
}

static void driver_row(struct nk_page *page, const struct state *s)
{
    const struct nk_doctor_driver *d = &s->doctor.driver;
    struct nk_buf line = {0};
    if (*d->version) nk_buf_format(&line, "%s, ", d->version);
    if (d->cuda) nk_buf_format(&line, "CUDA %d.%d", d->cuda / 1000, d->cuda % 1000 / 10);
    if (*d->library) nk_buf_text(&line, line.size ? "  " : "");
    if (*d->library) nk_words_redacted(&line, d->library, s->doctor.asked.full_paths);
    if (line.size) nk_page_buf(page, 2, "driver", NK_STYLE_STRONG, &line);
}

static void text(struct nk_buf *out, struct state *s)
{
    struct nk_page page = {.out = out,
                           .columns = COLUMNS,
                           .colour = nk_cli_colour(STDOUT_FILENO),
                           .full_paths = s->doctor.asked.full_paths};
    struct nk_buf head = {0};
    headline(&head, s);
    nk_page_sentence(&page, 0, head.data ? head.data : "");
    nk_buf_free(&head);
    if (s->doctor.driver.cuda || *s->doctor.driver.library) nk_page_gap(&page);
    driver_row(&page, s);
    for (size_t i = 0; i < s->count; i++) gpu_rows(&page, s, i);
    nk_doctor_write_findings(&page, &s->doctor);
    if (!s->count || s->doctor.finding_count) return;
    nk_page_gap(&page);
    nk_page_sentence(&page, 2, nk_text_raw(s->doctor.language, NK_TEXT_PROBE_NEXT));
}

static json_t *json_gpu(const struct state *s, size_t i)
{
    static const char *const ends[] = {"works", "refused", "wrong", "hangs", "died"};
    const struct nk_probe_result *r = &s->result[i];
    const struct nk_doctor_gpu *gpu = &s->doctor.gpus[s->ordinal[i]];
    json_t *steps = json_array();
    for (int step = 0; step <= (int)r->step; step++) {
        bool last = step == (int)r->step;
        json_array_append_new(steps,
                              json_pack("{s:s, s:s, s:s, s:i}", "step", nk_probe_key(step), "call", nk_probe_call(step),
                                        "end", ends[last ? r->end : NK_PROBE_WORKS], "result", last ? r->result : 0));
    }
    return json_pack("{s:i, s:s, s:s, s:s, s:s, s:o, s:i}", "ordinal", s->ordinal[i], "name", gpu->name, "sm",
                     gpu->text, "memory", word_of(r, NK_PROBE_MEMORY), "launch", word_of(r, NK_PROBE_LAUNCH), "steps",
                     steps, "wrong_numbers", (int)r->wrong);
}

static void json(struct nk_buf *out, const struct state *s, bool passed)
{
    json_t *gpus = json_array();
    for (size_t i = 0; i < s->count; i++) json_array_append_new(gpus, json_gpu(s, i));
    json_t *root =
        json_pack("{s:s, s:s, s:s, s:b, s:o, s:o, s:o}", "schema", "nokernel-probe/1", "version", NK_VERSION,
                  "language", s->doctor.language == NK_CHINESE ? "zh" : "en", "passed", passed, "driver",
                  nk_doctor_json_driver(&s->doctor), "gpus", gpus, "findings", nk_doctor_json_findings(&s->doctor));
    nk_json_write_document(out, root);
}

// ---- the probe

// All GPUs at once: each has its time, and one that hangs costs the others nothing.
static int probe(struct state *s, int seconds)
{
    struct nk_probe probes[NK_DOCTOR_GPUS];
    struct nk_err err;
    for (size_t i = 0; i < s->count; i++)
        if (nk_probe_start(&probes[i], s->ordinal[i], seconds, &err))
            return nk_cli_fail(EXIT_NOTHING, "probe: %s", err.text);
    for (size_t i = 0; i < s->count; i++) {
        nk_probe_finish(&probes[i], &s->result[i]);
        add_finding(s, i, seconds);
    }
    return NK_EXIT_OK;
}

static int run(struct state *s, const struct words *w)
{
    struct nk_buf out = {0};
    const struct nk_doctor_asked asked = {
        .root = "", .command = "nokernel probe", .full_paths = !strcmp(w->paths, "full")};
    nk_doctor_examine_driver(&s->doctor, &asked);
    bool working = s->doctor.driver.state == NK_DRIVER_WORKS && s->doctor.gpu_count;
    int code = working ? choose(s, w->gpu) : NK_EXIT_OK;
    if (!code) code = probe(s, w->seconds);
    if (code) return code;
    bool passed = s->count > 0;
    for (size_t i = 0; i < s->count; i++) passed = passed && s->result[i].end == NK_PROBE_WORKS;
    w->json ? json(&out, s, passed) : text(&out, s);
    code = nk_cli_write(STDOUT_FILENO, &out);
    nk_buf_free(&out);
    return code ? code : passed ? NK_EXIT_OK : s->count ? EXIT_FAILED : EXIT_NOTHING;
}

static int probe_main(int argc, char **argv)
{
    struct words w = {.timeout = "30", .paths = "short"};
    const struct nk_option options[] = {{"--gpu", &w.gpu, NULL},     {"--timeout", &w.timeout, NULL},
                                        {"--paths", &w.paths, NULL}, {"--json", NULL, &w.json},
                                        {"--ptx", NULL, &w.ptx},     {0}};
    int code = nk_cli_options(&argc, argv, options, false, &nk_cmd_probe);
    if (code) return code < 0 ? NK_EXIT_OK : code;
    if ((code = check(&w, argc - 1))) return code;
    if (w.ptx) {
        struct nk_buf out = {0};
        nk_buf_text(&out, nk_probe_ptx);
        code = nk_cli_write(STDOUT_FILENO, &out);
        nk_buf_free(&out);
        return code;
    }
    struct state *s = calloc(1, sizeof *s);
    if (!s) return nk_cli_fail(NK_EXIT_OUTPUT, "probe: not enough memory");
    code = run(s, &w);
    nk_doctor_free(&s->doctor);
    free(s);
    return code;
}
