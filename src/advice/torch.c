// torch.c - which official wheel of torch has code for a GPU.
//
// Three ways, in this order: the same version from another index, the smallest step up (a range of versions that all
// have it), the newest of all. Only wheels that the tables know, that the driver can start and the interpreter can
// install.
#include "advice/parts.h"
#include "verdict/arch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- wheels

static const char *cell(const struct nk_wheel *w, int column)
{
    return nk_known(&nk_known_torch_wheels, w->row, column);
}

static size_t put(struct nk_wheel *out, size_t count, int row, const char *version)
{
    const char *variant = nk_known(&nk_known_torch_wheels, row, NK_WHEEL_VARIANT);
    if (count < NK_WHEELS_MOST) out[count++] = (struct nk_wheel){row, version, variant, nk_version_cuda(variant)};
    return count;
}

static int by_version(const void *a, const void *b)
{
    const struct nk_wheel *x = a, *y = b;
    int order = nk_version_compare(x->torch, y->torch);
    return order ? order : x->cuda - y->cuda;
}

// A row of a minor version ("2.7") stands for all its patches, which torch_pairs lists.
size_t nk_wheels(struct nk_wheel out[NK_WHEELS_MOST], const char *machine)
{
    size_t count = 0;
    for (int row = 1; row < nk_known_torch_wheels.rows; row++) {
        const char *version = nk_known(&nk_known_torch_wheels, row, NK_WHEEL_TORCH);
        if (strcmp(nk_known(&nk_known_torch_wheels, row, NK_WHEEL_MACHINE), machine)) continue;
        bool exact = strchr(version, '.') != strrchr(version, '.');
        if (exact) count = put(out, count, row, version);
        for (int pair = 1; !exact && pair < nk_known_torch_pairs.rows; pair++) {
            const char *patch = nk_known(&nk_known_torch_pairs, pair, NK_PAIR_TORCH);
            if (nk_version_within(patch, version)) count = put(out, count, row, patch);
        }
    }
    qsort(out, count, sizeof *out, by_version);
    return count;
}

bool nk_wheel_serves(const struct nk_wheel *wheel, int sm, bool linalg)
{
    struct nk_target target = {.sm = sm};
    if (nk_known_runs(cell(wheel, NK_WHEEL_SASS), "", 0, &target).runs != NK_RUNS_NATIVE) return false;
    return !linalg || nk_known_runs(cell(wheel, NK_WHEEL_LINALG), "", 0, &target).runs == NK_RUNS_NATIVE;
}

// ---- the choice

struct choice {
    const struct nk_advice_case *about;
    struct nk_wheel wheel[NK_WHEELS_MOST];
    bool fits[NK_WHEELS_MOST]; // serves the GPU, can be started and installed
    size_t count;
    char installed[32], variant[16]; // "2.4.1", "cu121"
    bool linalg, all;                // all: every GPU of the process is served
};

// The row for that release in the table of Python versions, or 0.
static int python_row(const char *version)
{
    for (int row = 1; row < nk_known_torch_python.rows; row++)
        if (nk_version_within(version, nk_known(&nk_known_torch_python, row, NK_PYTHON_TORCH))) return row;
    return 0;
}

static bool installs(const struct nk_wheel *w, const char *python)
{
    int row = *python ? python_row(w->torch) : 0;
    return !row || (nk_version_compare(python, nk_known(&nk_known_torch_python, row, NK_PYTHON_MIN)) >= 0 &&
                    nk_version_compare(python, nk_known(&nk_known_torch_python, row, NK_PYTHON_MAX)) <= 0);
}

static bool serves_all(const struct choice *c, const struct nk_wheel *w)
{
    for (const int *sm = c->about->sms; sm && *sm; sm++)
        if (!nk_wheel_serves(w, *sm, c->linalg)) return false;
    return nk_wheel_serves(w, c->about->target.sm, c->linalg);
}

static bool is_installed(const struct choice *c, const struct nk_wheel *w)
{
    return !nk_version_compare(w->torch, c->installed) && !strcmp(w->variant, c->variant);
}

// Marks the wheels that fit; how many there are. What is installed has just failed: it never fits.
static size_t mark(struct choice *c, bool all, bool driver, bool python)
{
    size_t fits = 0;
    for (size_t i = 0; i < c->count; i++) {
        const struct nk_wheel *w = &c->wheel[i];
        c->fits[i] = (all ? serves_all(c, w) : nk_wheel_serves(w, c->about->target.sm, c->linalg)) &&
                     (!driver || nk_driver_starts(c->about->target.driver, w->cuda)) &&
                     (!python || installs(w, c->about->python_version)) && !is_installed(c, w);
        fits += c->fits[i];
    }
    return fits;
}

static void take_apart(struct choice *c, const char *version)
{
    size_t size = strcspn(version, "+");
    const char *local = version[size] ? version + size + 1 : "";
    if (size < sizeof c->installed) memcpy(c->installed, version, size);
    if (strlen(local) < sizeof c->variant) memcpy(c->variant, local, strlen(local));
    // Without a local part it is PyPI's own build.
    for (size_t i = 0; i < c->count && !*local; i++)
        if (!nk_version_compare(c->wheel[i].torch, c->installed) && *cell(&c->wheel[i], NK_WHEEL_PYPI))
            memcpy(c->variant, c->wheel[i].variant, strlen(c->wheel[i].variant) + 1);
}

// ---- commands

static bool among(const struct nk_advice_case *about, const char *name)
{
    for (size_t i = 0; about->others[i]; i++)
        if (nk_same_package(about->others[i], name)) return true;
    return false;
}

// torchvision and torchaudio where the process has them: of the same index, in the versions that belong to it.
static void companions(const struct choice *c, struct nk_buf *command, const struct nk_wheel *exact)
{
    static const struct {
        const char *name;
        int column;
    } list[] = {{"torchvision", NK_PAIR_VISION}, {"torchaudio", NK_PAIR_AUDIO}};
    int row = exact ? nk_known_row(&nk_known_torch_pairs, NK_PAIR_TORCH, exact->torch) : 0;
    for (size_t i = 0; i < 2; i++) {
        const char *version = row ? nk_known(&nk_known_torch_pairs, row, list[i].column) : "";
        if (!among(c->about, list[i].name)) continue;
        if (!*version)
            nk_buf_format(command, " %s", list[i].name);
        else
            nk_buf_format(command, " \"%s==%s+%s\"", list[i].name, version, exact->variant);
    }
}

static void say_companions(const struct choice *c, struct nk_advice *out, struct nk_repair *repair)
{
    static const char *const bound[] = {"xformers",      "flash-attn",      "vllm",      "sgl-kernel",
                                        "sglang-kernel", "torch-scatter",   "torchao",   "fbgemm-gpu",
                                        "auto-gptq",     "autoawq-kernels", "pytorch3d", "mamba-ssm"};
    struct nk_buf names = {0};
    for (size_t i = 0; i < sizeof bound / sizeof *bound; i++)
        if (among(c->about, bound[i])) nk_buf_format(&names, "%s%s", names.size ? ", " : "", bound[i]);
    if (names.size) nk_repair_say(out, repair, NK_TEXT_COMPANIONS, names.data);
    if (!among(c->about, "torchvision") && !among(c->about, "torchaudio"))
        nk_repair_say(out, repair, NK_TEXT_DOMAINS, NULL);
    if (!c->all) nk_repair_say(out, repair, NK_TEXT_NOT_ALL_GPUS, NULL);
    nk_buf_free(&names);
}

static void from_index(struct nk_buf *command, const struct nk_wheel *w)
{
    if (*cell(w, NK_WHEEL_INDEX)) nk_buf_format(command, " --index-url " NK_TORCH_INDEX "%s", cell(w, NK_WHEEL_INDEX));
}

// A wheel by its whole name: without the local part pip would find the installed one good enough.
static void exactly(const struct choice *c, struct nk_advice *out, const struct nk_wheel *w, enum nk_text text,
                    const char *third)
{
    char cuda[NK_NAME_TEXT];
    bool index = *cell(w, NK_WHEEL_INDEX);
    bool same_major = text == NK_TEXT_TORCH_SAME && nk_version_cuda(c->variant) / 1000 == w->cuda / 1000;
    struct nk_repair *repair =
        nk_repair_add(out, same_major ? NK_TEXT_SAFE_PACKAGE : NK_TEXT_RISK_MOVES, cell(w, NK_WHEEL_SOURCE), text,
                      w->torch, nk_name_cuda(cuda, w->cuda), third, NULL);
    if (!repair) return;
    nk_repair_pip(&repair->command, c->about, NK_UPGRADE);
    nk_buf_format(&repair->command, index ? "\"torch==%s+%s\"" : "\"torch==%s\"", w->torch, w->variant);
    companions(c, &repair->command, index ? w : NULL);
    from_index(&repair->command, w);
    say_companions(c, out, repair);
}

// ---- the three ways

// Was this very wheel read, or is its list that of the script that built it?
static bool measured(const struct nk_wheel *w) { return !strcmp(cell(w, NK_WHEEL_EVIDENCE), "measured"); }

// One that was measured; else the one whose CUDA is the nearest to the installed one, older before newer.
static const struct nk_wheel *same_version(const struct choice *c)
{
    const struct nk_wheel *best = NULL;
    int installed = nk_version_cuda(c->variant);
    for (size_t i = 0; i < c->count; i++) {
        const struct nk_wheel *w = &c->wheel[i];
        if (!c->fits[i] || nk_version_compare(w->torch, c->installed) || !*cell(w, NK_WHEEL_INDEX)) continue;
        bool nearer = best && (w->cuda < installed || (best->cuda > installed && w->cuda < best->cuda));
        if (!best || (measured(w) == measured(best) ? nearer : measured(w))) best = w;
    }
    return best;
}

// Every wheel of that index from `first` on fits: with pip's --upgrade any of them may come. Else *beyond is the
// version at which that ends.
static const struct nk_wheel *range(const struct choice *c, size_t first, const char **beyond)
{
    const struct nk_wheel *last = &c->wheel[first];
    *beyond = NULL;
    for (size_t i = first; i < c->count; i++) {
        if (strcmp(c->wheel[i].variant, c->wheel[first].variant)) continue;
        if (!installs(&c->wheel[i], c->about->python_version)) continue; // pip does not see it
        if (!c->fits[i]) {
            *beyond = c->wheel[i].torch;
            break;
        }
        last = &c->wheel[i];
    }
    return last;
}

// The smallest step up. The newest wheel that it can bring, or NULL.
static const struct nk_wheel *step_up(const struct choice *c, struct nk_advice *out, const char *sm)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct nk_wheel *w = &c->wheel[i];
        const char *beyond;
        if (!c->fits[i] || !*cell(w, NK_WHEEL_INDEX) || nk_version_compare(w->torch, c->installed) <= 0) continue;
        const struct nk_wheel *last = range(c, i, &beyond);
        struct nk_repair *repair = nk_repair_add(out, NK_TEXT_RISK_MOVES, cell(w, NK_WHEEL_SOURCE), NK_TEXT_TORCH_RANGE,
                                                 w->torch, cell(w, NK_WHEEL_INDEX), last->torch, sm);
        if (!repair) return NULL;
        nk_repair_pip(&repair->command, c->about, NK_UPGRADE);
        nk_buf_format(&repair->command, "\"torch>=%s", w->torch);
        if (beyond) nk_buf_format(&repair->command, ",<%s", beyond);
        nk_buf_text(&repair->command, "\"");
        companions(c, &repair->command, NULL);
        from_index(&repair->command, w);
        say_companions(c, out, repair);
        return last;
    }
    return NULL;
}

// The newest version; of its builds one that was measured, else the one for the newest CUDA.
static const struct nk_wheel *newest(const struct choice *c)
{
    const struct nk_wheel *best = NULL;
    for (size_t i = c->count; i > 0; i--) {
        const struct nk_wheel *w = &c->wheel[i - 1];
        if (!c->fits[i - 1]) continue;
        if (best && strcmp(w->torch, best->torch)) break;
        if (!best || (measured(w) && !measured(best))) best = w;
    }
    return best;
}

// ---- nothing fits

// What would fit but for the interpreter or the driver.
static bool but_for(struct choice *c, struct nk_advice *out, const char *sm)
{
    char cuda[NK_NAME_TEXT], branch[NK_NAME_TEXT];
    if (mark(c, false, true, false)) {
        const struct nk_wheel *w = newest(c);
        int row = python_row(w->torch);
        nk_repair_add(out, NK_TEXT_RISK_MOVES, nk_known(&nk_known_torch_python, row, NK_PYTHON_SOURCE),
                      NK_TEXT_TORCH_PYTHON, w->torch, sm, c->about->python_version,
                      nk_known(&nk_known_torch_python, row, NK_PYTHON_MAX));
        return true;
    }
    if (!mark(c, false, false, true)) return false;
    for (size_t i = 0; i < c->count; i++) {
        if (!c->fits[i]) continue;
        int first = c->wheel[i].cuda / 1000 * 1000;
        nk_repair_add(out, NK_TEXT_RISK_SYSTEM, cell(&c->wheel[i], NK_WHEEL_SOURCE), NK_TEXT_TORCH_DRIVER,
                      c->wheel[i].torch, sm, nk_name_cuda(cuda, first), nk_name_driver(branch, first));
        return true;
    }
    return false;
}

static bool jetson(int sm) { return nk_arch_kin(sm) == NK_KIN_TEGRA; }

static void none(struct choice *c, struct nk_advice *out, const char *sm)
{
    if (but_for(c, out, sm)) return;
    if (jetson(c->about->target.sm))
        nk_repair_add(out, NK_TEXT_RISK_MOVES,
                      "NVIDIA, Installing PyTorch for Jetson Platform; pytorch torch/cuda/__init__.py",
                      NK_TEXT_TORCH_JETSON, sm, NULL, NULL, NULL);
    else
        nk_repair_add(out, NK_TEXT_SAFE_NOTHING, "the official wheels of torch 1.7.1 to 2.15.0", NK_TEXT_TORCH_NONE, sm,
                      c->about->machine, NULL, NULL);
    nk_advise_build(c->about, out);
}

// "2.7.0.dev20250310+cu124": what was built before an architecture came does not get it by waiting.
static void say_nightly(const struct choice *c, struct nk_advice *out)
{
    const char *at = strstr(c->about->version, ".dev");
    char day[16];
    if (!at || strspn(at + 4, "0123456789") != 8 || !out->count) return;
    snprintf(day, sizeof day, "%.4s-%.2s-%.2s", at + 4, at + 8, at + 10);
    nk_repair_say(out, &out->repair[0], NK_TEXT_TORCH_NIGHTLY, day);
}

void nk_advise_torch(const struct nk_advice_case *about, struct nk_advice *out)
{
    char sm[NK_NAME_TEXT];
    struct choice c = {.about = about, .linalg = strstr(about->library, "_linalg") != NULL};
    c.count = nk_wheels(c.wheel, nk_case_machine(about));
    take_apart(&c, about->version);
    c.all = mark(&c, true, true, true);
    nk_name_sm(sm, about->target.sm);
    if (c.linalg)
        nk_repair_add(out, NK_TEXT_SAFE_NOTHING, "measured with torch 2.15.0 on sm_75, 126 calls", NK_TEXT_TORCH_LINALG,
                      sm, NULL, NULL, NULL);
    if (!c.all && !mark(&c, false, true, true)) {
        none(&c, out, sm);
        return;
    }
    const struct nk_wheel *same = same_version(&c), *most = newest(&c), *reached = same;
    if (same)
        exactly(&c, out, same, NK_TEXT_TORCH_SAME, sm);
    else if (*c.installed) // else there is nothing to step up from
        reached = step_up(&c, out, sm);
    if (most && (!reached || nk_version_compare(most->torch, reached->torch) > 0))
        exactly(&c, out, most,
                nk_version_compare(most->torch, c.installed) < 0 ? NK_TEXT_TORCH_LAST : NK_TEXT_TORCH_EXACT, sm);
    say_nightly(&c, out);
}
