// main.c - the command `nokernel`: finds the command that is meant.
#include "advice/override.h"
#include "cli/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct nk_command *const nk_commands[] = {&nk_cmd_run,   &nk_cmd_report,  &nk_cmd_scan,  &nk_cmd_doctor,
                                                &nk_cmd_probe, &nk_cmd_explain, &nk_cmd_merge, NULL};

static const struct nk_command *find(const char *name)
{
    for (size_t i = 0; nk_commands[i]; i++)
        if (!strcmp(nk_commands[i]->name, name)) return nk_commands[i];
    return NULL;
}

static int print(int fd, int code, const char *text)
{
    struct nk_buf out = {0};
    nk_buf_text(&out, text);
    int written = nk_cli_write(fd, &out);
    nk_buf_free(&out);
    return code ? code : written;
}

static int help(int fd, int code)
{
    struct nk_buf out = {0};
    nk_buf_text(&out, "Usage: nokernel COMMAND [OPTIONS] ...\n"
                      "\n"
                      "Explains \"no kernel image is available for execution on the device\": which kernel\n"
                      "failed, in which library of which package, which images it has, which it would need.\n"
                      "\n"
                      "Commands\n");
    for (size_t i = 0; nk_commands[i]; i++)
        nk_buf_format(&out, "  %-8s  %s\n", nk_commands[i]->name, nk_commands[i]->summary);
    nk_buf_text(&out, "  help      the same as --help: nokernel help COMMAND\n"
                      "\n"
                      "Options\n"
                      "  --help     this text; nokernel COMMAND --help tells of one command\n"
                      "  --version  the version\n"
                      "\n"
                      "Without this command: LD_PRELOAD=/path/to/libnokernel.so PROGRAM prints the same report.\n");
    int written = nk_cli_write(fd, &out);
    nk_buf_free(&out);
    return code ? code : written;
}

static int unknown(const char *word)
{
    const char *names[16] = {"help", "--help", "--version"};
    for (size_t i = 0; nk_commands[i] && i < 12; i++) names[i + 3] = nk_commands[i]->name;
    const char *near = nk_cli_nearest(word, names);
    return nk_cli_fail(NK_EXIT_USAGE, "there is no command %s%s%s%s; nokernel --help lists them", word,
                       near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}

int main(int argc, char **argv)
{
    if (argc < 2) return help(STDERR_FILENO, NK_EXIT_USAGE);
    const char *word = argv[1];
    if (!strcmp(word, "--version")) return print(STDOUT_FILENO, NK_EXIT_OK, "nokernel " NK_VERSION "\n");
    bool asks = !strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help");
    if (asks && argc < 3) return help(STDOUT_FILENO, NK_EXIT_OK);
    if (asks) word = argv[2];
    const struct nk_command *command = find(word);
    if (!command) return unknown(word);
    if (asks) return print(STDOUT_FILENO, NK_EXIT_OK, command->help);
    const char *knowledge = getenv("NOKERNEL_KNOWLEDGE");
    struct nk_err err = {0};
    if (knowledge && *knowledge && nk_knowledge_override(knowledge, &err))
        return nk_cli_fail(NK_EXIT_USAGE, "NOKERNEL_KNOWLEDGE: %s", err.text);
    return command->main(argc - 1, argv + 1);
}
