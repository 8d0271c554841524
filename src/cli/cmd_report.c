// cmd_report.c - `nokernel report`: reads recordings again.
#define _GNU_SOURCE
#include "cli/command.h"
#include "cli/held.h"
#include "cli/recordings.h"
#include "report/everywhere.h"
#include "report/exercised.h"
#include "report/json.h"
#include "report/markdown.h"
#include "report/sums.h"
#include "report/text.h"
#include "scan/gpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int report_main(int argc, char **argv);

const struct nk_command nk_cmd_report = {
    .name = "report",
    .summary = "tell again what a recording holds; or what another GPU would have lacked",
    .help = "Usage: nokernel report [OPTIONS] [FILE|FOLDER ...]\n"
            "\n"
            "Reports recordings (.nkr files; of a folder all that are in it). Without any: the last one.\n"
            "\n"
            "Options\n"
            "  --last           the newest recording, or all of the newest `nokernel run`\n"
            "  --json           as JSON (schema nokernel-report/1; one document for all recordings)\n"
            "  --markdown       to paste into an issue\n"
            "  --gpu SM[@DRIVER]\n"
            "                   what would have been missing on another GPU: sm_120, 12.0@12.4, sm_90@535\n"
            "                   (the number of its driver, or the CUDA that it is for; else the recorded one);\n"
            "                   all: a table of every architecture that is known\n"
            "  --coverage       which kinds of kernels ran, by their names, and which the loaded\n"
            "                   libraries hold that were not tried\n"
            "  --kernels        with --gpu all: name every kernel that is missing\n"
            "  --paths full     do not replace home directories by ~\n"
            "  --help           this text\n"
            "\n"
            "Exit status: 0 reported, whatever the report says; 1 the output could not be written;\n"
            "2 wrong usage; 3 a recording could not be read (named on stderr; the others are reported).\n",
    .main = report_main,
};

// "all" becomes *everywhere, with options->driver.
static int parse_gpu(const char *word, struct nk_text_options *options, bool *everywhere)
{
    struct nk_scan_gpus gpus = {.count = 0};
    struct nk_err err;
    if (nk_scan_gpus_parse(word, &gpus, &err)) return nk_cli_fail(NK_EXIT_USAGE, "report: --gpu: %s", err.text);
    *everywhere = !strncmp(word, "all", 3) && (!word[3] || word[3] == '@');
    if (!*everywhere && gpus.count != 1)
        return nk_cli_fail(NK_EXIT_USAGE, "report: --gpu %s: one architecture or all of them (all) was expected", word);
    if (!*everywhere) options->gpu = gpus.gpu[0].target.sm;
    options->driver = gpus.gpu[0].target.driver;
    return NK_EXIT_OK;
}

// What the operands name. NK_EXIT_INPUT when one of them cannot be read; the others are in the list.
static int collect(struct nk_recordings *list, char **operands, bool last)
{
    int code = NK_EXIT_OK;
    struct nk_err err = {0};
    if ((last || !*operands) && nk_recordings_add_last(list, &err)) code = nk_cli_fail(NK_EXIT_INPUT, "%s", err.text);
    for (; *operands; operands++) {
        struct stat st;
        size_t before = list->count;
        bool folder = !stat(*operands, &st) && S_ISDIR(st.st_mode);
        err = (struct nk_err){.text = "not enough memory"};
        if (folder ? nk_recordings_add_folder(list, *operands, &err) : nk_recordings_add(list, *operands))
            code = nk_cli_fail(NK_EXIT_INPUT, "%s", err.text);
        else if (folder && list->count == before)
            code = nk_cli_fail(NK_EXIT_INPUT, "%s: there is no recording in it", *operands);
    }
    return code;
}

// Leaves only what can be read, so that every format is about the same recordings.
static int sift(struct nk_recordings *list)
{
    int code = NK_EXIT_OK;
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct nk_run run;
        struct nk_err err;
        if (nk_run_read(&run, list->path[i], &err)) {
            code = nk_cli_fail(NK_EXIT_INPUT, "%s", err.text);
            free(list->path[i]);
        } else {
            list->path[kept++] = list->path[i];
        }
        nk_run_free(&run);
    }
    list->count = kept;
    return code;
}

// ---- the tables

struct asked {
    bool last, json, markdown, coverage, kernels, everywhere;
    const char *gpu, *paths;
    struct nk_text_options how;
};

// Adds all recordings to what is asked for.
static void add_all(const struct nk_recordings *list, struct nk_exercised *exercised, struct nk_everywhere *everywhere)
{
    for (size_t i = 0; i < list->count; i++) {
        struct nk_run run;
        struct nk_sums sums;
        if (!nk_run_read(&run, list->path[i], NULL)) {
            nk_sums(&run, &sums);
            if (exercised) nk_exercised_add(exercised, &run);
            if (everywhere) nk_everywhere_add(everywhere, &run);
        }
        nk_run_free(&run);
    }
}

static int tables(const struct nk_recordings *list, struct asked *a, struct nk_buf *out, struct nk_err *err)
{
    struct nk_exercised exercised = {0};
    struct nk_everywhere everywhere;
    int result = 0;
    nk_everywhere_init(&everywhere, a->how.driver);
    add_all(list, a->coverage ? &exercised : NULL, a->everywhere ? &everywhere : NULL);
    if (a->coverage) nk_held_read(&exercised);
    if (a->coverage) nk_exercised_sum(&exercised);
    if (a->coverage) a->how.exercised = &exercised;
    if (a->everywhere) a->how.everywhere = &everywhere;
    if (exercised.failed || everywhere.failed)
        result = nk_fail(err, NK_ERR_MEMORY, "not enough memory for the report");
    else if (a->json)
        result = nk_report_json((const char *const *)list->path, list->count, &a->how, out, err);
    else if (a->coverage)
        a->markdown ? nk_exercised_markdown(out, &exercised) : nk_exercised_text(out, &exercised, 0);
    else
        a->markdown ? nk_everywhere_markdown(out, &everywhere, a->kernels)
                    : nk_everywhere_text(out, &everywhere, 0, a->kernels);
    nk_exercised_free(&exercised);
    nk_everywhere_free(&everywhere);
    return result;
}

static int write_report(const struct nk_recordings *list, struct asked *a, struct nk_buf *out, struct nk_err *err)
{
    const char *const *names = (const char *const *)list->path;
    if (a->coverage || a->everywhere) return tables(list, a, out, err);
    if (a->json) return nk_report_json(names, list->count, &a->how, out, err);
    return (a->markdown ? nk_report_markdown : nk_report_text)(names, list->count, &a->how, out, err);
}

static int check(struct asked *a)
{
    if (a->json && a->markdown) return nk_cli_fail(NK_EXIT_USAGE, "report: --json and --markdown exclude each other");
    if (strcmp(a->paths, "short") && strcmp(a->paths, "full"))
        return nk_cli_fail(NK_EXIT_USAGE, "report: --paths %s: short or full was expected", a->paths);
    if (a->coverage && a->gpu)
        return nk_cli_fail(NK_EXIT_USAGE, "report: --coverage is about what ran; it does not go with --gpu");
    a->how = (struct nk_text_options){.colour = nk_cli_colour(STDOUT_FILENO), .full_paths = !strcmp(a->paths, "full")};
    int code = a->gpu ? parse_gpu(a->gpu, &a->how, &a->everywhere) : NK_EXIT_OK;
    if (!code && a->kernels && !a->everywhere)
        code = nk_cli_fail(NK_EXIT_USAGE, "report: --kernels goes with --gpu all");
    return code;
}

static int report_main(int argc, char **argv)
{
    struct asked a = {.paths = "short"};
    const struct nk_option options[] = {{"--last", NULL, &a.last},         {"--json", NULL, &a.json},
                                        {"--markdown", NULL, &a.markdown}, {"--coverage", NULL, &a.coverage},
                                        {"--kernels", NULL, &a.kernels},   {"--gpu", &a.gpu, NULL},
                                        {"--paths", &a.paths, NULL},       {0}};
    int code = nk_cli_options(&argc, argv, options, false, &nk_cmd_report);
    if (code) return code < 0 ? NK_EXIT_OK : code;
    if ((code = check(&a))) return code;

    struct nk_recordings list = {0};
    struct nk_buf out = {0};
    struct nk_err err = {0};
    code = collect(&list, argv + 1, a.last);
    int unread = sift(&list), written = NK_EXIT_OK;
    if (unread) code = unread;
    if (list.count) {
        if (write_report(&list, &a, &out, &err)) code = nk_cli_fail(NK_EXIT_INPUT, "%s", err.text);
        written = nk_cli_write(STDOUT_FILENO, &out);
    }
    nk_buf_free(&out);
    nk_recordings_free(&list);
    return written ? written : code;
}
