// command.c - what the commands share: options, sentences, output.
#define _GNU_SOURCE
#include "cli/command.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int nk_cli_fail(int code, const char *format, ...)
{
    struct nk_buf line = {0};
    va_list args;
    va_start(args, format);
    nk_buf_text(&line, "nokernel: ");
    nk_buf_vformat(&line, format, args);
    va_end(args);
    nk_buf_text(&line, "\n");
    nk_cli_write(STDERR_FILENO, &line);
    nk_buf_free(&line);
    return code;
}

int nk_cli_write(int fd, const struct nk_buf *buf)
{
    signal(SIGPIPE, SIG_IGN);
    for (size_t done = 0; done < buf->size;) {
        ssize_t n = write(fd, buf->data + done, buf->size - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EPIPE) return NK_EXIT_OK;
        if (n < 0) {
            if (fd != STDERR_FILENO) nk_cli_fail(NK_EXIT_OUTPUT, "the output cannot be written: %s", strerror(errno));
            return NK_EXIT_OUTPUT;
        }
        done += (size_t)n;
    }
    return buf->failed ? nk_cli_fail(NK_EXIT_OUTPUT, "the output cannot be written: not enough memory") : NK_EXIT_OK;
}

bool nk_cli_colour(int fd)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(fd) && !(no && *no) && term && strcmp(term, "dumb");
}

// Edit distance, for words shorter than 32; a swap of neighbours counts as two.
static size_t distance(const char *a, const char *b)
{
    enum { MOST = 32 };
    size_t row[MOST + 1], la = strlen(a), lb = strlen(b);
    if (la > MOST || lb > MOST) return MOST;
    for (size_t k = 0; k <= lb; k++) row[k] = k;
    for (size_t i = 1; i <= la; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t k = 1; k <= lb; k++) {
            size_t best = corner + (a[i - 1] != b[k - 1]);
            if (row[k] + 1 < best) best = row[k] + 1;
            if (row[k - 1] + 1 < best) best = row[k - 1] + 1;
            corner = row[k];
            row[k] = best;
        }
    }
    return row[lb];
}

const char *nk_cli_nearest(const char *word, const char *const *words)
{
    const char *nearest = NULL;
    size_t least = strlen(word) / 2 < 3 ? strlen(word) / 2 + 1 : 4;
    for (; *words; words++) {
        size_t d = distance(word, *words);
        if (d < least) {
            least = d;
            nearest = *words;
        }
    }
    return nearest;
}

static int unknown(const char *word, const struct nk_option *options, const struct nk_command *command)
{
    const char *names[32] = {"--help"};
    for (size_t i = 0; options[i].name && i < 30; i++) names[i + 1] = options[i].name;
    const char *near = nk_cli_nearest(word, names);
    return nk_cli_fail(NK_EXIT_USAGE, "%s: there is no option %s%s%s%s; nokernel %s --help lists them", command->name,
                       word, near ? " (did you mean " : "", near ? near : "", near ? "?)" : "", command->name);
}

// Handles argv[*at], an option. Its value, where it stands apart, is stepped over.
static int take(int argc, char **argv, int *at, const struct nk_option *options, const struct nk_command *command)
{
    char *equals = strchr(argv[*at], '=');
    size_t size = equals ? (size_t)(equals - argv[*at]) : strlen(argv[*at]);
    for (; options->name; options++)
        if (strlen(options->name) == size && !strncmp(options->name, argv[*at], size)) break;
    if (!options->name) return 1;
    if (options->flag) {
        if (equals) return nk_cli_fail(NK_EXIT_USAGE, "%s: %s takes no value", command->name, options->name);
        *options->flag = true;
        return 0;
    }
    if (!equals && *at + 1 >= argc)
        return nk_cli_fail(NK_EXIT_USAGE, "%s: %s needs a value", command->name, options->name);
    *options->value = equals ? equals + 1 : argv[++*at];
    return 0;
}

int nk_cli_options(int *argc, char **argv, const struct nk_option *options, bool stop, const struct nk_command *command)
{
    int kept = 1, at = 1;
    for (; at < *argc; at++) {
        if (!strcmp(argv[at], "--")) {
            at++;
            break;
        }
        if (!strcmp(argv[at], "--help") || !strcmp(argv[at], "-h")) {
            struct nk_buf help = {0};
            nk_buf_text(&help, command->help);
            nk_cli_write(STDOUT_FILENO, &help);
            nk_buf_free(&help);
            return -1;
        }
        if (argv[at][0] == '-' && argv[at][1]) {
            int result = take(*argc, argv, &at, options, command);
            if (result) return result == 1 ? unknown(argv[at], options, command) : result;
        } else if (stop) {
            break;
        } else {
            argv[kept++] = argv[at];
        }
    }
    while (at < *argc) argv[kept++] = argv[at++];
    *argc = kept;
    argv[kept] = NULL;
    return NK_EXIT_OK;
}
