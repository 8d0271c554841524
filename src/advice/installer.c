// installer.c - the command that installs something where a package lives: pip, uv, conda, Debian.
//
// pip refuses to change what Debian installed (PEP 668), environments that uv made have no pip, and what conda
// installed has to leave conda first: what conda and Debian publish is in no table.
#include "advice/parts.h"

#include <string.h>

#define VENV "~/nokernel-venv"

const char *nk_advice_name(const char *package, const char *source)
{
    for (int row = 1; row < nk_known_names.rows; row++)
        if (nk_same_package(nk_known(&nk_known_names, row, NK_NAMES_NAME), package) &&
            !strcmp(nk_known(&nk_known_names, row, NK_NAMES_FROM), source))
            return nk_known(&nk_known_names, row, NK_NAMES_PIP);
    return package;
}

static bool from(const struct nk_advice_case *about, const char *source) { return !strcmp(about->source, source); }

void nk_repair_pip(struct nk_buf *command, const struct nk_advice_case *about, const char *verb)
{
    const char *python = *about->python ? about->python : "python";
    bool install = !strncmp(verb, "install", 7);
    if (!command) return;
    if (!strcmp(about->installer, "uv")) {
        nk_buf_format(command, "uv pip %s --python %s ", strcmp(verb, "uninstall -y") ? verb : "uninstall", python);
        return;
    }
    // The verb follows what it is put behind, so only the interpreter changes: an environment of its own.
    if (from(about, "deb"))
        nk_buf_text(command, VENV "/bin/python");
    else
        nk_buf_text(command, python);
    nk_buf_format(command, " -m pip %s ", verb);
    if (about->user_site && install && !from(about, "deb")) nk_buf_text(command, "--user ");
}

// The folder of the environment: ".../env" of ".../env/bin/python3".
static size_t prefix_of(const char *python)
{
    const char *at = strstr(python, "/bin/python");
    return at ? (size_t)(at - python) : 0;
}

static void put_before(struct nk_repair *repair, struct nk_buf *first)
{
    nk_buf_add(first, repair->command.data, repair->command.size);
    nk_buf_free(&repair->command);
    repair->command = *first;
    *first = (struct nk_buf){0};
}

static void leave_conda(const struct nk_advice_case *about, const char *name, struct nk_advice *out,
                        struct nk_repair *repair)
{
    struct nk_buf first = {0};
    size_t prefix = prefix_of(about->python);
    nk_buf_text(&first, "conda remove ");
    if (prefix) nk_buf_format(&first, "--prefix %.*s ", (int)prefix, about->python);
    nk_buf_format(&first, "%s && ", name);
    put_before(repair, &first);
    nk_repair_say(out, repair, NK_TEXT_FROM_CONDA, NULL);
    nk_repair_risks(repair, NK_TEXT_RISK_MOVES);
}

static void beside_debian(struct nk_advice *out, struct nk_repair *repair)
{
    struct nk_buf first = {0};
    nk_buf_text(&first, "python3 -m venv " VENV " && ");
    put_before(repair, &first);
    nk_repair_say(out, repair, NK_TEXT_FROM_DEB, VENV);
    nk_repair_risks(repair, NK_TEXT_RISK_MOVES);
}

void nk_advise_installer(const struct nk_advice_case *about, const char *name, struct nk_advice *out)
{
    for (size_t i = 0; i < out->count; i++) {
        struct nk_repair *repair = &out->repair[i];
        if (!repair->command.data || !strstr(repair->command.data, "pip install")) continue;
        if (from(about, "conda")) leave_conda(about, name, out, repair);
        if (from(about, "deb")) beside_debian(out, repair);
    }
}
