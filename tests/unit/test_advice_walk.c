// test_advice_walk.c - every command of every repair, for every package, GPU, driver and installer of the tables, is
// borne out by the tables. What runs where is decided here by a rule of this file's own.
#define _GNU_SOURCE
#include "advice.h"
#include "verdict/arch.h"

static const int drivers[] = {0, 11080, 12020, 12080, 13000};
static const struct {
    const char *source, *installer, *origin;
} ways[] = {{"pip", "pip", ""},
            {"pip", "uv", ""},
            {"conda", "", ""},
            {"deb", "", ""},
            {"pip", "pip", "git+https://github.com/o/p@c0ffee"},
            {"folder", "", "editable:/home/u/p"},
            {"pip", "pip", "https://x.org/p.whl"}};
static size_t commands, words;

// ---- the rule: cubins of an older GPU of the same generation; "a" of exactly that, "f" of the family; stand-alone
// ones
static bool stands_alone(int sm)
{
    static const int list[] = {53, 62, 72, 87, 88, 101, 110};
    for (size_t i = 0; i < COUNT(list); i++)
        if (list[i] == sm) return true;
    return false;
}

static bool one_runs(const char *word, int sm)
{
    int arch = atoi(word);
    char suffix = word[strspn(word, "0123456789")];
    if (arch == sm || (arch == 101 && sm == 110) || (arch == 110 && sm == 101)) return true;
    if (suffix == 'a' || stands_alone(arch) || stands_alone(sm)) return false;
    return arch / 10 == sm / 10 && arch < sm;
}

static bool list_runs(const char *list, int sm, bool ptx)
{
    for (; *list; list += strcspn(list, ";"), list += *list == ';') {
        char suffix = list[strspn(list, "0123456789")];
        bool plain = suffix != 'a' && suffix != 'f';
        if (ptx ? (plain && atoi(list) <= sm) || one_runs(list, sm) : one_runs(list, sm)) return true;
    }
    return false;
}

// ---- words of a command
// The text between `before` and any character of `end`; "" when it is not there.
static const char *part(char out[128], const char *command, const char *before, const char *end)
{
    const char *at = strstr(command, before);
    *out = 0;
    if (at) snprintf(out, 128, "%.*s", (int)strcspn(at + strlen(before), end), at + strlen(before));
    return out;
}

static void ends(const struct nk_advice_case *about, const char *command, const char *why)
{
    fail_msg("%s %s (%s, %s) on sm_%d, driver %d: %s\n%s", about->package, about->version, about->source,
             about->installer, about->target.sm, about->target.driver, why, command);
}

static void quotes_are_closed(const struct nk_advice_case *about, const char *command)
{
    size_t count = 0;
    for (const char *at = command; *at; at++) count += *at == '"';
    if (count % 2 || strpbrk(command, "{}`\n") || strstr(command, "$(") || strstr(command, "  "))
        ends(about, command, "it is no command line");
}

static void the_installer_is_the_packages(const struct nk_advice_case *about, const char *command)
{
    bool uv = strstr(command, "uv pip"), conda = strstr(command, "conda remove"), venv = strstr(command, "-m venv");
    bool pip = strstr(command, "pip install");
    if (conda && strcmp(about->source, "conda")) ends(about, command, "conda did not install it");
    if (pip && !strcmp(about->source, "conda") && !conda) ends(about, command, "it stays in conda");
    if (venv != (pip && !strcmp(about->source, "deb")))
        ends(about, command, "an environment where none is needed, or none");
    if (uv && strcmp(about->installer, "uv")) ends(about, command, "uv did not install it");
    if (strstr(command, "-m pip") && !strcmp(about->installer, "uv")) ends(about, command, "there may be no pip");
}

// "name==1.2" of a table of packages: all its parts run there, and the driver starts its CUDA.
static void a_release_runs(const struct nk_advice_case *about, const char *command)
{
    for (const char *at = command; (at = strchr(at, '"')); at = strchr(at + 1, '"') ? strchr(at + 1, '"') + 1 : "") {
        char name[128] = "", version[128] = "";
        if (sscanf(at, "\"%127[A-Za-z0-9_.-]==%127[^\"]\"", name, version) != 2) continue;
        if (strstr(command, "--no-binary") || strchr(version, '+') || !strcmp(name, "torch")) continue;
        size_t found = 0, size = strlen(version);
        if (size > 2 && !strcmp(version + size - 2, ".*")) version[size - 2] = 0;
        for (int row = 1; row < nk_known_packages.rows; row++) {
            if (strcmp(nk_known(&nk_known_packages, row, NK_PACK_NAME), name) ||
                strcmp(nk_known(&nk_known_packages, row, NK_PACK_VERSION), version))
                continue;
            found++;
            if (!list_runs(nk_known(&nk_known_packages, row, NK_PACK_SASS), about->target.sm, false) &&
                !list_runs(nk_known(&nk_known_packages, row, NK_PACK_PTX), about->target.sm, true))
                ends(about, command, "a part of it has nothing for this GPU");
            int cuda = nk_version_cuda(nk_known(&nk_known_packages, row, NK_PACK_CUDA));
            if (about->target.driver && about->target.driver / 1000 < cuda / 1000)
                ends(about, command, "this driver does not start its CUDA");
        }
        if (!found) ends(about, command, "no such release is known");
        if (nk_same_package(name, about->package) && !strcmp(version, about->version))
            ends(about, command, "it is what is installed");
    }
}

// "torchvision==0.23.0+cu128": of the index of that torch, which has code for the GPU.
static void a_companion_belongs_to_torch(const struct nk_advice_case *about, const char *command)
{
    char version[128], index[128], want[160];
    bool vision = *part(version, command, "\"torchvision==", "\"");
    if (!vision) part(version, command, "\"torchaudio==", "\"");
    if (!*version || !strchr(version, '+')) return;
    part(index, command, "https://download.pytorch.org/whl/", " ");
    if (strcmp(strchr(version, '+') + 1, index)) ends(about, command, "another index than its local version");
    int row = nk_known_row(&nk_known_torch_domain, NK_DOMAIN_VARIANT, index);
    if (!row || !list_runs(nk_known(&nk_known_torch_domain, row, NK_DOMAIN_SASS), about->target.sm, false))
        ends(about, command, "that index has no code for this GPU");
    *strchr(version, '+') = 0;
    for (int pair = 1; pair < nk_known_torch_pairs.rows; pair++) {
        snprintf(want, sizeof want, "%s+%s", nk_known(&nk_known_torch_pairs, pair, NK_PAIR_TORCH), index);
        if (!strcmp(want, about->torch) &&
            !strcmp(nk_known(&nk_known_torch_pairs, pair, vision ? NK_PAIR_VISION : NK_PAIR_AUDIO), version))
            return;
    }
    ends(about, command, "it does not belong to this torch");
}

// The architecture that a build is told runs on the GPU, and a toolkit makes it.
static void a_build_is_for_the_gpu(const struct nk_advice_case *about, const char *command)
{
    static const char *const knobs[] = {"TORCH_CUDA_ARCH_LIST=\"",
                                        "FLASH_ATTN_CUDA_ARCHS=\"",
                                        "TCNN_CUDA_ARCHITECTURES=",
                                        "CUMM_CUDA_ARCH_LIST=\"",
                                        "CMAKE_CUDA_ARCHITECTURES=",
                                        "COMPUTE_CAPABILITY=\"",
                                        "code=sm_",
                                        "CUDA_COMPUTE_CAPABILITIES=",
                                        "cuda_compute_capabilities=sm_",
                                        "CUDA_ARCH_BIN="};
    char value[128], number[16] = "";
    for (size_t i = 0; i < COUNT(knobs); i++) {
        if (!*part(value, command, knobs[i], "\" ,")) continue;
        size_t n = 0;
        for (const char *at = value; *at && n < 15; at++)
            if (*at != '.') number[n++] = *at;
        number[n] = 0;
        int row = nk_known_row(&nk_known_sm_toolkit, NK_SM_SM, number);
        if (!one_runs(number, about->target.sm)) ends(about, command, "it is built for another GPU");
        if (!row || !*nk_known(&nk_known_sm_toolkit, row, NK_SM_FIRST)) ends(about, command, "no toolkit makes that");
        words++;
    }
}

static void a_source_is_its_own(const struct nk_advice_case *about, const char *command)
{
    char version[128], want[160];
    bool index = strstr(command, "--no-binary");
    if (index && *about->origin) ends(about, command, "it did not come from an index");
    if (index && (nk_same_package(about->package, "apex") || nk_same_package(about->package, "torchvision")))
        ends(about, command, "the index has no source of it");
    if (!index || !*about->version) return;
    snprintf(want, sizeof want, "\"%s==%.*s\"", about->package, (int)strcspn(about->version, "+"), about->version);
    if (!strstr(command, want)) ends(about, command, part(version, command, "--no-binary ", " "));
}

static void check(const struct nk_advice_case *about, const char *command)
{
    quotes_are_closed(about, command);
    the_installer_is_the_packages(about, command);
    a_release_runs(about, command);
    a_companion_belongs_to_torch(about, command);
    a_build_is_for_the_gpu(about, command);
    a_source_is_its_own(about, command);
    commands++;
}

// Both languages say the same things: as many repairs, the same commands, as safe.
static void in_both_languages(const struct nk_advice_case *about)
{
    struct nk_advice english, chinese;
    nk_advise(about, NK_ENGLISH, &english);
    nk_advise(about, NK_CHINESE, &chinese);
    assert_int_equal(english.count, chinese.count);
    for (size_t i = 0; i < english.count; i++) {
        const char *a = english.repair[i].command.data, *b = chinese.repair[i].command.data;
        if ((a ? strcmp(a, b ? b : "") : b != NULL) || english.repair[i].safe != chinese.repair[i].safe)
            ends(about, a ? a : "", "the languages differ");
        if (a) check(about, a);
        for (size_t k = 0; a && k < i; k++)
            if (english.repair[k].command.data && !strcmp(english.repair[k].command.data, a))
                ends(about, a, "said twice");
    }
    nk_advice_free(&english);
    nk_advice_free(&chinese);
}

static void for_every_gpu(const char *package, const char *version, const char *library)
{
    static const enum nk_reason reasons[] = {NK_REASON_NO_IMAGE, NK_REASON_ARCH_SPECIFIC, NK_REASON_PTX_HIGHER_THAN_GPU,
                                             NK_REASON_PTX_TOO_NEW_ISA, NK_REASON_KERNEL_NOT_IN_IMAGE};
    size_t turn = 0;
    for (int sm = 0; (sm = nk_arch_next(sm));)
        for (size_t way = 0; way < COUNT(ways); way++) {
            struct nk_advice_case about = lacking(package, version, sm, drivers[turn++ % COUNT(drivers)]);
            about.source = ways[way].source;
            about.installer = ways[way].installer;
            about.origin = ways[way].origin;
            about.torch = turn % 3 ? "2.8.0+cu128" : turn % 2 ? "2.7.1+cu126" : "";
            if (*library) about.library = library;
            about.verdict.reason = reasons[turn % COUNT(reasons)];
            in_both_languages(&about);
        }
}

static void every_command_for_every_release_of_the_tables_is_borne_out(void **state)
{
    (void)state;
    for (int row = 1; row < nk_known_packages.rows; row++) {
        char library[128];
        const char *part_of = nk_known(&nk_known_packages, row, NK_PACK_PART);
        snprintf(library, sizeof library, "/v/lib/python3.11/site-packages/x/lib%s.so",
                 *part_of == '|' ? part_of + 1 : "x");
        for_every_gpu(nk_known(&nk_known_packages, row, NK_PACK_NAME),
                      nk_known(&nk_known_packages, row, NK_PACK_VERSION), library);
    }
    assert_true(commands > 5000);
}

static void every_command_to_build_something_is_borne_out(void **state)
{
    (void)state;
    commands = words = 0;
    for (int row = 1; row < nk_known_rebuild.rows; row++)
        for_every_gpu(nk_known(&nk_known_rebuild, row, NK_REBUILD_NAME), "1.0", "");
    for_every_gpu("an-extension", "0.1", "");
    for_every_gpu("", "", "/opt/lib/libmine.so");
    assert_true(commands > 1000 && words > 1000);
}

static void every_command_for_torch_and_what_belongs_to_it_is_borne_out(void **state)
{
    (void)state;
    commands = 0;
    static const char *const versions[] = {"2.1.2+cu121", "2.4.1", "2.7.0.dev20250310+cu124", "2.8.0+cu128",
                                           "2.15.0+cu132"};
    for (size_t i = 0; i < COUNT(versions); i++) for_every_gpu("torch", versions[i], "");
    for (int row = 1; row < nk_known_names.rows; row++)
        for_every_gpu(nk_known(&nk_known_names, row, NK_NAMES_NAME), "2.4.1", "");
    for_every_gpu("torchvision", "0.19.1", "");
    for_every_gpu("torchaudio", "2.4.1", "");
    assert_true(commands > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_for_every_release_of_the_tables_is_borne_out),
        cmocka_unit_test(every_command_to_build_something_is_borne_out),
        cmocka_unit_test(every_command_for_torch_and_what_belongs_to_it_is_borne_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
