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

enum nk_installer nk_installer_of(const char *name)
{
    static const char *const names[] = {[NK_UV] = "uv", [NK_CONDA] = "conda", [NK_DEBIAN] = "debian"};
    for (enum nk_installer by = NK_UV; by <= NK_DEBIAN; by++)
        if (!strcmp(name, names[by])) return by;
    return NK_PIP;
}

void nk_install_command(struct nk_buf *out, const struct nk_environment *where, enum nk_installing what)
{
    static const char *const words[][NK_CHECK + 1] = {
        [NK_PIP] = {"install ", "install --upgrade ", "install --force-reinstall --no-deps ", "uninstall -y ", "check"},
        [NK_UV] = {"install ", "install --upgrade ", "install --force-reinstall --no-deps ", "uninstall ", "check "},
        [NK_CONDA] = {"install ", "install ", "install --force-reinstall ", "remove "},
        [NK_DEBIAN] = {"install ", "install ", "install --reinstall ", "remove "}};
    const char *python = *where->python ? where->python : "python";
    enum nk_installer by = what == NK_CHECK && where->by > NK_UV ? NK_PIP : where->by;
    switch (by) {
    case NK_UV:
        nk_buf_format(out, "uv pip %s--python %s%s", words[by][what], python, what == NK_CHECK ? "" : " ");
        break;
    case NK_CONDA:
        nk_buf_format(out, "conda %s", words[by][what]);
        if (*where->prefix) nk_buf_format(out, "--prefix %s ", where->prefix);
        break;
    case NK_DEBIAN:
        nk_buf_format(out, "sudo apt-get %s", words[by][what]);
        break;
    default:
        nk_buf_format(out, "%s -m pip %s%s", python, words[by][what],
                      where->user_site && what < NK_REMOVE ? "--user " : "");
    }
}

const char *nk_install_index(const char *name, const char *version)
{
    static const char *const theirs[] = {"torch", "torchvision", "torchaudio", "xformers"};
    const char *plus = strchr(version, '+');
    bool here = false;
    for (size_t i = 0; i < sizeof theirs / sizeof *theirs; i++) here |= nk_same_package(name, theirs[i]);
    if (!here || !plus) return "";
    return !strcmp(plus + 1, "cpu") || nk_known_row(&nk_known_torch_wheels, NK_WHEEL_VARIANT, plus + 1) ? plus + 1 : "";
}

bool nk_install_origin(struct nk_buf *out, const char *name, const char *origin)
{
    const char *path = origin + strcspn(origin, ":") + (strchr(origin, ':') ? 1 : 0);
    if (!strncmp(origin, "editable:", 9))
        nk_buf_format(out, "-e %s", path);
    else if (!strncmp(origin, "file:", 5))
        nk_buf_text(out, path);
    else if (*origin && !strpbrk(origin, "\"`$\\"))
        nk_buf_format(out, "\"%s @ %s\"", name, origin);
    else
        return false;
    return true;
}

void nk_install_exactly(struct nk_buf *out, const char *name, const char *version, const char *origin)
{
    const char *index = nk_install_index(name, version);
    if (nk_install_origin(out, name, origin)) return;
    nk_buf_format(out, "\"%s==%s\"", name, version);
    if (*index) nk_buf_format(out, " --index-url " NK_TORCH_INDEX "%s", index);
}

void nk_repair_pip(struct nk_buf *command, const struct nk_advice_case *about, enum nk_installing what)
{
    bool beside = from(about, "deb"); // in an environment of its own
    bool uv = !beside && nk_installer_of(about->installer) == NK_UV;
    if (command)
        nk_install_command(command,
                           &(struct nk_environment){.by = uv ? NK_UV : NK_PIP,
                                                    .python = beside ? VENV "/bin/python" : about->python,
                                                    .user_site = about->user_site && !beside},
                           what);
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
    struct nk_buf first = {0}, prefix = {0};
    const char *bin = strstr(about->python, "/bin/python"); // ".../env/bin/python3"
    nk_buf_add(&prefix, about->python, bin ? (size_t)(bin - about->python) : 0);
    nk_install_command(&first, &(struct nk_environment){NK_CONDA, about->python, prefix.data ? prefix.data : "", false},
                       NK_REMOVE);
    nk_buf_format(&first, "%s && ", name);
    nk_buf_free(&prefix);
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
