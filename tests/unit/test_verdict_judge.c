// test_verdict_judge.c - the choice among images, the kernel in the chosen one, the driver and the environment.
#define _GNU_SOURCE
#include "verdict.h"

#define T(test) cmocka_unit_test(test)
#define CLAIM(test, ...)                                                                                               \
    static void test(void **state)                                                                                     \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        __VA_ARGS__;                                                                                                   \
    }

static struct nk_verdict on_driver(const char *words, int sm, int driver)
{
    return judge_on(words, NULL, (struct nk_target){.sm = sm, .driver = driver});
}

static struct nk_verdict forced(const char *words, const char *holds, int sm)
{
    return judge_on(words, holds, (struct nk_target){.sm = sm, .driver = 13000, .force_ptx_jit = true});
}

static struct nk_verdict no_jit(const char *words, int sm)
{
    return judge_on(words, NULL, (struct nk_target){.sm = sm, .driver = 13000, .disable_ptx_jit = true});
}

static struct nk_verdict kernel(const char *words, const char *holds, int sm)
{
    return judge_on(words, holds, (struct nk_target){.sm = sm});
}

// ---- the choice
CLAIM(a_cubin_is_taken_before_ptx, NATIVE(judge("compute_86 sm_80", 86), SAME_MAJOR))
CLAIM(the_exact_cubin_is_taken_before_a_lower_one, assert_int_equal(judge("sm_80 sm_86 sm_75", 86).image, 1))
CLAIM(the_highest_cubin_below_is_taken, assert_int_equal(judge("sm_80 sm_86 sm_75", 89).image, 1))
CLAIM(an_a_cubin_is_taken_before_the_plain_one, assert_int_equal(judge("sm_90 sm_90a", 90).image, 1))
CLAIM(an_a_cubin_is_taken_before_an_f_cubin, assert_int_equal(judge("sm_120a sm_120f", 120).image, 0))
CLAIM(an_f_cubin_is_taken_before_the_plain_one, assert_int_equal(judge("sm_120 sm_120f", 121).image, 1))
CLAIM(a_plain_cubin_of_the_gpu_is_taken_before_an_f_cubin_below,
      assert_int_equal(judge("sm_121 sm_120f", 121).image, 0))
CLAIM(a_renamed_cubin_counts_as_the_gpu_itself, assert_int_equal(judge("sm_110 sm_101a", 110).image, 1))
CLAIM(of_equal_images_the_first_is_taken, assert_int_equal(judge("sm_80 sm_80", 80).image, 0))
CLAIM(the_highest_ptx_that_fits_is_taken, assert_int_equal(judge("compute_70 compute_80 compute_120", 90).image, 1))
CLAIM(ptx_is_taken_when_no_cubin_fits, JIT(judge("sm_80 compute_80", 120)))
CLAIM(an_unknown_kind_does_not_hide_an_image_that_fits, NATIVE(judge("kind_16 sm_90", 90), EXACT))
CLAIM(none_is_never_said_beside_an_unknown_kind, UNKNOWN(judge("sm_80 kind_16", 90), UNKNOWN_KIND))
CLAIM(lto_ir_beside_a_cubin_that_fits_does_no_harm, NATIVE(judge("lto_80 sm_90", 90), EXACT))
CLAIM(relocatable_ptx_that_fits_is_left_open, UNKNOWN(judge("compute_80/reloc", 90), RELOCATABLE_PTX))
CLAIM(relocatable_ptx_for_a_newer_gpu_does_not_run, NONE(judge("compute_120/reloc", 90), PTX_HIGHER_THAN_GPU))

// ---- what was nearest, when nothing fits
CLAIM(nothing_but_other_generations_is_no_image, NONE(judge("sm_50 sm_60 sm_70 sm_90", 120), NO_IMAGE))
CLAIM(the_nearest_generation_is_named, assert_int_equal(judge("sm_50 sm_90 sm_70", 120).image, 1))
CLAIM(of_equally_near_images_the_first_is_named, assert_int_equal(judge("sm_80 sm_80", 120).image, 0))
CLAIM(a_far_a_cubin_beside_plain_ones_is_not_the_reason, NONE(judge("sm_90a sm_80", 120), NO_IMAGE))
CLAIM(a_far_a_cubin_alone_is_the_reason, NONE(judge("sm_90a", 120), ARCH_SPECIFIC))
CLAIM(a_near_a_cubin_is_the_reason_beside_plain_ones, NONE(judge("sm_80 sm_120a", 121), ARCH_SPECIFIC))
CLAIM(a_tegra_neighbour_is_the_reason_beside_plain_ones, NONE(judge("sm_75 sm_80", 87), TEGRA))
CLAIM(ptx_that_is_too_high_is_the_reason_beside_cubins, NONE(judge("sm_75 sm_80 compute_120", 61), PTX_HIGHER_THAN_GPU))
CLAIM(an_image_with_the_kernel_is_nearer_than_one_without,
      assert_int_equal(kernel("sm_120a sm_90a", "ap", 121).image, 1))

// ---- empty
CLAIM(a_container_without_images_is_empty, UNKNOWN(judge("", 90), EMPTY))
CLAIM(images_without_kernels_are_empty, UNKNOWN(judge("sm_75/empty sm_52/empty", 90), EMPTY))
CLAIM(images_without_kernels_are_empty_on_the_right_gpu_too, UNKNOWN(judge("sm_75/empty", 75), EMPTY))
CLAIM(an_unknown_kind_is_never_empty, UNKNOWN(judge("kind_16/empty", 75), UNKNOWN_KIND))
CLAIM(an_image_for_the_gpu_without_any_kernel_lacks_them, NONE(judge("sm_80 sm_90/empty", 90), KERNEL_NOT_IN_IMAGE))
CLAIM(an_image_that_was_not_decoded_is_not_empty, struct nk_image i = image_of("sm_90"); i.kernels = UINT32_MAX;
      NATIVE(nk_judge_image(&i, &(struct nk_target){.sm = 90}), EXACT))

// ---- the kernel
CLAIM(a_kernel_in_the_taken_image_runs, NATIVE(kernel("sm_80 sm_90", "ap", 90), EXACT))
CLAIM(a_kernel_missing_from_the_taken_image_does_not_run, NONE(kernel("sm_80 sm_90", "pa", 90), KERNEL_NOT_IN_IMAGE))
CLAIM(a_kernel_that_only_ptx_has_does_not_run_beside_a_cubin,
      NONE(kernel("sm_90 compute_90", "ap", 90), KERNEL_NOT_IN_IMAGE))
CLAIM(a_kernel_that_the_ptx_has_is_compiled, JIT(kernel("sm_80 compute_80", "pp", 90)))
CLAIM(a_hollow_kernel_in_the_taken_image_is_hollow,
      assert_verdict(kernel("sm_120a sm_90a", "hp", 120), NK_RUNS_HOLLOW, NK_REASON_HOLLOW))
CLAIM(a_hollow_kernel_in_another_image_does_no_harm, NATIVE(kernel("sm_80 sm_90", "hp", 90), EXACT))
CLAIM(a_kernel_that_is_hollow_in_ptx_is_hollow,
      assert_verdict(kernel("sm_90a compute_80", "ph", 120), NK_RUNS_HOLLOW, NK_REASON_HOLLOW))
CLAIM(a_kernel_that_could_not_be_looked_for_is_left_open, UNKNOWN(kernel("sm_90", "u", 90), UNKNOWN_HOLD))
CLAIM(a_kernel_missing_beside_an_unknown_kind_is_left_open, UNKNOWN(kernel("sm_90 kind_16", "au", 90), UNKNOWN_KIND))
CLAIM(images_that_differ_about_the_kernel_disagree, assert_true(kernel("sm_80 sm_86", "pa", 89).disagree))
CLAIM(images_that_agree_about_the_kernel_do_not_disagree,
      assert_false(kernel("sm_80 sm_86 compute_80", "ppp", 89).disagree))
CLAIM(an_image_that_does_not_fit_has_no_say, assert_false(kernel("sm_75 sm_86", "pa", 86).disagree))
CLAIM(ptx_has_no_say_beside_a_cubin, assert_false(kernel("sm_86 compute_86", "ap", 86).disagree))

// ---- the driver
CLAIM(zstd_needs_a_driver_of_12_4, NONE(on_driver("sm_90/zstd", 90, 12020), CODEC_NEWER_THAN_DRIVER))
CLAIM(zstd_is_read_from_12_4_on, NATIVE(on_driver("sm_90/zstd", 90, 12040), EXACT))
CLAIM(lz4_is_read_by_every_driver, NATIVE(on_driver("sm_80/lz4", 80, 11040), EXACT))
CLAIM(zstd_of_an_image_that_is_not_taken_does_no_harm, NATIVE(on_driver("sm_80 compute_80/zstd", 80, 12020), EXACT))
CLAIM(an_unknown_driver_refuses_nothing, NATIVE(on_driver("sm_90/zstd", 90, 0), EXACT))
CLAIM(a_cubin_that_cannot_be_read_is_still_the_one_taken,
      NONE(on_driver("sm_80/zstd compute_80@8.0", 80, 12020), CODEC_NEWER_THAN_DRIVER))
CLAIM(whether_ptx_is_turned_to_then_is_disputed,
      assert_true(on_driver("sm_80/zstd compute_80@8.0", 80, 12020).disagree))
CLAIM(an_unknown_codec_is_unknown, UNKNOWN(on_driver("sm_90/codec9", 90, 13000), UNKNOWN_CODEC))
CLAIM(an_unknown_codec_of_another_generation_is_no_image, NONE(on_driver("sm_80/codec9", 90, 13000), NO_IMAGE))
CLAIM(a_damaged_image_that_fits_is_unknown, UNKNOWN(judge("sm_90/damaged", 90), DAMAGED))
CLAIM(a_damaged_image_of_another_generation_is_no_image, NONE(judge("sm_80/damaged", 90), NO_IMAGE))
CLAIM(ptx_of_the_drivers_own_version_is_compiled, JIT(on_driver("compute_80@8.2", 90, 12020)))
CLAIM(ptx_of_a_newer_version_is_refused, NONE(on_driver("compute_80@8.3", 90, 12020), PTX_TOO_NEW_ISA))
CLAIM(a_driver_between_two_releases_counts_as_the_older, NONE(on_driver("compute_80@8.6", 90, 12060), PTX_TOO_NEW_ISA))
CLAIM(a_driver_newer_than_the_table_compiles_what_the_table_knows, JIT(on_driver("compute_80@9.4", 90, 13090)))
CLAIM(a_driver_newer_than_the_table_is_not_guessed_at,
      UNKNOWN(on_driver("compute_80@9.9", 90, 13090), UNKNOWN_PTX_LIMIT))
CLAIM(ptx_of_unknown_version_is_not_refused, JIT(on_driver("compute_80@0.0", 90, 11000)))
CLAIM(the_version_of_ptx_does_not_matter_beside_a_cubin, NATIVE(on_driver("sm_90 compute_90@9.4", 90, 12020), EXACT))
CLAIM(an_older_ptx_beside_one_too_new_is_disputed,
      assert_true(on_driver("compute_70@7.0 compute_80@9.0", 90, 12020).disagree))
CLAIM(a_cuda_13_cubin_on_an_older_driver_is_left_open, UNKNOWN(on_driver("sm_86/abi8", 86, 12080), CUBIN_ABI_NEWER))
CLAIM(a_cuda_13_cubin_runs_on_its_own_driver, NATIVE(on_driver("sm_86/abi8", 86, 13000), EXACT))
CLAIM(a_blackwell_cubin_of_12_8_runs_on_its_own_driver, NATIVE(on_driver("sm_120/abi8", 120, 12080), EXACT))

CLAIM(desktop_code_on_orin_is_refused_by_drivers_up_to_13_0, NONE(on_driver("sm_80", 87, 13000), TEGRA))
CLAIM(desktop_code_on_orin_is_left_open_with_later_drivers, UNKNOWN(on_driver("sm_80", 87, 13050), UNKNOWN_TEGRA))
CLAIM(higher_desktop_code_on_orin_is_refused_by_every_driver, NONE(on_driver("sm_89", 87, 13050), TEGRA))
CLAIM(desktop_code_on_thor_is_refused_by_every_driver, NONE(on_driver("sm_100", 110, 13050), NO_IMAGE))
// ---- the environment
CLAIM(force_ptx_jit_hides_the_cubin, JIT(forced("sm_90 compute_90", NULL, 90)))
CLAIM(force_ptx_jit_without_ptx_does_not_run, NONE(forced("sm_90", NULL, 90), FORCE_PTX_NO_PTX))
CLAIM(force_ptx_jit_with_ptx_too_high_does_not_run, NONE(forced("sm_90 compute_100", NULL, 90), FORCE_PTX_NO_PTX))
CLAIM(force_ptx_jit_is_not_the_reason_when_nothing_fits, NONE(forced("sm_80", NULL, 90), NO_IMAGE))
CLAIM(force_ptx_jit_runs_a_kernel_that_only_ptx_has, JIT(forced("sm_90 compute_90", "ap", 90)))
CLAIM(disable_ptx_jit_leaves_cubins_alone, NATIVE(no_jit("sm_90 compute_90", 90), EXACT))
CLAIM(disable_ptx_jit_stops_what_needs_ptx, NONE(no_jit("sm_80 compute_80", 90), JIT_DISABLED))
CLAIM(disable_ptx_jit_is_not_the_reason_when_nothing_fits, NONE(no_jit("sm_80", 90), NO_IMAGE))

// ---- the result that is expected
CLAIM(no_image_is_expected_as_209, assert_int_equal(judge("sm_80", 90).expected, 209))
CLAIM(an_a_cubin_elsewhere_is_expected_as_209, assert_int_equal(judge("sm_90a", 120).expected, 209))
CLAIM(desktop_code_on_tegra_is_expected_as_209, assert_int_equal(judge("sm_80", 87).expected, 209))
CLAIM(lto_alone_is_expected_as_209, assert_int_equal(judge("lto_90", 90).expected, 209))
CLAIM(forced_ptx_without_ptx_is_expected_as_209, assert_int_equal(forced("sm_90", NULL, 90).expected, 209))
CLAIM(a_missing_kernel_is_expected_as_500, assert_int_equal(kernel("sm_80 sm_90", "pa", 90).expected, 500))
CLAIM(zstd_on_an_old_driver_is_expected_as_200, assert_int_equal(on_driver("sm_90/zstd", 90, 12020).expected, 200))
CLAIM(ptx_too_new_is_expected_as_222, assert_int_equal(on_driver("compute_80@8.3", 90, 12020).expected, 222))
CLAIM(ptx_too_new_for_a_cuda_10_driver_is_expected_as_218,
      assert_int_equal(on_driver("compute_60@6.5", 75, 10000).expected, 218))
CLAIM(disabled_jit_is_expected_as_223, assert_int_equal(no_jit("compute_80", 90).expected, 223))
CLAIM(ptx_whose_header_lies_is_expected_as_218, assert_int_equal(judge("compute_90a@8.5/lied", 120).expected, 218))
CLAIM(what_runs_expects_nothing, assert_int_equal(judge("sm_90", 90).expected, 0))
CLAIM(what_is_unknown_expects_nothing, assert_int_equal(judge("kind_16", 90).expected, 0))

// ---- words
CLAIM(every_reason_but_the_first_has_a_key,
      for (int i = 1; i < NK_REASON_COUNT; i++) assert_true(*nk_reason_key((enum nk_reason)i)))
CLAIM(every_reason_but_the_first_has_a_sentence,
      for (int i = 1; i < NK_REASON_COUNT; i++) assert_true(*nk_reason_sentence((enum nk_reason)i)))
CLAIM(
    every_reason_but_the_first_has_a_sentence_in_chinese, for (int i = 1; i < NK_REASON_COUNT; i++) {
        bool wide = false;
        for (const char *c = nk_reason_chinese((enum nk_reason)i); *c; c++) wide |= (*c & 0x80) != 0;
        if (!wide) fail_msg("%s", nk_reason_key((enum nk_reason)i));
    })
CLAIM(no_two_reasons_share_a_key,
      for (int i = 1; i < NK_REASON_COUNT; i++) for (int k = 1; k < i; k++)
          assert_string_not_equal(nk_reason_key((enum nk_reason)i), nk_reason_key((enum nk_reason)k)))
CLAIM(a_reason_out_of_range_has_an_empty_key, assert_string_equal(nk_reason_key(NK_REASON_COUNT), ""))
CLAIM(a_verdict_out_of_range_is_unknown, assert_string_equal(nk_runs_word((enum nk_runs)77), "unknown"))

// Whatever the images, "none" comes with an expected result and nothing else does; an image index lies in range.
static void every_pair_of_images_gives_a_verdict_that_holds_together(void **state)
{
    (void)state;
    static const char *const words[] = {
        "sm_50",   "sm_80",   "sm_87",      "sm_90a",         "sm_100f",         "sm_120",
        "sm_120a", "sm_125",  "compute_52", "compute_90a",    "compute_120@9.0", "compute_80/reloc",
        "lto_90",  "kind_16", "sm_90/zstd", "sm_120/damaged", "sm_86/empty",     "sm_80/codec9"};
    static const int sms[] = {50, 61, 75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121, 125, 200};
    const size_t n = sizeof words / sizeof *words;
    for (size_t i = 0; i < n * n * 16; i++) {
        char pair[64] = "";
        strcat(strcat(strcpy(pair, words[i % n]), " "), words[i / n % n]);
        struct nk_target target = {.sm = sms[i / n / n], .driver = i % 3 ? 12020 : 0, .force_ptx_jit = i % 5 == 0};
        struct nk_verdict v = judge_on(pair, NULL, target);
        assert_int_equal(v.expected != 0, v.runs == NK_RUNS_NONE);
        assert_in_range(v.image + 1, v.runs == NK_RUNS_UNKNOWN ? 0 : 1, 2);
        assert_true(v.reason != NK_REASON_NONE);
    }
}

static const struct CMUnitTest tests[] = {
    T(every_pair_of_images_gives_a_verdict_that_holds_together),
    T(a_cubin_is_taken_before_ptx),
    T(the_exact_cubin_is_taken_before_a_lower_one),
    T(the_highest_cubin_below_is_taken),
    T(an_a_cubin_is_taken_before_the_plain_one),
    T(an_a_cubin_is_taken_before_an_f_cubin),
    T(an_f_cubin_is_taken_before_the_plain_one),
    T(a_plain_cubin_of_the_gpu_is_taken_before_an_f_cubin_below),
    T(a_renamed_cubin_counts_as_the_gpu_itself),
    T(of_equal_images_the_first_is_taken),
    T(the_highest_ptx_that_fits_is_taken),
    T(ptx_is_taken_when_no_cubin_fits),
    T(an_unknown_kind_does_not_hide_an_image_that_fits),
    T(none_is_never_said_beside_an_unknown_kind),
    T(lto_ir_beside_a_cubin_that_fits_does_no_harm),
    T(relocatable_ptx_that_fits_is_left_open),
    T(relocatable_ptx_for_a_newer_gpu_does_not_run),
    T(nothing_but_other_generations_is_no_image),
    T(the_nearest_generation_is_named),
    T(of_equally_near_images_the_first_is_named),
    T(a_far_a_cubin_beside_plain_ones_is_not_the_reason),
    T(a_far_a_cubin_alone_is_the_reason),
    T(a_near_a_cubin_is_the_reason_beside_plain_ones),
    T(a_tegra_neighbour_is_the_reason_beside_plain_ones),
    T(ptx_that_is_too_high_is_the_reason_beside_cubins),
    T(an_image_with_the_kernel_is_nearer_than_one_without),
    T(a_container_without_images_is_empty),
    T(images_without_kernels_are_empty),
    T(images_without_kernels_are_empty_on_the_right_gpu_too),
    T(an_unknown_kind_is_never_empty),
    T(an_image_for_the_gpu_without_any_kernel_lacks_them),
    T(an_image_that_was_not_decoded_is_not_empty),
    T(a_kernel_in_the_taken_image_runs),
    T(a_kernel_missing_from_the_taken_image_does_not_run),
    T(a_kernel_that_only_ptx_has_does_not_run_beside_a_cubin),
    T(a_kernel_that_the_ptx_has_is_compiled),
    T(a_hollow_kernel_in_the_taken_image_is_hollow),
    T(a_hollow_kernel_in_another_image_does_no_harm),
    T(a_kernel_that_is_hollow_in_ptx_is_hollow),
    T(a_kernel_that_could_not_be_looked_for_is_left_open),
    T(a_kernel_missing_beside_an_unknown_kind_is_left_open),
    T(images_that_differ_about_the_kernel_disagree),
    T(images_that_agree_about_the_kernel_do_not_disagree),
    T(an_image_that_does_not_fit_has_no_say),
    T(ptx_has_no_say_beside_a_cubin),
    T(zstd_needs_a_driver_of_12_4),
    T(zstd_is_read_from_12_4_on),
    T(lz4_is_read_by_every_driver),
    T(zstd_of_an_image_that_is_not_taken_does_no_harm),
    T(an_unknown_driver_refuses_nothing),
    T(a_cubin_that_cannot_be_read_is_still_the_one_taken),
    T(whether_ptx_is_turned_to_then_is_disputed),
    T(an_unknown_codec_is_unknown),
    T(an_unknown_codec_of_another_generation_is_no_image),
    T(a_damaged_image_that_fits_is_unknown),
    T(a_damaged_image_of_another_generation_is_no_image),
    T(ptx_of_the_drivers_own_version_is_compiled),
    T(ptx_of_a_newer_version_is_refused),
    T(a_driver_between_two_releases_counts_as_the_older),
    T(a_driver_newer_than_the_table_compiles_what_the_table_knows),
    T(a_driver_newer_than_the_table_is_not_guessed_at),
    T(ptx_of_unknown_version_is_not_refused),
    T(the_version_of_ptx_does_not_matter_beside_a_cubin),
    T(an_older_ptx_beside_one_too_new_is_disputed),
    T(a_cuda_13_cubin_on_an_older_driver_is_left_open),
    T(a_cuda_13_cubin_runs_on_its_own_driver),
    T(a_blackwell_cubin_of_12_8_runs_on_its_own_driver),
    T(desktop_code_on_orin_is_refused_by_drivers_up_to_13_0),
    T(desktop_code_on_orin_is_left_open_with_later_drivers),
    T(higher_desktop_code_on_orin_is_refused_by_every_driver),
    T(desktop_code_on_thor_is_refused_by_every_driver),
    T(force_ptx_jit_hides_the_cubin),
    T(force_ptx_jit_without_ptx_does_not_run),
    T(force_ptx_jit_with_ptx_too_high_does_not_run),
    T(force_ptx_jit_is_not_the_reason_when_nothing_fits),
    T(force_ptx_jit_runs_a_kernel_that_only_ptx_has),
    T(disable_ptx_jit_leaves_cubins_alone),
    T(disable_ptx_jit_stops_what_needs_ptx),
    T(disable_ptx_jit_is_not_the_reason_when_nothing_fits),
    T(no_image_is_expected_as_209),
    T(an_a_cubin_elsewhere_is_expected_as_209),
    T(desktop_code_on_tegra_is_expected_as_209),
    T(lto_alone_is_expected_as_209),
    T(forced_ptx_without_ptx_is_expected_as_209),
    T(a_missing_kernel_is_expected_as_500),
    T(zstd_on_an_old_driver_is_expected_as_200),
    T(ptx_too_new_is_expected_as_222),
    T(ptx_too_new_for_a_cuda_10_driver_is_expected_as_218),
    T(disabled_jit_is_expected_as_223),
    T(ptx_whose_header_lies_is_expected_as_218),
    T(what_runs_expects_nothing),
    T(what_is_unknown_expects_nothing),
    T(every_reason_but_the_first_has_a_key),
    T(every_reason_but_the_first_has_a_sentence),
    T(every_reason_but_the_first_has_a_sentence_in_chinese),
    T(no_two_reasons_share_a_key),
    T(a_reason_out_of_range_has_an_empty_key),
    T(a_verdict_out_of_range_is_unknown),
};

int main(void) { return cmocka_run_group_tests(tests, NULL, NULL); }
