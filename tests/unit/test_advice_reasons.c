// test_advice_reasons.c - the repair follows from the reason: never one that the evidence contradicts.
#define _GNU_SOURCE
#include "advice.h"

static void for_reason(struct nk_advice_case *about, enum nk_reason reason, enum nk_runs runs, int result)
{
    about->verdict.reason = reason;
    about->verdict.runs = runs;
    about->result = result;
}

static const struct nk_image new_ptx = {
    .kind = NK_KIND_PTX, .arch = 80, .isa_major = 8, .isa_minor = 7, .kernels = UINT32_MAX};

static struct nk_advice_case too_new_ptx(int driver)
{
    struct nk_advice_case about = lacking("", "", 86, driver);
    about.images = &new_ptx;
    about.image_count = 1;
    about.verdict.image = 0;
    for_reason(&about, NK_REASON_PTX_TOO_NEW_ISA, NK_RUNS_NONE, 222);
    return about;
}

static void a_newer_driver_is_never_advised_where_no_image_fits(void **state)
{
    (void)state;
    static const enum nk_reason reasons[] = {NK_REASON_NO_IMAGE,
                                             NK_REASON_ARCH_SPECIFIC,
                                             NK_REASON_FAMILY,
                                             NK_REASON_TEGRA,
                                             NK_REASON_PTX_HIGHER_THAN_GPU,
                                             NK_REASON_LTO_ONLY,
                                             NK_REASON_KERNEL_NOT_IN_IMAGE};
    static const char *const packages[] = {"torch", "xformers", "flash-attn", ""};
    for (size_t r = 0; r < COUNT(reasons); r++)
        for (size_t p = 0; p < COUNT(packages); p++) {
            struct nk_advice_case about = lacking(packages[p], "2.4.1+cu121", 120, 12080);
            for_reason(&about, reasons[r], NK_RUNS_NONE, 209);
            never_says(&about, "newer driver");
            never_says(&about, "needs a driver");
        }
}

static void ptx_newer_than_the_driver_asks_for_the_branch_that_compiles_it(void **state)
{
    (void)state;
    struct nk_advice_case about = too_new_ptx(12040);
    says(&about, "its PTX 8.7 needs CUDA 12.8 (driver 570 or newer), this one is for CUDA 12.4");
    says(&about, "-gencode arch=compute_86,code=sm_86"); // or machine code, which needs no newer driver
    assert_false(given.repair[0].safe);
}

static void a_driver_that_is_new_enough_is_not_to_be_replaced(void **state)
{
    (void)state;
    struct nk_advice_case about = too_new_ptx(13000);
    never_says(&about, "newer driver");
}

static void a_codec_newer_than_the_driver_asks_for_driver_550(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("ollama", "0.12", 86, 12020);
    for_reason(&about, NK_REASON_CODEC_NEWER_THAN_DRIVER, NK_RUNS_NONE, 200);
    says(&about, "drivers can read from CUDA 12.4 on (driver 550)");
    says(&about, "--compress-mode=speed");
}

static void a_variable_that_forbids_ptx_is_to_be_unset_and_nothing_installed(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("torch", "2.4.1+cu121", 120, 13000);
    for_reason(&about, NK_REASON_JIT_DISABLED, NK_RUNS_NONE, 223);
    says(&about, "unset CUDA_DISABLE_PTX_JIT");
    assert_int_equal(given.count, 1);
    assert_true(given.repair[0].safe);
    for_reason(&about, NK_REASON_FORCE_PTX_NO_PTX, NK_RUNS_NONE, 209);
    says(&about, "unset CUDA_FORCE_PTX_JIT");
    never_says(&about, "pip");
}

static void a_missing_jit_library_is_no_reason_for_another_package(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("torch", "2.4.1+cu121", 120, 13000);
    for_reason(&about, NK_REASON_PTX, NK_RUNS_JIT, 221);
    says(&about, "libnvidia-ptxjitcompiler.so.1 is missing");
    never_says(&about, "pip");
}

static void a_kernel_that_its_image_lacks_is_no_reason_for_another_version(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("torch", "2.8.0+cu128", 75, 13000);
    for_reason(&about, NK_REASON_KERNEL_NOT_IN_IMAGE, NK_RUNS_NONE, 500);
    says(&about, "choose another back end");
    never_says(&about, "pip");
}

static void what_runs_by_the_rules_or_cannot_be_judged_gets_no_advice(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("torch", "2.4.1+cu121", 120, 13000);
    static const enum nk_runs runs[] = {NK_RUNS_NATIVE, NK_RUNS_JIT, NK_RUNS_UNKNOWN};
    for (size_t i = 0; i < COUNT(runs); i++) {
        for_reason(&about, NK_REASON_NONE, runs[i], 209);
        assert_string_equal(answer(&about), "");
    }
}

static void code_that_cupy_compiled_asks_for_a_newer_nvrtc(void **state)
{
    (void)state;
    static const struct nk_image old = {.kind = NK_KIND_CUBIN, .arch = 90, .kernels = UINT32_MAX};
    struct nk_advice_case about = lacking("", "", 120, 13000);
    about.in_memory = true;
    about.loader_package = "cupy-cuda12x";
    about.images = &old;
    about.image_count = 1;
    says(&about, "too old for sm_120: NVRTC or ptxas of CUDA 12.8 or newer");
    says(&about, "/v/bin/python -m pip install --upgrade \"nvidia-cuda-nvrtc-cu12>=12.8\"");
}

static void code_that_triton_compiled_names_its_ptxas(void **state)
{
    (void)state;
    static const struct nk_image old = {.kind = NK_KIND_CUBIN, .arch = 120, .suffix = 'a', .kernels = UINT32_MAX};
    struct nk_advice_case about = lacking("", "", 121, 13000);
    about.in_memory = true;
    about.loader_package = "triton";
    about.images = &old;
    about.image_count = 1;
    says(&about, "TRITON_PTXAS_PATH");
}

static void there_are_never_more_than_three_repairs_and_each_has_a_text(void **state)
{
    (void)state;
    static const char *const packages[] = {"torch", "xformers", "onnxruntime-gpu", "ctranslate2", "tensorflow", ""};
    for (int reason = 0; reason < NK_REASON_COUNT; reason++)
        for (size_t p = 0; p < COUNT(packages); p++) {
            struct nk_advice_case about = lacking(packages[p], "1.0", 120, 12080);
            for_reason(&about, (enum nk_reason)reason, NK_RUNS_NONE, 209);
            answer(&about);
            assert_true(given.count <= NK_REPAIRS_MOST);
            for (size_t i = 0; i < given.count; i++) {
                assert_non_null(given.repair[i].text.data);
                assert_null(strchr(given.repair[i].text.data, '{'));
            }
        }
}

int main(void)
{
#define T(name) cmocka_unit_test(name)
    const struct CMUnitTest tests[] = {
        T(a_newer_driver_is_never_advised_where_no_image_fits),
        T(ptx_newer_than_the_driver_asks_for_the_branch_that_compiles_it),
        T(a_driver_that_is_new_enough_is_not_to_be_replaced),
        T(a_codec_newer_than_the_driver_asks_for_driver_550),
        T(a_variable_that_forbids_ptx_is_to_be_unset_and_nothing_installed),
        T(a_missing_jit_library_is_no_reason_for_another_package),
        T(a_kernel_that_its_image_lacks_is_no_reason_for_another_version),
        T(what_runs_by_the_rules_or_cannot_be_judged_gets_no_advice),
        T(code_that_cupy_compiled_asks_for_a_newer_nvrtc),
        T(code_that_triton_compiled_names_its_ptxas),
        T(there_are_never_more_than_three_repairs_and_each_has_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
