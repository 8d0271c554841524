// build.c - how a package, or any code, is built for a GPU: its knob, and the toolkits that know the architecture.
#include "advice/parts.h"

#include <stdlib.h>
#include <string.h>

static const char *cell(int row, int column) { return nk_known(&nk_known_rebuild, row, column); }

static int knob_of(const char *package)
{
    for (int row = 1; *package && row < nk_known_rebuild.rows; row++)
        if (nk_same_package(cell(row, NK_REBUILD_NAME), package)) return row;
    return 0;
}

// Puts {sm}, {cc}, {arch}, {python} and {install} ("python -m pip install ", or what the installer calls it) into a
// command.
static void fill(struct nk_buf *out, const char *command, const struct nk_advice_case *about, const char *arch)
{
    char cc[NK_NAME_TEXT], name[NK_NAME_TEXT];
    struct nk_buf install = {0};
    nk_repair_pip(&install, about, NK_INSTALL);
    const struct {
        const char *mark, *value;
    } marks[] = {{"{sm}", nk_name_sm(name, about->target.sm) + 3},
                 {"{cc}", nk_name_cc(cc, about->target.sm)},
                 {"{arch}", arch},
                 {"{python}", *about->python ? about->python : "python"},
                 {"{install}", install.data ? install.data : ""}};
    const size_t count = sizeof marks / sizeof *marks;
    while (*command) {
        size_t i = 0;
        while (i < count && strncmp(command, marks[i].mark, strlen(marks[i].mark))) i++;
        nk_buf_add(out, i < count ? marks[i].value : command, i < count ? strlen(marks[i].value) : 1);
        command += i < count ? strlen(marks[i].mark) : 1;
    }
    nk_buf_free(&install);
}

// Of a package's own list the highest architecture whose code runs there, or "".
static const char *arch_of(char out[NK_NAME_TEXT], const char *list, int sm)
{
    struct nk_target target = {.sm = sm};
    *out = 0;
    for (; *list; list += strcspn(list, ";"), list += *list == ';') {
        char one[NK_NAME_TEXT] = "";
        size_t size = strcspn(list, ";");
        if (size < sizeof one) memcpy(one, list, size);
        if (nk_known_runs(one, "", 0, &target).runs == NK_RUNS_NATIVE) memcpy(out, one, sizeof one);
    }
    return out;
}

// Where the source is: a checkout, a repository, or an index. False: it was installed from a wheel somewhere.
static bool source_of(struct nk_buf *command, const struct nk_advice_case *about)
{
    return strncmp(about->origin, "http", 4) && !strstr(about->origin, ".whl") &&
           nk_install_origin(command, about->package, about->origin);
}

// A wheel of somebody's own: an index may hold another project of that name.
static bool from_wheel(const struct nk_advice_case *about)
{
    struct nk_buf nowhere = {0};
    bool result = *about->origin && !source_of(&nowhere, about);
    nk_buf_free(&nowhere);
    return result;
}

// pip builds the same version again from its source.
static void with_pip(struct nk_buf *command, const struct nk_advice_case *about)
{
    nk_buf_text(command, " ");
    nk_repair_pip(command, about, NK_AGAIN);
    nk_buf_text(command, "--no-cache-dir --no-build-isolation ");
    if (source_of(command, about)) return;
    nk_buf_format(command, "--no-binary %s \"%s", about->package, about->package);
    if (*about->version) nk_buf_format(command, "==%.*s", (int)strcspn(about->version, "+"), about->version);
    nk_buf_text(command, "\"");
}

static void with_knob(const struct nk_advice_case *about, struct nk_advice *out, int row, const char *toolkit)
{
    char sm[NK_NAME_TEXT], arch[NK_NAME_TEXT];
    const char *list = cell(row, NK_REBUILD_ARCHES);
    bool pip = !strcmp(cell(row, NK_REBUILD_KIND), "pip"), source = !strcmp(cell(row, NK_REBUILD_KIND), "source");
    nk_name_sm(sm, about->target.sm);
    if (*list && !*arch_of(arch, list, about->target.sm)) {
        nk_repair_add(out, NK_TEXT_SAFE_NOTHING, cell(row, NK_REBUILD_SOURCE), NK_TEXT_FLASH_NO_ARCH, sm, list, NULL,
                      NULL);
        return;
    }
    struct nk_repair *repair =
        nk_repair_add(out, pip ? NK_TEXT_SAFE_PACKAGE : NK_TEXT_RISK_MOVES, cell(row, NK_REBUILD_SOURCE),
                      source ? NK_TEXT_REBUILD_SOURCE : NK_TEXT_REBUILD, about->package, sm, toolkit, NULL);
    if (!repair) return;
    if (pip && from_wheel(about)) {
        nk_repair_say(out, repair, NK_TEXT_FROM_WHEEL, NULL);
        return;
    }
    fill(&repair->command, cell(row, NK_REBUILD_COMMAND), about, *list ? arch : "");
    if (pip) with_pip(&repair->command, about);
}

// A package that is not in the tables, in a process with torch: most likely an extension of torch, which its own
// compiler helper builds.
static void as_extension(const struct nk_advice_case *about, struct nk_advice *out, const char *toolkit)
{
    char sm[NK_NAME_TEXT], cc[NK_NAME_TEXT];
    struct nk_repair *repair =
        nk_repair_add(out, NK_TEXT_SAFE_PACKAGE, "pytorch torch/utils/cpp_extension.py, TORCH_CUDA_ARCH_LIST",
                      NK_TEXT_REBUILD, about->package, nk_name_sm(sm, about->target.sm), toolkit, NULL);
    if (!repair) return;
    if (from_wheel(about)) {
        nk_repair_say(out, repair, NK_TEXT_FROM_WHEEL, NULL);
        return;
    }
    nk_buf_format(&repair->command, "TORCH_CUDA_ARCH_LIST=\"%s\"", nk_name_cc(cc, about->target.sm));
    with_pip(&repair->command, about);
}

static void by_hand(const struct nk_advice_case *about, struct nk_advice *out, const char *toolkit)
{
    char sm[NK_NAME_TEXT];
    const char *number = nk_name_sm(sm, about->target.sm) + 3;
    struct nk_repair *repair = nk_repair_add(out, NK_TEXT_SAFE_PACKAGE, "nvcc manual, -gencode; CMake manual",
                                             NK_TEXT_COMPILE, sm, toolkit, number, NULL);
    if (repair) nk_buf_format(&repair->command, "nvcc -gencode arch=compute_%s,code=sm_%s ...", number, number);
}

// Installed by pip and its kin, or a source tree.
static bool is_pythons(const struct nk_advice_case *about)
{
    return !strcmp(about->source, "pip") || !strncmp(about->origin, "editable:", 9);
}

void nk_advise_build(const struct nk_advice_case *about, struct nk_advice *out)
{
    struct nk_buf toolkit = {0};
    int row = knob_of(about->package);
    if (nk_name_toolkit(&toolkit, out->language, about->target.sm) && toolkit.data) {
        if (row)
            with_knob(about, out, row, toolkit.data);
        else if (*about->package && *about->torch && is_pythons(about) && !strstr(about->package, "nvidia-"))
            as_extension(about, out, toolkit.data);
        else if (!*about->package)
            by_hand(about, out, toolkit.data);
    }
    nk_buf_free(&toolkit);
}
