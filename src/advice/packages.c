// packages.c - which published version of a package, or which other package, has code for a GPU.
#include "advice/parts.h"

#include <string.h>

static const char *cell(int row, int column) { return nk_known(&nk_known_packages, row, column); }

static int row_of(const char *package)
{
    for (int row = 1; row < nk_known_packages.rows; row++)
        if (nk_same_package(cell(row, NK_PACK_NAME), package)) return row;
    return 0;
}

// A part that begins with "|" is one of several libraries of which the package loads one.
static bool is_choice(int row) { return cell(row, NK_PACK_PART)[0] == '|'; }

static bool is_release_of(int row, int other)
{
    return !strcmp(cell(row, NK_PACK_NAME), cell(other, NK_PACK_NAME)) &&
           !strcmp(cell(row, NK_PACK_VERSION), cell(other, NK_PACK_VERSION));
}

// How the whole release runs: the worst of its parts.
static enum nk_runs release_runs(int row, const struct nk_target *target)
{
    enum nk_runs worst = NK_RUNS_NATIVE;
    for (int other = 1; other < nk_known_packages.rows; other++) {
        if (!is_release_of(other, row)) continue;
        enum nk_runs runs = nk_known_runs(cell(other, NK_PACK_SASS), cell(other, NK_PACK_PTX),
                                          nk_version_cuda(cell(other, NK_PACK_CUDA)), target)
                                .runs;
        if (runs > worst) worst = runs;
    }
    return worst;
}

// The newest release of the family that runs there and is not the one that failed; the same package before others.
static int best_release(const struct nk_advice_case *about, int family, enum nk_runs *runs)
{
    int best = 0;
    for (int row = 1; row < nk_known_packages.rows; row++) {
        bool same = nk_same_package(cell(row, NK_PACK_NAME), about->package);
        if (strcmp(cell(row, NK_PACK_FAMILY), cell(family, NK_PACK_FAMILY)) || is_choice(row)) continue;
        if (!*cell(row, NK_PACK_VERSION) || (same && !nk_version_compare(cell(row, NK_PACK_VERSION), about->version)))
            continue;
        if (!nk_driver_starts(about->target.driver, nk_version_cuda(cell(row, NK_PACK_CUDA)))) continue;
        enum nk_runs how = release_runs(row, &about->target);
        if (how != NK_RUNS_NATIVE && how != NK_RUNS_JIT) continue;
        bool best_same = best && nk_same_package(cell(best, NK_PACK_NAME), about->package);
        if (best &&
            (best_same != same ? best_same
                               : nk_version_compare(cell(row, NK_PACK_VERSION), cell(best, NK_PACK_VERSION)) <= 0))
            continue;
        best = row;
        *runs = how;
    }
    return best;
}

// "1.27.0", or "3.24.*" where the table names no patch.
static void add_version(struct nk_buf *out, const char *version)
{
    bool whole = strchr(version, '.') != strrchr(version, '.');
    nk_buf_format(out, "%s%s", version, whole ? "" : ".*");
}

static bool another_release(const struct nk_advice_case *about, struct nk_advice *out, int family)
{
    char sm[NK_NAME_TEXT];
    enum nk_runs runs = NK_RUNS_NONE;
    int row = best_release(about, family, &runs);
    if (!row) return false;
    const char *name = cell(row, NK_PACK_NAME), *version = cell(row, NK_PACK_VERSION);
    bool same = nk_same_package(name, about->package), older = nk_version_compare(version, about->version) < 0;
    nk_name_sm(sm, about->target.sm);
    struct nk_repair *repair = same ? nk_repair_add(out, NK_TEXT_RISK_MOVES, cell(row, NK_PACK_SOURCE),
                                                    older                 ? NK_TEXT_PACKAGE_OLDER
                                                    : runs == NK_RUNS_JIT ? NK_TEXT_PACKAGE_JIT
                                                                          : NK_TEXT_PACKAGE_NEWER,
                                                    name, version, sm, NULL)
                                    : nk_repair_add(out, NK_TEXT_RISK_MOVES, cell(row, NK_PACK_SOURCE),
                                                    NK_TEXT_PACKAGE_INSTEAD, name, version, about->package, sm);
    if (!repair) return true;
    if (!same) {
        nk_repair_pip(&repair->command, about, NK_REMOVE);
        nk_buf_format(&repair->command, "%s && ", about->package);
    }
    nk_repair_pip(&repair->command, about, NK_INSTALL);
    nk_buf_format(&repair->command, "\"%s==", name);
    add_version(&repair->command, version);
    nk_buf_text(&repair->command, "\"");
    return true;
}

// Another library of the installed release (bitsandbytes has one a CUDA version); the nearest release at hand counts.
static bool another_part(const struct nk_advice_case *about, struct nk_advice *out)
{
    char sm[NK_NAME_TEXT];
    int release = 0;
    for (int row = 1; row < nk_known_packages.rows; row++)
        if (is_choice(row) && nk_same_package(cell(row, NK_PACK_NAME), about->package) &&
            !nk_version_compare(cell(row, NK_PACK_VERSION), about->version))
            release = row;
    for (int row = 1; release && row < nk_known_packages.rows; row++) {
        int cuda = nk_version_cuda(cell(row, NK_PACK_CUDA));
        if (!is_release_of(row, release) || !nk_driver_starts(about->target.driver, cuda)) continue;
        if (nk_known_runs(cell(row, NK_PACK_SASS), "", cuda, &about->target).runs != NK_RUNS_NATIVE) continue;
        if (strstr(about->library, cell(row, NK_PACK_PART) + 1)) continue; // this one has failed
        nk_repair_add(out, NK_TEXT_RISK_MOVES, cell(row, NK_PACK_SOURCE), NK_TEXT_PACKAGE_PART, about->package,
                      nk_name_sm(sm, about->target.sm), cell(row, NK_PACK_CUDA), NULL);
        return true;
    }
    return false;
}

// torchvision and torchaudio: the one that belongs to the torch of the process, from torch's index.
static bool domain(const struct nk_advice_case *about, struct nk_advice *out)
{
    char version[32] = "", sm[NK_NAME_TEXT];
    const char *plus = strchr(about->torch, '+'), *variant = plus ? plus + 1 : "";
    size_t size = plus ? (size_t)(plus - about->torch) : 0;
    int column = nk_same_package(about->package, "torchvision")  ? NK_PAIR_VISION
                 : nk_same_package(about->package, "torchaudio") ? NK_PAIR_AUDIO
                                                                 : 0;
    if (!column || !size || size >= sizeof version) return false;
    memcpy(version, about->torch, size);
    int pair = nk_known_row(&nk_known_torch_pairs, NK_PAIR_TORCH, version);
    int build = nk_known_row(&nk_known_torch_domain, NK_DOMAIN_VARIANT, variant);
    const char *wanted = pair ? nk_known(&nk_known_torch_pairs, pair, column) : "";
    if (!build || !*wanted) return false;
    if (nk_known_runs(nk_known(&nk_known_torch_domain, build, NK_DOMAIN_SASS), "", 0, &about->target).runs !=
        NK_RUNS_NATIVE)
        return false;
    struct nk_repair *repair =
        nk_repair_add(out, NK_TEXT_SAFE_PACKAGE, nk_known(&nk_known_torch_domain, build, NK_DOMAIN_SOURCE),
                      NK_TEXT_DOMAIN_PAIR, about->package, wanted, variant, nk_name_sm(sm, about->target.sm));
    if (!repair) return true;
    nk_repair_pip(&repair->command, about, NK_AGAIN);
    nk_buf_format(&repair->command, "\"%s==%s+%s\" --index-url " NK_TORCH_INDEX "%s", about->package, wanted, variant,
                  variant);
    return true;
}

bool nk_advise_package(const struct nk_advice_case *about, struct nk_advice *out)
{
    char sm[NK_NAME_TEXT];
    if (strstr(about->library, "flash_attn_3") || strstr(about->library, "flashattention3") ||
        nk_same_package(about->package, "flash-attn-3"))
        nk_repair_add(out, NK_TEXT_SAFE_NOTHING, "Dao-AILab/flash-attention#1785; facebookresearch/xformers#1251",
                      NK_TEXT_FA3, nk_name_sm(sm, about->target.sm), NULL, NULL, NULL);
    // The tables of other packages are of wheels for x86-64.
    if (strcmp(nk_case_machine(about), "x86_64")) return false;
    if (domain(about, out)) return true;
    int family = *about->package ? row_of(about->package) : 0;
    if (!family) return false;
    if (another_part(about, out) || another_release(about, out, family)) return true;
    if (!is_choice(family) && *cell(family, NK_PACK_VERSION))
        nk_repair_upstream(out,
                           nk_repair_add(out, NK_TEXT_SAFE_NOTHING, cell(family, NK_PACK_SOURCE), NK_TEXT_PACKAGE_NONE,
                                         about->package, nk_name_sm(sm, about->target.sm), NULL, NULL),
                           about);
    return false;
}
