// cmd_scan.c - `nokernel scan`: what files, archives and installations can run on, without GPU or toolkit.
#define _GNU_SOURCE
#include "cli/command.h"
#include "scan/json.h"
#include "scan/text.h"
#include "scan/walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int scan_main(int argc, char **argv);

const struct nk_command nk_cmd_scan = {
    .name = "scan",
    .summary = "what a file, a wheel or an installation can run on, without GPU or toolkit",
    .help = "Usage: nokernel scan [OPTIONS] FILE|ARCHIVE|FOLDER ...\n"
            "\n"
            "Lists the GPU code in libraries, programs, .o, .a, .fatbin, .cubin and PTX files, in\n"
            "wheels, conda and Debian packages, zip and tar files, and in folders of all these; and\n"
            "says for each GPU which kernels would run.\n"
            "\n"
            "Options\n"
            "  --gpu SM[@DRIVER],..  GPUs to say a verdict about: sm_120, 12.0@13.0, sm_89@535, all\n"
            "                        (behind @ a CUDA version or the number of a driver)\n"
            "  --kernels             name the kernels: with --gpu those that do not run natively\n"
            "  --quick               read only headers: no kernels, no verdicts\n"
            "  --json                as JSON (schema nokernel-scan/1)\n"
            "  --markdown, --csv     as a table, one row a library and GPU\n"
            "  --paths full          do not replace the home directory by ~\n"
            "  --help                this text\n"
            "\n"
            "Verdicts: native, jit (compiled from PTX at the first use), partly (some kernels do\n"
            "not run), hollow (present, but their bodies are empty), none, unknown, empty (no kernel).\n"
            "\n"
            "Exit status: 0 scanned, whatever was found; 1 the output could not be written; 2 wrong\n"
            "usage; 3 something could not be read (named on stderr; the rest was scanned).\n",
    .main = scan_main,
};

struct words {
    bool kernels, quick, json, markdown, csv;
    const char *gpu, *paths;
};

static int check(const struct words *w, struct nk_scan_gpus *gpus)
{
    struct nk_err err = {0};
    if (w->json + w->markdown + w->csv > 1)
        return nk_cli_fail(NK_EXIT_USAGE, "scan: --json, --markdown and --csv exclude each other");
    if (w->quick && (w->gpu || w->kernels))
        return nk_cli_fail(NK_EXIT_USAGE, "scan: --quick reads no kernels, so --gpu and --kernels have no answer");
    if (strcmp(w->paths, "short") && strcmp(w->paths, "full"))
        return nk_cli_fail(NK_EXIT_USAGE, "scan: --paths %s: short or full was expected", w->paths);
    if (w->gpu && nk_scan_gpus_parse(w->gpu, gpus, &err)) return nk_cli_fail(NK_EXIT_USAGE, "scan: --gpu %s", err.text);
    return NK_EXIT_OK;
}

// Problems to stderr, one a line.
static int tell_problems(const struct nk_scan *scan)
{
    for (size_t i = 0; i < scan->problem_count; i++)
        nk_cli_fail(NK_EXIT_INPUT, "%s: %s", scan->problems[i].path, scan->problems[i].text);
    return scan->problem_count ? NK_EXIT_INPUT : NK_EXIT_OK;
}

static int write_out(const struct nk_scan *scan, const struct words *w, const struct nk_scan_gpus *gpus)
{
    struct nk_scan_show show = {.gpus = gpus, .names = w->kernels, .full_paths = !strcmp(w->paths, "full")};
    struct nk_buf out = {0};
    if (w->json)
        nk_scan_write_json(&out, scan, &show);
    else if (w->markdown)
        nk_scan_write_markdown(&out, scan, &show);
    else if (w->csv)
        nk_scan_write_csv(&out, scan, &show);
    else
        nk_scan_write_text(&out, scan, &show);
    int code = out.failed ? nk_cli_fail(NK_EXIT_OUTPUT, "not enough memory for the output")
                          : nk_cli_write(STDOUT_FILENO, &out);
    nk_buf_free(&out);
    return code;
}

static int scan_main(int argc, char **argv)
{
    struct words w = {.paths = "short"};
    const struct nk_option options[] = {{"--gpu", &w.gpu, NULL},           {"--kernels", NULL, &w.kernels},
                                        {"--quick", NULL, &w.quick},       {"--json", NULL, &w.json},
                                        {"--markdown", NULL, &w.markdown}, {"--csv", NULL, &w.csv},
                                        {"--paths", &w.paths, NULL},       {0}};
    struct nk_scan_gpus gpus = {0};
    struct nk_scan scan = {0};
    int code = nk_cli_options(&argc, argv, options, false, &nk_cmd_scan);
    if (code) return code < 0 ? NK_EXIT_OK : code;
    if ((code = check(&w, &gpus))) return code;
    if (argc < 2) return nk_cli_fail(NK_EXIT_USAGE, "scan: a file or a folder was expected; nokernel scan --help");
    struct nk_scan_options how = {.kernels = !w.quick};
    for (int i = 1; i < argc; i++) nk_scan_path(&scan, argv[i], &how);
    code = write_out(&scan, &w, &gpus);
    int unread = tell_problems(&scan);
    if (scan.failed) unread = nk_cli_fail(NK_EXIT_INPUT, "not enough memory: something is missing above");
    nk_scan_free(&scan);
    return code ? code : unread;
}
