// test_verdict_text.c - a list of images, and what a GPU would need, in the words of a report.
#define _GNU_SOURCE
#include "verdict.h"

#define T(test) cmocka_unit_test(test)
#define CLAIM(test, ...)                                                                                               \
    static void test(void **state)                                                                                     \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        __VA_ARGS__;                                                                                                   \
    }

static void lists_as(const char *words, const char *expected)
{
    struct nk_image images[MAX_IMAGES];
    struct nk_buf out = {0};
    nk_arch_list_text(images, images_of(words, images), &out);
    assert_string_equal(out.data, expected);
    nk_buf_free(&out);
}

static void needs(const char *words, struct nk_target target, const char *expected)
{
    struct nk_image images[MAX_IMAGES];
    struct nk_buf out = {0};
    nk_verdict_needs(images, images_of(words, images), &target, &out);
    assert_string_equal(out.data ? out.data : "", expected);
    nk_buf_free(&out);
}

#define ON(gpu, cuda) ((struct nk_target){.sm = gpu, .driver = cuda})

CLAIM(cubins_alone_are_listed_with_no_ptx, lists_as("sm_50 sm_60 sm_70", "sm_50 sm_60 sm_70, no PTX"))
CLAIM(cubins_are_listed_rising, lists_as("sm_120 sm_50 sm_90", "sm_50 sm_90 sm_120, no PTX"))
CLAIM(each_architecture_is_listed_once, lists_as("sm_80 sm_80 sm_80/lz4", "sm_80, no PTX"))
CLAIM(suffixes_are_listed_apart, lists_as("sm_90a sm_90 sm_120f", "sm_90 sm_90a sm_120f, no PTX"))
CLAIM(ptx_is_listed_with_its_version, lists_as("sm_80 compute_90@8.0", "sm_80, PTX compute_90 (ISA 8.0)"))
CLAIM(ptx_alone_is_listed, lists_as("compute_52@7.0", "PTX compute_52 (ISA 7.0)"))
CLAIM(a_version_that_all_ptx_share_is_said_once,
      lists_as("compute_80@8.0 compute_70@8.0", "PTX compute_70 compute_80 (ISA 8.0)"))
CLAIM(different_versions_are_said_each,
      lists_as("compute_70@7.8 compute_80@8.0", "PTX compute_70 (ISA 7.8), compute_80 (ISA 8.0)"))
CLAIM(ptx_of_unknown_version_is_listed_without, lists_as("compute_70@0.0", "PTX compute_70"))
CLAIM(nothing_is_said_to_be_nothing, lists_as("", "no device code"))
CLAIM(lto_alone_is_listed, lists_as("lto_80 lto_90", "LTO sm_80 sm_90"))
CLAIM(relocatable_ptx_is_listed_apart,
      lists_as("sm_80 compute_80@9.0/reloc", "sm_80, no PTX, relocatable PTX compute_80 (ISA 9.0)"))
CLAIM(one_unknown_kind_is_counted, lists_as("sm_80 kind_16", "sm_80, no PTX, 1 image of unknown kind"))
CLAIM(unknown_kinds_alone_are_counted, lists_as("kind_16 kind_32", "2 images of unknown kind"))

CLAIM(an_rtx_5090_needs_120_or_ptx, needs("sm_50 sm_90", ON(120, 13000), "sm_120 (or PTX for compute_120 or lower)"))
CLAIM(a_gb10_may_have_the_code_of_120,
      needs("sm_90", ON(121, 13000), "sm_120 or sm_121 (or PTX for compute_121 or lower)"))
CLAIM(an_rtx_4090_may_have_the_code_of_80_and_86,
      needs("sm_75", ON(89, 0), "sm_80, sm_86 or sm_89 (or PTX for compute_89 or lower)"))
CLAIM(orin_needs_its_own_code, needs("sm_80", ON(87, 0), "sm_87 (or PTX for compute_87 or lower)"))
CLAIM(thor_may_have_code_under_its_old_name,
      needs("sm_100", ON(110, 0), "sm_101 or sm_110 (or PTX for compute_110 or lower)"))
CLAIM(an_unknown_gpu_needs_its_own_code, needs("sm_120", ON(135, 0), "sm_135 (or PTX for compute_135 or lower)"))
CLAIM(what_runs_needs_nothing, needs("sm_80", ON(86, 12000), ""))
CLAIM(what_is_compiled_needs_nothing, needs("compute_80", ON(86, 12000), ""))
CLAIM(what_is_empty_needs_nothing, needs("sm_52/empty", ON(86, 12000), ""))
CLAIM(an_unknown_gpu_is_not_told_what_it_needs, needs("sm_52", ON(0, 12000), ""))
CLAIM(ptx_too_new_needs_a_driver_or_older_ptx, needs("compute_80@8.4", ON(80, 12020),
                                                     "a driver for CUDA 12.4 or newer (550), or sm_80 (or PTX for "
                                                     "compute_80 or lower, PTX ISA 8.2 or lower for this driver)"))
CLAIM(ptx_newer_than_the_table_needs_a_newer_driver,
      needs("compute_80@9.9", ON(80, 12020),
            "a newer driver, or sm_80 (or PTX for compute_80 or lower, PTX ISA 8.2 or lower for this driver)"))
CLAIM(
    zstd_needs_a_driver_or_another_compression,
    needs("sm_80/zstd", ON(80, 12020),
          "a driver for CUDA 12.4 or newer (550), or sm_80 (or PTX for compute_80 or lower) not compressed with zstd"))
CLAIM(disabled_jit_needs_the_variable_unset,
      needs("compute_80", ((struct nk_target){.sm = 90, .driver = 13000, .disable_ptx_jit = true}),
            "CUDA_DISABLE_PTX_JIT unset, or sm_90"))
CLAIM(disabled_jit_never_asks_for_ptx,
      needs("sm_80", ((struct nk_target){.sm = 90, .driver = 13000, .disable_ptx_jit = true}), "sm_90"))
CLAIM(forced_jit_needs_ptx_or_the_variable_unset,
      needs("sm_90", ((struct nk_target){.sm = 90, .driver = 13000, .force_ptx_jit = true}),
            "CUDA_FORCE_PTX_JIT unset, or PTX for compute_90 or lower"))

// What is offered is true: plain code for each architecture that is named does run there.
static void every_architecture_that_is_offered_runs(void **state)
{
    (void)state;
    struct nk_image lto = image_of("lto_20");
    for (int sm = nk_arch_next(0); sm; sm = nk_arch_next(sm)) {
        struct nk_buf out = {0};
        nk_verdict_needs(&lto, 1, &ON(sm, 0), &out);
        *strstr(out.data, " (or PTX") = 0;
        for (char *at = out.data, word[NK_ARCH_TEXT]; (at = strstr(at, "sm_")); at += 3) {
            size_t size = 3 + strspn(at + 3, "0123456789");
            memcpy(word, at, size);
            word[size] = 0;
            assert_int_equal(judge(word, sm).runs, NK_RUNS_NATIVE);
        }
        nk_buf_free(&out);
    }
}

static const struct CMUnitTest tests[] = {
    T(every_architecture_that_is_offered_runs),
    T(cubins_alone_are_listed_with_no_ptx),
    T(cubins_are_listed_rising),
    T(each_architecture_is_listed_once),
    T(suffixes_are_listed_apart),
    T(ptx_is_listed_with_its_version),
    T(ptx_alone_is_listed),
    T(a_version_that_all_ptx_share_is_said_once),
    T(different_versions_are_said_each),
    T(ptx_of_unknown_version_is_listed_without),
    T(nothing_is_said_to_be_nothing),
    T(lto_alone_is_listed),
    T(relocatable_ptx_is_listed_apart),
    T(one_unknown_kind_is_counted),
    T(unknown_kinds_alone_are_counted),
    T(an_rtx_5090_needs_120_or_ptx),
    T(a_gb10_may_have_the_code_of_120),
    T(an_rtx_4090_may_have_the_code_of_80_and_86),
    T(orin_needs_its_own_code),
    T(thor_may_have_code_under_its_old_name),
    T(an_unknown_gpu_needs_its_own_code),
    T(what_runs_needs_nothing),
    T(what_is_compiled_needs_nothing),
    T(what_is_empty_needs_nothing),
    T(an_unknown_gpu_is_not_told_what_it_needs),
    T(ptx_too_new_needs_a_driver_or_older_ptx),
    T(ptx_newer_than_the_table_needs_a_newer_driver),
    T(zstd_needs_a_driver_or_another_compression),
    T(disabled_jit_needs_the_variable_unset),
    T(disabled_jit_never_asks_for_ptx),
    T(forced_jit_needs_ptx_or_the_variable_unset),
};

int main(void) { return cmocka_run_group_tests(tests, NULL, NULL); }
