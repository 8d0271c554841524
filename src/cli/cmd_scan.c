// cmd_scan.c - `nokernel scan`: what files, archives and installations can run on, without GPU or toolkit.
#define _GNU_SOURCE
#include "cli/command.h"
#include "cli/progress.h"
#include "scan/diff.h"
#include "scan/gate.h"
#include "scan/json.h"
#include "scan/text.h"
#include "scan/walk.h"
#include "scan/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int scan_main(int argc, char **argv);

const struct nk_command nk_cmd_scan = {
    .name = "scan",
    .summary = "what a file, a wheel or an installation can run on, without GPU or toolkit",
    .help = "Usage: nokernel scan [OPTIONS] FILE|ARCHIVE|FOLDER ...\n"
            "       nokernel scan [OPTIONS] --diff OLD NEW\n"
            "\n"
            "Lists the GPU code in libraries, programs, .o, .a, .fatbin, .cubin and PTX files, in\n"
            "wheels, conda and Debian packages, zip and tar files, and in folders of all these; and\n"
            "says for each GPU which kernels would run.\n"
            "\n"
            "What to look at, beside files\n"
            "  --python EXE          every package that this Python imports from (or a folder with\n"
            "                        bin/python in it: a virtual environment)\n"
            "  --pid N               every file that the running process N has mapped\n"
            "  --diff                architectures and kernels that NEW gained and lost against OLD\n"
            "\n"
            "What to ask\n"
            "  --gpu SM[@DRIVER],..  GPUs to say a verdict about: sm_120, 12.0@13.0, sm_89@535, all\n"
            "                        (behind @ a CUDA version or the number of a driver)\n"
            "  --kernels             name the kernels: with --gpu those that do not run natively\n"
            "  --quick               read only headers: no kernels, no verdicts\n"
            "  --verify              decode every image whole and compare (slow)\n"
            "  -j N                  threads that decode (as many as there are processors)\n"
            "  --fail-on RULE,..     end with status 4 if with one of the GPUs a library is: none,\n"
            "                        partly (or none), hollow, jit, unknown (see Verdicts)\n"
            "  --expect SM[+ptx],..  end with status 4 unless every kernel has these images:\n"
            "                        sm_75,sm_80,sm_90+ptx\n"
            "\n"
            "How to say it\n"
            "  --json                as JSON (schema nokernel-scan/1, with --diff nokernel-scan-diff/1)\n"
            "  --markdown, --csv     as a table, one row a library and GPU; with --diff what changed\n"
            "  --sarif, --junit      what breaks --fail-on or --expect (SARIF 2.1.0, JUnit XML);\n"
            "                        without either, as with --fail-on partly,unknown\n"
            "  --paths full          do not replace the home directory by ~\n"
            "  --help                this text\n"
            "\n"
            "Verdicts: native, jit (compiled from PTX at the first use), partly (some kernels do\n"
            "not run), hollow (present, but their bodies are empty), none, unknown, empty (no kernel).\n"
            "\n"
            "Exit status: 0 scanned, whatever was found; 1 the output could not be written; 2 wrong\n"
            "usage; 3 something could not be read (named on stderr; the rest was scanned); 4 something\n"
            "breaks --fail-on or --expect (also when something else could not be read).\n",
    .main = scan_main,
};

enum { EXIT_GATE = 4, MOST_THREADS = 16 };

struct words {
    bool kernels, quick, verify, diff, json, markdown, csv, sarif, junit;
    const char *gpu, *paths, *fail_on, *expect, *python, *pid, *threads;
};

struct asked {
    struct words w;
    struct nk_scan_gpus gpus;
    struct nk_scan_gate gate;
    struct nk_scan_show show;
    int threads;
};

static int parse_threads(struct asked *a)
{
    char *end = NULL;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN), wanted = a->w.threads ? strtol(a->w.threads, &end, 10) : cpus;
    if (a->w.threads && (end == a->w.threads || *end || wanted < 1))
        return nk_cli_fail(NK_EXIT_USAGE, "scan: -j %s: a number of threads was expected", a->w.threads);
    a->threads = wanted < 1 ? 1 : wanted > MOST_THREADS ? MOST_THREADS : (int)wanted;
    return NK_EXIT_OK;
}

static int parse(struct asked *a)
{
    struct nk_err err = {0};
    const struct words *w = &a->w;
    if (w->gpu && nk_scan_gpus_parse(w->gpu, &a->gpus, &err))
        return nk_cli_fail(NK_EXIT_USAGE, "scan: --gpu %s", err.text);
    if (w->fail_on && nk_scan_gate_fail_on(w->fail_on, &a->gate, &err))
        return nk_cli_fail(NK_EXIT_USAGE, "scan: --fail-on %s", err.text);
    if (w->expect && nk_scan_gate_expect(w->expect, &a->gate, &err))
        return nk_cli_fail(NK_EXIT_USAGE, "scan: --expect %s", err.text);
    if ((w->sarif || w->junit) && !w->fail_on && !w->expect)
        a->gate.fail_on = 1u << NK_RULE_NONE | 1u << NK_RULE_PARTLY | 1u << NK_RULE_UNKNOWN;
    a->show = (struct nk_scan_show){.gpus = &a->gpus, .names = w->kernels, .full_paths = !strcmp(w->paths, "full")};
    return NK_EXIT_OK;
}

static int check(struct asked *a, int operands)
{
    const struct words *w = &a->w;
    bool gate = w->fail_on || w->expect;
    if (w->json + w->markdown + w->csv + w->sarif + w->junit > 1)
        return nk_cli_fail(NK_EXIT_USAGE, "scan: only one of --json, --markdown, --csv, --sarif and --junit");
    if (w->quick && (w->gpu || w->kernels || gate || w->diff))
        return nk_cli_fail(NK_EXIT_USAGE, "scan: --quick reads no kernels, which --gpu, --kernels, --fail-on, "
                                          "--expect and --diff are about");
    if (w->kernels && !w->diff && (w->csv || w->sarif || w->junit))
        return nk_cli_fail(NK_EXIT_USAGE, "scan: --csv, --sarif and --junit name no kernels: --json --kernels does");
    if (strcmp(w->paths, "short") && strcmp(w->paths, "full"))
        return nk_cli_fail(NK_EXIT_USAGE, "scan: --paths %s: short or full was expected", w->paths);
    if (w->fail_on && !w->gpu) return nk_cli_fail(NK_EXIT_USAGE, "scan: --fail-on needs --gpu");
    if ((w->sarif || w->junit) && !w->gpu && !w->expect)
        return nk_cli_fail(NK_EXIT_USAGE, "scan: --sarif and --junit need --gpu or --expect");
    if (w->diff && (operands != 2 || w->python || w->pid))
        return nk_cli_fail(NK_EXIT_USAGE, "scan: --diff compares two: OLD NEW");
    if (w->diff && (gate || w->sarif || w->junit))
        return nk_cli_fail(NK_EXIT_USAGE, "scan: --diff says what changed and judges none of it: --fail-on, --expect, "
                                          "--sarif and --junit do not go with it (scan NEW alone with them)");
    if (!operands && !w->python && !w->pid)
        return nk_cli_fail(NK_EXIT_USAGE, "scan: a file or a folder was expected; nokernel scan --help");
    int code = parse_threads(a);
    return code ? code : parse(a);
}

// Problems to stderr, one a line.
static int tell_problems(const struct nk_scan *scan)
{
    for (size_t i = 0; i < scan->problem_count; i++)
        nk_cli_fail(NK_EXIT_INPUT, "%s: %s", scan->problems[i].path, scan->problems[i].text);
    if (scan->failed) return nk_cli_fail(NK_EXIT_INPUT, "not enough memory: something is missing in the answer");
    return scan->problem_count ? NK_EXIT_INPUT : NK_EXIT_OK;
}

// What breaks a rule, below the text.
static void write_findings(struct nk_buf *out, const struct asked *a, const struct nk_scan_findings *findings)
{
    if (!findings->count) return;
    nk_buf_format(out, "\nFAILED  %s%s%s%s%s\n", a->w.fail_on ? "--fail-on " : "", a->w.fail_on ? a->w.fail_on : "",
                  a->w.fail_on && a->w.expect ? " " : "", a->w.expect ? "--expect " : "",
                  a->w.expect ? a->w.expect : "");
    for (size_t i = 0; i < findings->count; i++) {
        const struct nk_scan_finding *f = &findings->finding[i];
        nk_buf_text(out, "  ");
        nk_scan_shown(out, f->library->path, a->show.full_paths);
        nk_buf_format(out, ": %s%s%s\n", f->gpu ? f->gpu->text : "", f->gpu ? ": " : "", f->text);
    }
}

static int write_out(struct nk_buf *out)
{
    int code = out->failed ? nk_cli_fail(NK_EXIT_OUTPUT, "not enough memory for the output")
                           : nk_cli_write(STDOUT_FILENO, out);
    nk_buf_free(out);
    return code;
}

// A release that was built without CUDA by mistake has no kernel that could lack an image.
static bool expects_in_vain(struct nk_scan *scan, const struct asked *a, char *const *operands)
{
    uint64_t kernels = 0;
    for (size_t i = 0; i < scan->count; i++)
        for (size_t k = 0; k < scan->items[i]->count; k++) kernels += scan->items[i]->libraries[k]->kernel_count;
    if (!a->w.expect || kernels || scan->problem_count) return false;
    const char *first = *operands ? *operands : a->w.python ? a->w.python : a->w.pid;
    nk_scan_problem_add(scan, first, "no kernel was found, and --expect says what kernels must have");
    return true;
}

static int report(const struct nk_scan *scan, const struct asked *a, bool in_vain)
{
    struct nk_scan_findings findings = {0};
    struct nk_buf out = {0};
    nk_scan_check(scan, &a->gate, &a->gpus, &findings);
    if (a->w.json)
        nk_scan_write_json(&out, scan, &a->show, &findings);
    else if (a->w.sarif)
        nk_scan_write_sarif(&out, scan, &a->show, &findings);
    else if (a->w.junit)
        nk_scan_write_junit(&out, scan, &a->show, &findings);
    else if (a->w.markdown)
        nk_scan_write_markdown(&out, scan, &a->show);
    else if (a->w.csv)
        nk_scan_write_csv(&out, scan, &a->show);
    else
        nk_scan_write_text(&out, scan, &a->show);
    if (!a->w.json && !a->w.sarif && !a->w.junit && !a->w.csv) write_findings(&out, a, &findings);
    if (findings.failed) out.failed = true;
    bool gate = a->w.fail_on || a->w.expect;
    int code = write_out(&out), unread = tell_problems(scan);
    if (!code) code = gate && (findings.count || in_vain) ? EXIT_GATE : unread;
    nk_scan_findings_free(&findings);
    return code;
}

static int differ(char **operands, const struct asked *a, const struct nk_scan_options *how,
                  struct nk_progress *progress)
{
    struct nk_scan old = {0}, new_one = {0};
    struct nk_buf out = {0};
    nk_scan_path(&old, operands[0], how);
    nk_scan_path(&new_one, operands[1], how);
    nk_scan_note_damage(&old);
    nk_scan_note_damage(&new_one);
    nk_progress_end(progress);
    (a->w.json       ? nk_scan_diff_json
     : a->w.markdown ? nk_scan_diff_markdown
     : a->w.csv      ? nk_scan_diff_csv
                     : nk_scan_diff_text)(&out, &old, &new_one, &a->show);
    int code = write_out(&out), first = tell_problems(&old), second = tell_problems(&new_one);
    nk_scan_free(&old);
    nk_scan_free(&new_one);
    return code ? code : first ? first : second;
}

static void tell(void *user, const char *what, uint64_t done, uint64_t all) { nk_progress_tell(user, what, done, all); }

static int scan_main(int argc, char **argv)
{
    struct asked a = {.w = {.paths = "short"}};
    struct words *w = &a.w;
    const struct nk_option options[] = {{"--gpu", &w->gpu, NULL},
                                        {"--kernels", NULL, &w->kernels},
                                        {"--quick", NULL, &w->quick},
                                        {"--diff", NULL, &w->diff},
                                        {"--fail-on", &w->fail_on, NULL},
                                        {"--expect", &w->expect, NULL},
                                        {"--python", &w->python, NULL},
                                        {"--pid", &w->pid, NULL},
                                        {"--json", NULL, &w->json},
                                        {"--markdown", NULL, &w->markdown},
                                        {"--verify", NULL, &w->verify},
                                        {"-j", &w->threads, NULL},
                                        {"--csv", NULL, &w->csv},
                                        {"--sarif", NULL, &w->sarif},
                                        {"--junit", NULL, &w->junit},
                                        {"--paths", &w->paths, NULL},
                                        {0}};
    struct nk_scan scan = {0};
    int code = nk_cli_options(&argc, argv, options, false, &nk_cmd_scan);
    if (code) return code < 0 ? NK_EXIT_OK : code;
    if ((code = check(&a, argc - 1))) return code;
    struct nk_progress progress;
    struct nk_scan_how wanted = {
        .kernels = !w->quick, .verify = w->verify, .threads = a.threads, .all = w->diff || w->expect, .gpus = &a.gpus};
    struct nk_scan_options how = {.how = wanted, .progress = tell, .user = &progress};
    nk_progress_start(&progress, STDERR_FILENO);
    if (w->diff) return differ(argv + 1, &a, &how, &progress);
    for (int i = 1; i < argc; i++) nk_scan_path(&scan, argv[i], &how);
    if (w->python) nk_scan_python(&scan, w->python, &how);
    if (w->pid) nk_scan_process(&scan, w->pid, &how);
    nk_scan_note_damage(&scan);
    bool in_vain = expects_in_vain(&scan, &a, argv + 1);
    nk_progress_end(&progress);
    code = report(&scan, &a, in_vain);
    nk_scan_free(&scan);
    return code;
}
