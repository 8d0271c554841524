// command.h - a command of `nokernel`, and what all of them share: exit codes, options, output.
#ifndef NK_CLI_COMMAND_H
#define NK_CLI_COMMAND_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

// Exit codes of every command but `run`, which passes on that of its program.
enum nk_exit_code {
    NK_EXIT_OK = 0,     // done; also when the report tells of failures: reporting is not gating
    NK_EXIT_OUTPUT = 1, // the output could not be written
    NK_EXIT_USAGE = 2,  // words of the command line that make no sense
    NK_EXIT_INPUT = 3,  // something that was asked for cannot be read; the rest was done
};

struct nk_command {
    const char *name, *summary;
    const char *help;                   // the whole text of --help
    int (*main)(int argc, char **argv); // argv[0] is the command's name
};

extern const struct nk_command nk_cmd_run, nk_cmd_report, nk_cmd_scan, nk_cmd_doctor, nk_cmd_probe, nk_cmd_explain,
    nk_cmd_merge;

// All commands; NULL at the end.
extern const struct nk_command *const nk_commands[];

// An option: with a `value` it takes one ("--json FILE" or "--json=FILE"), with a `flag` it takes none.
struct nk_option {
    const char *name; // "--json"
    const char **value;
    bool *flag;
};

// Takes the options out of argv: what is left (operands) stays in order from argv[1] on, and *argc is its new length.
// "--" ends the options; with `stop` so does the first operand. Writes a sentence to stderr and returns NK_EXIT_USAGE
// for an unknown option (with the nearest one that exists), a missing or an unwanted value. -1 when --help was asked
// for and answered. `options` ends with a NULL name.
int nk_cli_options(int *argc, char **argv, const struct nk_option *options, bool stop,
                   const struct nk_command *command);
// The nearest of `words` (NULL at the end) to `word`, or NULL when none is near.
const char *nk_cli_nearest(const char *word, const char *const *words);
// "nokernel: " and the sentence, on stderr. Returns `code`.
int nk_cli_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Writes everything to `fd`. A reader that went away (EPIPE) is no error. NK_EXIT_OK or NK_EXIT_OUTPUT, with a
// sentence.
int nk_cli_write(int fd, const struct nk_buf *buf);
// Should escape sequences go to this descriptor? A terminal, and neither NO_COLOR nor TERM=dumb.
bool nk_cli_colour(int fd);

#endif
