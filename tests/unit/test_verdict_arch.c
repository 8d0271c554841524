// test_verdict_arch.c - names of architectures and the tables about them.
#define _GNU_SOURCE
#include "verdict.h"

#define T(test) cmocka_unit_test(test)
#define CLAIM(test, ...)                                                                                               \
    static void test(void **state)                                                                                     \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        __VA_ARGS__;                                                                                                   \
    }

static void reads_as(const char *text, int sm, char suffix, bool virtual)
{
    struct nk_arch arch;
    assert_int_equal(nk_arch_parse(text, &arch, NULL), 0);
    assert_int_equal(arch.sm, sm);
    assert_int_equal(arch.suffix, suffix);
    assert_int_equal(arch.virtual, virtual);
}

static void refused(const char *text)
{
    struct nk_arch arch = {77, 'z', true};
    struct nk_err err = {0};
    assert_int_equal(nk_arch_parse(text, &arch, &err), -1);
    assert_int_equal(err.code, NK_ERR_USAGE);
    assert_non_null(strstr(err.text, "sm_90"));
    assert_int_equal(arch.sm, 77);
}

static void written_as(const char *expected, struct nk_arch arch)
{
    char text[NK_ARCH_TEXT];
    assert_string_equal(nk_arch_text(text, arch), expected);
}

CLAIM(sm_90_is_read, reads_as("sm_90", 90, 0, false))
CLAIM(sm_90a_is_read, reads_as("sm_90a", 90, 'a', false))
CLAIM(sm_120f_is_read, reads_as("sm_120f", 120, 'f', false))
CLAIM(compute_120f_is_read, reads_as("compute_120f", 120, 'f', true))
CLAIM(compute_52_is_read, reads_as("compute_52", 52, 0, true))
CLAIM(a_bare_number_is_read, reads_as("90", 90, 0, false))
CLAIM(a_bare_number_with_a_suffix_is_read, reads_as("100a", 100, 'a', false))
CLAIM(a_compute_capability_is_read, reads_as("9.0", 90, 0, false))
CLAIM(a_compute_capability_of_two_digits_is_read, reads_as("12.1", 121, 0, false))
CLAIM(a_compute_capability_with_a_suffix_is_read, reads_as("10.3f", 103, 'f', false))
CLAIM(capitals_are_read, reads_as("SM_90A", 90, 'a', false))
CLAIM(a_missing_underscore_is_forgiven, reads_as("sm120", 120, 0, false))
CLAIM(an_empty_text_is_refused, refused(""))
CLAIM(a_word_is_refused, refused("hopper"))
CLAIM(a_prefix_alone_is_refused, refused("sm_"))
CLAIM(a_single_digit_is_refused, refused("9"))
CLAIM(twelve_without_a_dot_is_refused, refused("12"))
CLAIM(two_digits_behind_the_dot_are_refused, refused("9.00"))
CLAIM(a_dot_at_the_end_is_refused, refused("9."))
CLAIM(an_unknown_suffix_is_refused, refused("sm_90b"))
CLAIM(two_suffixes_are_refused, refused("sm_90af"))
CLAIM(a_list_is_refused, refused("8.0;9.0"))
CLAIM(a_negative_number_is_refused, refused("sm_-90"))
CLAIM(a_number_without_end_is_refused, refused("sm_99999999999999999999999999"))

CLAIM(a_real_architecture_is_written_with_sm, written_as("sm_90a", (struct nk_arch){90, 'a', false}))
CLAIM(a_virtual_architecture_is_written_with_compute, written_as("compute_120f", (struct nk_arch){120, 'f', true}))
CLAIM(the_longest_number_fits, written_as("compute_65535a", (struct nk_arch){65535, 'a', true}))
CLAIM(
    every_known_architecture_is_read_as_it_is_written, for (int sm = nk_arch_next(0); sm; sm = nk_arch_next(sm)) {
        char text[NK_ARCH_TEXT];
        reads_as(nk_arch_text(text, (struct nk_arch){sm, 'a', true}), sm, 'a', true);
    })

CLAIM(
    known_architectures_rise, int last = 0; for (int sm = nk_arch_next(0); sm; sm = nk_arch_next(sm)) {
        assert_true(sm > last);
        last = sm;
    } assert_int_equal(last, 121))
CLAIM(a_desktop_gpu_is_known, assert_int_equal(nk_arch_kin(86), NK_KIN_DESKTOP))
CLAIM(the_tegras_are_known,
      for (int i = 0; i < 7; i++) assert_int_equal(nk_arch_kin((int[]){32, 53, 62, 72, 87, 101, 110}[i]), NK_KIN_TEGRA))
CLAIM(architecture_88_stands_alone, assert_int_equal(nk_arch_kin(88), NK_KIN_ALONE))
CLAIM(an_architecture_of_the_future_is_unknown, assert_int_equal(nk_arch_kin(140), NK_KIN_UNKNOWN))
CLAIM(thor_is_the_same_under_both_names, assert_true(nk_arch_same(101, 110) && nk_arch_same(110, 101)))
CLAIM(neighbours_are_not_the_same, assert_false(nk_arch_same(100, 101)))

CLAIM(driver_13_0_compiles_ptx_9_0, assert_int_equal(nk_driver_ptx_limit(13000, NULL), 90))
CLAIM(driver_12_6_compiles_ptx_8_5_as_12_5, assert_int_equal(nk_driver_ptx_limit(12060, NULL), 85))
CLAIM(a_driver_older_than_the_table_has_no_limit, assert_int_equal(nk_driver_ptx_limit(7050, NULL), 0))
CLAIM(the_limit_of_a_driver_in_the_table_is_exact, bool exact; nk_driver_ptx_limit(13050, &exact); assert_true(exact))
CLAIM(the_limit_of_a_driver_beyond_the_table_is_not_exact, bool exact; nk_driver_ptx_limit(13060, &exact);
      assert_false(exact))
CLAIM(ptx_8_4_needs_cuda_12_4_and_driver_550, int branch; assert_int_equal(nk_driver_for_ptx(84, &branch), 12040);
      assert_int_equal(branch, 550))
CLAIM(ptx_beyond_the_table_needs_an_unknown_driver, assert_int_equal(nk_driver_for_ptx(99, NULL), 0))
CLAIM(
    newer_drivers_never_compile_less, int last = 0; for (int cuda = 8000; cuda < 14000; cuda += 10) {
        assert_true(nk_driver_ptx_limit(cuda, NULL) >= last);
        last = nk_driver_ptx_limit(cuda, NULL);
    })

static const struct CMUnitTest tests[] = {
    T(sm_90_is_read),
    T(sm_90a_is_read),
    T(sm_120f_is_read),
    T(compute_120f_is_read),
    T(compute_52_is_read),
    T(a_bare_number_is_read),
    T(a_bare_number_with_a_suffix_is_read),
    T(a_compute_capability_is_read),
    T(a_compute_capability_of_two_digits_is_read),
    T(a_compute_capability_with_a_suffix_is_read),
    T(capitals_are_read),
    T(a_missing_underscore_is_forgiven),
    T(an_empty_text_is_refused),
    T(a_word_is_refused),
    T(a_prefix_alone_is_refused),
    T(a_single_digit_is_refused),
    T(twelve_without_a_dot_is_refused),
    T(two_digits_behind_the_dot_are_refused),
    T(a_dot_at_the_end_is_refused),
    T(an_unknown_suffix_is_refused),
    T(two_suffixes_are_refused),
    T(a_list_is_refused),
    T(a_negative_number_is_refused),
    T(a_number_without_end_is_refused),
    T(a_real_architecture_is_written_with_sm),
    T(a_virtual_architecture_is_written_with_compute),
    T(the_longest_number_fits),
    T(every_known_architecture_is_read_as_it_is_written),
    T(known_architectures_rise),
    T(a_desktop_gpu_is_known),
    T(the_tegras_are_known),
    T(architecture_88_stands_alone),
    T(an_architecture_of_the_future_is_unknown),
    T(thor_is_the_same_under_both_names),
    T(neighbours_are_not_the_same),
    T(driver_13_0_compiles_ptx_9_0),
    T(driver_12_6_compiles_ptx_8_5_as_12_5),
    T(a_driver_older_than_the_table_has_no_limit),
    T(the_limit_of_a_driver_in_the_table_is_exact),
    T(the_limit_of_a_driver_beyond_the_table_is_not_exact),
    T(ptx_8_4_needs_cuda_12_4_and_driver_550),
    T(ptx_beyond_the_table_needs_an_unknown_driver),
    T(newer_drivers_never_compile_less),
};

int main(void) { return cmocka_run_group_tests(tests, NULL, NULL); }
