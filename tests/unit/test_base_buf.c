// test_base_buf.c - growing output, and errors.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"

#include <errno.h>
#include <string.h>

#define TEST(name) static void name(void **state)
#define T(name)    cmocka_unit_test(name)

TEST(a_new_buffer_takes_text)
{
    (void)state;
    struct nk_buf buf = {0};
    nk_buf_text(&buf, "abc");
    assert_string_equal(buf.data, "abc");
    assert_int_equal(buf.size, 3);
    nk_buf_free(&buf);
}

TEST(what_is_added_is_ended_by_a_nul_that_does_not_count)
{
    (void)state;
    struct nk_buf buf = {0};
    nk_buf_add(&buf, "a\0b", 3);
    assert_int_equal(buf.size, 3);
    assert_memory_equal(buf.data, "a\0b", 4);
    nk_buf_free(&buf);
}

TEST(adding_nothing_to_a_new_buffer_makes_an_empty_text)
{
    (void)state;
    struct nk_buf buf = {0};
    nk_buf_text(&buf, "");
    assert_string_equal(buf.data, "");
    nk_buf_free(&buf);
}

TEST(a_buffer_grows_byte_by_byte_through_every_size)
{
    (void)state;
    struct nk_buf buf = {0};
    for (int i = 0; i < 5000; i++) {
        nk_buf_add(&buf, &(char){(char)('a' + i % 26)}, 1);
        assert_int_equal(buf.data[buf.size], 0);
    }
    assert_int_equal(buf.size, 5000);
    for (int i = 0; i < 5000; i++) assert_int_equal(buf.data[i], 'a' + i % 26);
    nk_buf_free(&buf);
}

TEST(formats_of_every_length_around_the_first_capacity_are_whole)
{
    (void)state;
    for (int length = 250; length < 262; length++) {
        struct nk_buf buf = {0};
        nk_buf_format(&buf, "%0*d", length, 7);
        assert_int_equal(buf.size, length);
        assert_int_equal(strlen(buf.data), length);
        assert_int_equal(buf.data[length - 1], '7');
        nk_buf_free(&buf);
    }
}

TEST(a_format_is_added_behind_what_was_there)
{
    (void)state;
    struct nk_buf buf = {0};
    nk_buf_text(&buf, "x");
    nk_buf_format(&buf, "%s-%d", "y", 3);
    assert_string_equal(buf.data, "xy-3");
    nk_buf_free(&buf);
}

TEST(a_fill_repeats_its_byte)
{
    (void)state;
    struct nk_buf buf = {0};
    nk_buf_fill(&buf, '-', 3);
    nk_buf_fill(&buf, '+', 0);
    assert_string_equal(buf.data, "---");
    nk_buf_free(&buf);
}

TEST(a_cleared_buffer_keeps_its_memory)
{
    (void)state;
    struct nk_buf buf = {0};
    nk_buf_text(&buf, "abc");
    char *data = buf.data;
    nk_buf_clear(&buf);
    assert_int_equal(buf.size, 0);
    assert_string_equal(buf.data, "");
    nk_buf_text(&buf, "d");
    assert_ptr_equal(buf.data, data);
    nk_buf_free(&buf);
}

TEST(a_new_buffer_can_be_cleared)
{
    (void)state;
    struct nk_buf buf = {0};
    nk_buf_clear(&buf);
    assert_null(buf.data);
}

TEST(a_freed_buffer_is_as_new)
{
    (void)state;
    struct nk_buf buf = {0};
    nk_buf_text(&buf, "abc");
    nk_buf_free(&buf);
    assert_null(buf.data);
    assert_int_equal(buf.capacity, 0);
    nk_buf_text(&buf, "d");
    assert_string_equal(buf.data, "d");
    nk_buf_free(&buf);
}

TEST(a_size_that_no_memory_holds_fails_and_keeps_what_was_there)
{
    (void)state;
    struct nk_buf buf = {0};
    nk_buf_text(&buf, "abc");
    nk_buf_fill(&buf, 'x', SIZE_MAX - 2);
    assert_true(buf.failed);
    assert_string_equal(buf.data, "abc");
    nk_buf_free(&buf);
}

TEST(a_size_that_would_wrap_fails)
{
    (void)state;
    struct nk_buf buf = {0};
    nk_buf_fill(&buf, 'x', SIZE_MAX);
    assert_true(buf.failed);
    nk_buf_free(&buf);
}

TEST(a_failed_buffer_ignores_what_follows)
{
    (void)state;
    struct nk_buf buf = {0};
    nk_buf_text(&buf, "abc");
    nk_buf_fill(&buf, 'x', SIZE_MAX);
    nk_buf_text(&buf, "d");
    nk_buf_format(&buf, "%d", 4);
    assert_string_equal(buf.data, "abc");
    nk_buf_free(&buf);
}

TEST(an_error_is_a_code_and_a_sentence)
{
    (void)state;
    struct nk_err err = {0};
    assert_int_equal(nk_fail(&err, NK_ERR_LIMIT, "%s: %d", "file", 4), -1);
    assert_int_equal(err.code, NK_ERR_LIMIT);
    assert_string_equal(err.text, "file: 4");
}

TEST(nobody_need_want_the_sentence)
{
    (void)state;
    assert_int_equal(nk_fail(NULL, NK_ERR_LIMIT, "x"), -1);
}

TEST(a_sentence_that_is_too_long_is_cut)
{
    (void)state;
    struct nk_err err;
    nk_fail(&err, NK_ERR_LIMIT, "%0*d", 2 * NK_ERR_TEXT, 1);
    assert_int_equal(strlen(err.text), NK_ERR_TEXT - 1);
}

TEST(making_an_error_keeps_errno)
{
    (void)state;
    struct nk_err err;
    errno = ENOSPC;
    nk_fail(&err, NK_ERR_SYSTEM, "%s", strerror(EPERM));
    assert_int_equal(errno, ENOSPC);
}

static const struct CMUnitTest tests[] = {
    T(a_new_buffer_takes_text),
    T(what_is_added_is_ended_by_a_nul_that_does_not_count),
    T(adding_nothing_to_a_new_buffer_makes_an_empty_text),
    T(a_buffer_grows_byte_by_byte_through_every_size),
    T(formats_of_every_length_around_the_first_capacity_are_whole),
    T(a_format_is_added_behind_what_was_there),
    T(a_fill_repeats_its_byte),
    T(a_cleared_buffer_keeps_its_memory),
    T(a_new_buffer_can_be_cleared),
    T(a_freed_buffer_is_as_new),
    T(a_size_that_no_memory_holds_fails_and_keeps_what_was_there),
    T(a_size_that_would_wrap_fails),
    T(a_failed_buffer_ignores_what_follows),
    T(an_error_is_a_code_and_a_sentence),
    T(nobody_need_want_the_sentence),
    T(a_sentence_that_is_too_long_is_cut),
    T(making_an_error_keeps_errno),
};

int main(void) { return cmocka_run_group_tests(tests, NULL, NULL); }
