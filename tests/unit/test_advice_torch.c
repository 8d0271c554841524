// test_advice_torch.c - every wheel of torch that is advised is in the tables, and has code for the GPU.
#define _GNU_SOURCE
#include "advice.h"
#include "verdict/arch.h"

static struct nk_wheel wheels[NK_WHEELS_MOST];
static size_t wheel_count;

// Is it advised with reason? Checked with the table's own lists, not with the code that chose it.
static void check(const struct nk_advice_case *about, const struct nk_wheel *w, const char *command)
{
    struct nk_target target = {.sm = about->target.sm};
    const char *sass = nk_known(&nk_known_torch_wheels, w->row, NK_WHEEL_SASS);
    if (nk_known_runs(sass, "", 0, &target).runs != NK_RUNS_NATIVE)
        fail_msg("torch %s for sm_%d: %s has only %s\n%s", about->version, about->target.sm, w->torch, sass, command);
    if (about->target.driver && about->target.driver / 1000 < w->cuda / 1000)
        fail_msg("CUDA %d on a driver for %d: %s", w->cuda, about->target.driver, command);
}

// The text between `before` and any character of `end` in a command; "" when it is not there.
static const char *part(char out[64], const char *command, const char *before, const char *end)
{
    const char *at = strstr(command, before);
    *out = 0;
    if (at) snprintf(out, 64, "%.*s", (int)strcspn(at + strlen(before), end), at + strlen(before));
    return out;
}

// Every wheel that the command can bring. How many.
static size_t walk(const struct nk_advice_case *about, const char *command)
{
    char exact[64], from[64], below[64], index[64], variant[64];
    size_t found = 0;
    part(exact, command, "\"torch==", "\"");
    part(from, command, "\"torch>=", "\",");
    part(below, command, ",<", "\"");
    part(index, command, "https://download.pytorch.org/whl/", " ");
    part(variant, exact, "+", " ");
    for (size_t i = 0; i < wheel_count; i++) {
        const struct nk_wheel *w = &wheels[i];
        const char *in = nk_known(&nk_known_torch_wheels, w->row, NK_WHEEL_INDEX);
        bool meant =
            *exact ? !nk_version_compare(exact, w->torch) && (!*variant || !strcmp(variant, w->variant))
                   : nk_version_compare(w->torch, from) >= 0 && (!*below || nk_version_compare(w->torch, below) < 0);
        if (!meant || strcmp(in, index)) continue;
        check(about, w, command);
        if (!strcmp(w->torch, about->version)) fail_msg("advised what is installed: %s", command);
        found++;
    }
    return found;
}

static size_t commands_for(const struct nk_advice_case *about)
{
    size_t commands = 0;
    answer(about);
    for (size_t i = 0; i < given.count; i++) {
        const char *command = given.repair[i].command.data;
        if (!command || !strstr(command, "\"torch")) continue;
        if (!walk(about, command)) fail_msg("no wheel of the table is what this brings: %s", command);
        commands++;
    }
    return commands;
}

static size_t for_every_version(int sm, int driver, const char *machine, const char *python)
{
    size_t commands = 0;
    wheel_count = nk_wheels(wheels, nk_arch_kin(sm) == NK_KIN_TEGRA || sm == 121 ? "aarch64" : machine);
    static struct nk_wheel installed[NK_WHEELS_MOST];
    size_t count = nk_wheels(installed, machine);
    for (size_t i = 0; i < count; i++) {
        char version[64];
        snprintf(version, sizeof version, "%s+%s", installed[i].torch, installed[i].variant);
        struct nk_advice_case about = lacking("torch", version, sm, driver);
        about.machine = machine;
        about.python_version = python;
        commands += commands_for(&about);
    }
    return commands;
}

static void every_advised_wheel_has_code_for_the_gpu_whatever_is_installed(void **state)
{
    (void)state;
    static const int drivers[] = {0, 11040, 12020, 12080, 13000};
    size_t commands = 0;
    for (int sm = 0; (sm = nk_arch_next(sm));)
        for (size_t d = 0; d < COUNT(drivers); d++) {
            commands += for_every_version(sm, drivers[d], "x86_64", "3.11");
            commands += for_every_version(sm, drivers[d], "aarch64", "");
        }
    assert_true(commands > 1000); // the walk is not empty
}

static void every_gpu_of_today_gets_a_command(void **state)
{
    (void)state;
    static const int sms[] = {50, 52, 60, 61, 70, 75, 80, 86, 89, 90, 100, 103, 120};
    wheel_count = nk_wheels(wheels, "x86_64");
    for (size_t i = 0; i < COUNT(sms); i++) {
        struct nk_advice_case about = lacking("torch", "2.0.0+own", sms[i], 13000);
        if (!commands_for(&about)) fail_msg("nothing for sm_%d: %s", sms[i], answer(&about));
    }
}

static void a_new_gpu_gets_the_first_index_that_has_it_and_the_newest_wheel(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("torch", "2.4.1+cu121", 120, 13000);
    says(
        &about,
        "/v/bin/python -m pip install --upgrade \"torch>=2.7.0\" --index-url https://download.pytorch.org/whl/cu128\n");
    says(&about, "torch 2.15.0, built for CUDA 13.2");
    assert_int_equal(given.count, 2);
    assert_false(given.repair[0].safe);
}

static void a_nightly_of_an_old_index_is_not_taken_for_its_release(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("torch", "2.7.0.dev20250310+cu124", 120, 12080);
    says(&about, "\"torch>=2.7.0\" --index-url https://download.pytorch.org/whl/cu128");
}

static void a_gpu_that_a_newer_index_dropped_keeps_its_version_and_changes_the_index(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("torch", "2.7.0+cu128", 61, 12080);
    says(&about, "the same torch 2.7.0, built for CUDA 12.6, has code for sm_61");
    says(&about, "\"torch==2.7.0+cu126\" --index-url https://download.pytorch.org/whl/cu126");
    assert_true(given.repair[0].safe);
    about.version = "2.8.0+cu128";
    says(&about, "\"torch==2.8.0+cu126\"");
}

static void pypis_own_build_is_known_without_a_local_version(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("torch", "2.8.0", 61, 12080); // cu128
    says(&about, "the same torch 2.8.0, built for CUDA 12.6");
}

static void torch_gives_the_same_answer_about_its_own_newest_version(void **state)
{
    (void)state; // its own warning on such a GPU: "use pip install torch==2.15.0 --index-url .../whl/cu126"
    struct nk_advice_case about = lacking("torch", "2.15.0+cu132", 70, 13000);
    says(&about, "\"torch==2.15.0+cu126\" --index-url https://download.pytorch.org/whl/cu126");
}

static void companions_of_the_process_come_along_in_their_pair(void **state)
{
    (void)state;
    static const char *const others[] = {"torchvision", "xformers", NULL};
    struct nk_advice_case about = lacking("torch", "2.8.0+cu128", 61, 12080);
    about.others = others;
    says(&about, "\"torch==2.8.0+cu126\" \"torchvision==0.23.0+cu126\" --index-url");
    says(&about, "must move with it: xformers");
}

static void one_build_for_all_gpus_of_the_process_is_preferred(void **state)
{
    (void)state;
    static const int sms[] = {70, 100, 0};
    struct nk_advice_case about = lacking("torch", "2.9.1+cu130", 70, 13000);
    about.sms = sms;
    says(&about, "\"torch==2.9.1+cu128\"");
    never_says(&about, "cu126");
    never_says(&about, "CUDA_VISIBLE_DEVICES");
}

static void a_range_ends_before_the_first_version_that_dropped_a_gpu(void **state)
{
    (void)state;
    static const int sms[] = {70, 100, 0};
    struct nk_advice_case about = lacking("torch", "2.7.0+cu126", 100, 13000);
    about.sms = sms;
    says(&about, "\"torch>=2.8.0,<2.11.0\" --index-url https://download.pytorch.org/whl/cu128");
}

static void where_no_build_serves_all_gpus_that_is_said(void **state)
{
    (void)state;
    static const int sms[] = {61, 120, 0};
    struct nk_advice_case about = lacking("torch", "2.8.0+cu128", 61, 13000);
    about.sms = sms;
    says(&about, "\"torch==2.8.0+cu126\"");
    says(&about, "CUDA_VISIBLE_DEVICES");
}

static void jetson_orin_has_no_official_wheel(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("torch", "2.8.0+cu126", 87, 12060);
    about.machine = "aarch64";
    says(&about, "no official torch wheel runs on sm_87 (Jetson)");
    says(&about, "TORCH_CUDA_ARCH_LIST=\"8.7\"");
    never_says(&about, "pip install");
}

static void thor_has_wheels_for_aarch64(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("torch", "2.9.1+cu130", 110, 13000);
    about.machine = "aarch64";
    about.python_version = "3.12";
    says(&about, "\"torch>=2.10.0\" --index-url https://download.pytorch.org/whl/cu130");
}

static void a_wheel_that_the_driver_cannot_start_is_not_advised(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("torch", "2.4.1+cu121", 120, 12080);
    never_says(&about, "2.15.0");
    never_says(&about, "whl/cu130");
}

static void where_only_the_driver_is_too_old_the_driver_is_named(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("torch", "1.13.1+cu117", 120, 11080);
    says(&about, "needs a driver for CUDA 12.0 or newer (525)");
    never_says(&about, "pip install");
}

static void a_python_without_a_wheel_is_told(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("torch", "2.4.1+cu121", 120, 13000);
    about.python_version = "3.8";
    says(&about, "no wheel of it for Python 3.8");
    never_says(&about, "pip install");
}

static void a_gap_of_the_linear_algebra_library_is_no_reason_for_another_build_with_the_same_gap(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("torch", "2.15.0", 75, 13000);
    about.library = "/v/lib/python3.11/site-packages/torch/lib/libtorch_cuda_linalg.so";
    says(&about, "preferred_linalg_library('default')");
    says(&about, "\"torch==2.10.0+cu128\"");
    for (const char *bad = "2.11.0 2.12.1 2.13.0 2.14.0"; *bad; bad += strcspn(bad, " "), bad += *bad == ' ') {
        char version[16];
        snprintf(version, sizeof version, "==%.6s", bad);
        never_says(&about, version);
    }
}

static void kepler_gets_the_last_wheel_that_had_it(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("torch", "2.4.1+cu121", 37, 11040);
    says(&about, "\"torch==2.4.1+cu118\"");
    about.target.sm = 35;
    says(&about, "no official torch wheel with code for sm_35 is known");
    never_says(&about, "pip install");
}

static void a_torch_of_unknown_version_gets_only_the_newest(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("torch", "", 90, 13000);
    says(&about, "torch 2.15.0");
    assert_int_equal(given.count, 1);
}

int main(void)
{
#define T(name) cmocka_unit_test(name)
    const struct CMUnitTest tests[] = {
        T(every_advised_wheel_has_code_for_the_gpu_whatever_is_installed),
        T(every_gpu_of_today_gets_a_command),
        T(a_new_gpu_gets_the_first_index_that_has_it_and_the_newest_wheel),
        T(a_nightly_of_an_old_index_is_not_taken_for_its_release),
        T(a_gpu_that_a_newer_index_dropped_keeps_its_version_and_changes_the_index),
        T(pypis_own_build_is_known_without_a_local_version),
        T(torch_gives_the_same_answer_about_its_own_newest_version),
        T(companions_of_the_process_come_along_in_their_pair),
        T(one_build_for_all_gpus_of_the_process_is_preferred),
        T(a_range_ends_before_the_first_version_that_dropped_a_gpu),
        T(where_no_build_serves_all_gpus_that_is_said),
        T(jetson_orin_has_no_official_wheel),
        T(thor_has_wheels_for_aarch64),
        T(a_wheel_that_the_driver_cannot_start_is_not_advised),
        T(where_only_the_driver_is_too_old_the_driver_is_named),
        T(a_python_without_a_wheel_is_told),
        T(a_gap_of_the_linear_algebra_library_is_no_reason_for_another_build_with_the_same_gap),
        T(a_torch_of_unknown_version_gets_only_the_newest),
        T(kepler_gets_the_last_wheel_that_had_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
