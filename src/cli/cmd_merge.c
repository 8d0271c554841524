// cmd_merge.c - `nokernel merge`: many reports as one list for the makers of a package.
#define _GNU_SOURCE
#include "base/file.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "merge/gather.h"
#include "merge/show.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int merge_main(int argc, char **argv);

const struct nk_command nk_cmd_merge = {
    .name = "merge",
    .summary = "many reports as one list: which kernels of which package lack which GPU",
    .help = "Usage: nokernel merge [OPTIONS] FILE|FOLDER|ARCHIVE|- ...\n"
            "\n"
            "Merges recordings (.nkr), the JSON of nokernel report and the JSON of nokernel merge, of\n"
            "many machines and versions; of folders and archives all that are in them; - is standard\n"
            "input. A recording counts once, however often and in whichever form it is there. Of the\n"
            "machines it keeps the names of GPUs and drivers alone: no paths above a package, no user,\n"
            "no host, no arguments.\n"
            "\n"
            "Options\n"
            "  --files-from FILE     names of more files, one a line or with a NUL behind each;\n"
            "                        - is standard input\n"
            "  --package NAME        only this package: torch, torch==2.1.2+cu121\n"
            "  --gpu SM,..           only these architectures: sm_120,12.1\n"
            "  --kernels             name every kernel, those that run natively too\n"
            "  --json                as JSON (schema nokernel-merge/1), which can be merged again\n"
            "  --markdown            an issue to paste\n"
            "  --csv                 one row a kernel, architecture and way of running\n"
            "  --fail-on RULE,..     end with status 4 if a kernel is: missing, hollow, jit, unknown;\n"
            "                        or contradiction: a driver did not do what the rules say\n"
            "  --help                this text\n"
            "\n"
            "Exit status: 0 merged, whatever was found; 1 the output could not be written; 2 wrong\n"
            "usage; 3 something could not be read (named on stderr; the rest was merged); 4 something\n"
            "breaks --fail-on (also when something else could not be read).\n",
    .main = merge_main,
};

enum { EXIT_GATE = 4, CONTRADICTION = NK_SEEN_COUNT };

struct asked {
    bool json, markdown, csv, kernels;
    const char *package, *gpu, *fail_on, *files_from;
    unsigned rules; // bits of enum nk_seen, and of CONTRADICTION
    struct nk_merge_filter filter;
};

static int parse_rules(struct asked *a)
{
    static const char *const names[] = {"missing", "hollow", "jit", "unknown", "contradiction", NULL};
    static const unsigned bits[] = {1u << NK_SEEN_MISSING, 1u << NK_SEEN_HOLLOW, 1u << NK_SEEN_JIT,
                                    1u << NK_SEEN_UNKNOWN, 1u << CONTRADICTION};
    char *copy = strdup(a->fail_on), *rest = copy, *word;
    int code = copy ? NK_EXIT_OK : nk_cli_fail(NK_EXIT_USAGE, "merge: not enough memory");
    while (!code && (word = strsep(&rest, ","))) {
        size_t i = 0;
        while (names[i] && strcmp(names[i], word)) i++;
        if (names[i])
            a->rules |= bits[i];
        else
            code =
                nk_cli_fail(NK_EXIT_USAGE,
                            "merge: --fail-on %s: missing, hollow, jit, unknown or contradiction was expected", word);
    }
    free(copy);
    return code;
}

static int check(struct asked *a, int operands)
{
    struct nk_err err;
    if (a->json + a->markdown + a->csv > 1)
        return nk_cli_fail(NK_EXIT_USAGE, "merge: only one of --json, --markdown and --csv");
    if (!operands && !a->files_from)
        return nk_cli_fail(NK_EXIT_USAGE, "merge: a recording, a report or a folder of them was expected; nokernel "
                                          "merge --help");
    if (nk_merge_filter_parse(&a->filter, a->package, a->gpu, &err))
        return nk_cli_fail(NK_EXIT_USAGE, "merge: --gpu %s: %s", a->gpu, err.text);
    return a->fail_on ? parse_rules(a) : NK_EXIT_OK;
}

// ---- --files-from

struct names {
    char *text;
    const char **of;
    size_t count;
};

// Parts the text of the file into names. They end with NUL if there is one in it, else with a line.
static int split(struct names *names, size_t size)
{
    char end = memchr(names->text, 0, size) ? 0 : '\n', *at = names->text, *stop = at + size;
    size_t room = 1;
    for (char *c = at; c < stop; c++) room += *c == end;
    names->of = malloc((room + 1) * sizeof *names->of);
    while (names->of && at < stop) {
        char *next = memchr(at, end, (size_t)(stop - at));
        if (!next) next = stop;
        *next = 0;
        if (*at) names->of[names->count++] = at;
        at = next + 1;
    }
    return names->of ? NK_EXIT_OK : nk_cli_fail(NK_EXIT_INPUT, "not enough memory");
}

static int files_from(struct names *names, const char *path)
{
    FILE *file = strcmp(path, "-") ? fopen(path, "re") : stdin;
    struct nk_buf text = {0};
    char block[4096];
    size_t n;
    if (!file) return nk_cli_fail(NK_EXIT_INPUT, "%s: %s", path, strerror(errno));
    while ((n = fread(block, 1, sizeof block, file))) nk_buf_add(&text, block, n);
    if (file != stdin) fclose(file);
    if (!text.size && !text.failed) return NK_EXIT_OK;
    names->text = text.data;
    return text.failed ? nk_cli_fail(NK_EXIT_INPUT, "%s: not enough memory", path) : split(names, text.size);
}

// ---- merging

static void tell(void *user, const char *line)
{
    (void)user;
    nk_cli_fail(NK_EXIT_INPUT, "%s", line);
}

static void progress(void *user, uint64_t files, uint64_t of) { nk_progress_tell(user, "reports", files, of); }

static bool broken(const struct asked *a, const struct nk_merge_view *view)
{
    bool any = a->rules & 1u << CONTRADICTION && view->contradictions;
    for (int i = 0; i < NK_SEEN_COUNT; i++) any |= a->rules & 1u << i && view->total[i].kernels;
    return any;
}

static int show(const struct asked *a, const struct nk_merge *merge, int code)
{
    struct nk_merge_view view;
    struct nk_buf out = {0};
    struct nk_merge_show how = {.colour = nk_cli_colour(STDOUT_FILENO), .all = a->kernels};
    int result = nk_merge_view(&view, merge, &a->filter);
    if (result)
        out.failed = true;
    else if (a->json)
        nk_merge_write_json(&out, &view);
    else if (a->markdown)
        nk_merge_write_markdown(&out, &view, &how);
    else if (a->csv)
        nk_merge_write_csv(&out, &view);
    else
        nk_merge_write_text(&out, &view, &how);
    int written = nk_cli_write(STDOUT_FILENO, &out);
    if (!result && broken(a, &view)) code = EXIT_GATE;
    nk_merge_view_free(&view);
    nk_buf_free(&out);
    return written ? written : code;
}

static int merge_main(int argc, char **argv)
{
    struct asked a = {.json = false};
    const struct nk_option options[] = {
        {"--json", NULL, &a.json},       {"--markdown", NULL, &a.markdown},     {"--csv", NULL, &a.csv},
        {"--kernels", NULL, &a.kernels}, {"--package", &a.package, NULL},       {"--gpu", &a.gpu, NULL},
        {"--fail-on", &a.fail_on, NULL}, {"--files-from", &a.files_from, NULL}, {0}};
    int code = nk_cli_options(&argc, argv, options, false, &nk_cmd_merge);
    if (code) return code < 0 ? NK_EXIT_OK : code;
    if ((code = check(&a, argc - 1))) return code;
    struct nk_merge merge = {0};
    struct nk_progress line;
    struct nk_merge_gather gather = {.merge = &merge, .tell = tell, .progress = progress, .user = &line};
    struct names names = {0};
    nk_progress_start(&line, STDERR_FILENO);
    if (a.files_from) code = files_from(&names, a.files_from);
    nk_merge_gather(&gather, (const char *const *)argv + 1, (size_t)argc - 1);
    nk_merge_gather(&gather, names.of, names.count);
    nk_progress_end(&line);
    if (gather.problems) code = NK_EXIT_INPUT;
    if (gather.failed) code = nk_cli_fail(NK_EXIT_INPUT, "not enough memory for these reports");
    if (!gather.failed) code = show(&a, &merge, code);
    nk_merge_free(&merge);
    free(names.text);
    free(names.of);
    return code;
}
