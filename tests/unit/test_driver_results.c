// test_driver_results.c - the list of results: each once, rising, and found by number and by name.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "driver/abi.h"
#include "driver/results.h"

#include <string.h>

#define TEST(name) static void name(void **state)
#define T(name)    cmocka_unit_test(name)

static const struct {
    int code;
    const char *driver, *runtime, *text;
} list[] = {
#define NK_RESULT(code, driver_name, runtime_name, text) {code, driver_name, runtime_name, text},
#include "driver/results.def"
#undef NK_RESULT
};
enum { COUNT = sizeof list / sizeof *list };

TEST(codes_rise_and_each_stands_once)
{
    (void)state;
    for (int i = 1; i < COUNT; i++) assert_true(list[i].code > list[i - 1].code);
}

TEST(every_code_has_a_name_and_a_text)
{
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        assert_true(list[i].driver || list[i].runtime);
        assert_true(list[i].text && *list[i].text);
    }
}

TEST(no_name_stands_twice)
{
    (void)state;
    for (int i = 0; i < COUNT; i++)
        for (int k = 0; k < i; k++) {
            if (list[i].driver && list[k].driver) assert_string_not_equal(list[i].driver, list[k].driver);
            if (list[i].runtime && list[k].runtime) assert_string_not_equal(list[i].runtime, list[k].runtime);
        }
}

TEST(names_of_each_side_look_like_that_side)
{
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        if (list[i].driver) assert_int_equal(strncmp(list[i].driver, "CUDA_", 5), 0);
        if (list[i].runtime) assert_int_equal(strncmp(list[i].runtime, "cuda", 4), 0);
    }
}

TEST(every_code_is_found)
{
    (void)state;
    for (int i = 0; i < COUNT; i++) assert_int_equal(nk_result_find(list[i].code)->code, list[i].code);
}

TEST(every_name_is_found)
{
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        if (list[i].driver) assert_int_equal(nk_result_named(list[i].driver)->code, list[i].code);
        if (list[i].runtime) assert_int_equal(nk_result_named(list[i].runtime)->code, list[i].code);
    }
}

TEST(a_code_that_is_not_listed_is_not_found)
{
    (void)state;
    assert_null(nk_result_find(-1));
    assert_null(nk_result_find(12345));
}

TEST(a_name_that_is_not_listed_is_not_found)
{
    (void)state;
    assert_null(nk_result_named("cudaErrorNoKernelImage"));
    assert_null(nk_result_named(""));
}

TEST(the_missing_image_has_its_name_on_each_side)
{
    (void)state;
    assert_string_equal(nk_result_name(NK_DRIVER, 209), "CUDA_ERROR_NO_BINARY_FOR_GPU");
    assert_string_equal(nk_result_name(NK_RUNTIME, 209), "cudaErrorNoKernelImageForDevice");
}

TEST(a_code_of_one_side_has_that_name_on_the_other)
{
    (void)state;
    assert_string_equal(nk_result_name(NK_DRIVER, 98), "cudaErrorInvalidDeviceFunction");
}

TEST(a_code_that_is_not_listed_is_an_unknown_result)
{
    (void)state;
    assert_string_equal(nk_result_name(NK_DRIVER, 12345), "unknown result");
}

TEST(the_codes_of_images_are_told_apart)
{
    (void)state;
    static const int image[] = {98, 200, 209, 218, 221, 222, 223, 225, 227, 500};
    size_t next = 0;
    for (int i = 0; i < COUNT; i++) {
        bool expected = next < sizeof image / sizeof *image && image[next] == list[i].code;
        assert_int_equal(nk_result_is_image(list[i].code), expected);
        next += expected;
    }
    assert_int_equal(next, sizeof image / sizeof *image);
}

// The texts that people see and search for, as cudaGetErrorString writes them.
TEST(the_texts_are_those_of_the_runtime)
{
    (void)state;
    assert_string_equal(nk_result_find(98)->text, "invalid device function");
    assert_string_equal(nk_result_find(200)->text, "device kernel image is invalid");
    assert_string_equal(nk_result_find(209)->text, "no kernel image is available for execution on the device");
    assert_string_equal(nk_result_find(222)->text, "the provided PTX was compiled with an unsupported toolchain.");
    assert_string_equal(nk_result_find(500)->text, "named symbol not found");
}

static const struct CMUnitTest tests[] = {
    T(codes_rise_and_each_stands_once),
    T(every_code_has_a_name_and_a_text),
    T(no_name_stands_twice),
    T(names_of_each_side_look_like_that_side),
    T(every_code_is_found),
    T(every_name_is_found),
    T(a_code_that_is_not_listed_is_not_found),
    T(a_name_that_is_not_listed_is_not_found),
    T(the_missing_image_has_its_name_on_each_side),
    T(a_code_of_one_side_has_that_name_on_the_other),
    T(a_code_that_is_not_listed_is_an_unknown_result),
    T(the_codes_of_images_are_told_apart),
    T(the_texts_are_those_of_the_runtime),
};

int main(void) { return cmocka_run_group_tests(tests, NULL, NULL); }
