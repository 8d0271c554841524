// test_base_bytes.c - bounded views of input, at every boundary.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

#define TEST(name) static void name(void **state)
#define T(name)    cmocka_unit_test(name)

static const uint8_t data[] = {0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa};

// The view in memory of exactly its size, so that a sanitizer sees a read beyond it.
static struct nk_bytes view_of(const void *bytes, size_t size)
{
    void *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    if (size) memcpy(copy, bytes, size);
    return nk_bytes(copy, size);
}

static void drop(struct nk_bytes view) { free((void *)(uintptr_t)view.data); }

TEST(a_range_is_held_exactly_when_it_lies_inside)
{
    (void)state;
    struct nk_bytes view = nk_bytes(data, sizeof data);
    for (uint64_t offset = 0; offset < 14; offset++)
        for (uint64_t size = 0; size < 14; size++)
            assert_int_equal(nk_bytes_holds(view, offset, size), offset + size <= sizeof data);
}

TEST(a_range_that_would_wrap_is_not_held)
{
    (void)state;
    struct nk_bytes view = nk_bytes(data, sizeof data);
    assert_false(nk_bytes_holds(view, UINT64_MAX, 1));
    assert_false(nk_bytes_holds(view, 1, UINT64_MAX));
    assert_false(nk_bytes_holds(view, UINT64_MAX, UINT64_MAX));
    assert_false(nk_bytes_holds(view, UINT64_MAX - 4, 8));
}

TEST(numbers_are_read_where_they_fit_and_nowhere_else)
{
    (void)state;
    for (size_t size = 0; size <= sizeof data; size++) {
        struct nk_bytes view = view_of(data, size);
        for (uint64_t offset = 0; offset < sizeof data + 2; offset++) {
            uint8_t a;
            uint16_t b;
            uint32_t c;
            uint64_t d;
            assert_int_equal(nk_bytes_u8(view, offset, &a), offset + 1 <= size);
            assert_int_equal(nk_bytes_u16(view, offset, &b), offset + 2 <= size);
            assert_int_equal(nk_bytes_u32(view, offset, &c), offset + 4 <= size);
            assert_int_equal(nk_bytes_u64(view, offset, &d), offset + 8 <= size);
        }
        drop(view);
    }
}

TEST(numbers_are_little_endian_and_need_no_alignment)
{
    (void)state;
    struct nk_bytes view = nk_bytes(data, sizeof data);
    uint8_t a = 0;
    uint16_t b = 0;
    uint32_t c = 0;
    uint64_t d = 0;
    nk_bytes_u8(view, 9, &a);
    nk_bytes_u16(view, 1, &b);
    nk_bytes_u32(view, 1, &c);
    nk_bytes_u64(view, 1, &d);
    assert_int_equal(a, 0xaa);
    assert_int_equal(b, 0x3322);
    assert_int_equal(c, 0x55443322);
    assert_true(d == 0x9988776655443322u);
}

TEST(a_failed_read_leaves_the_result_alone)
{
    (void)state;
    struct nk_bytes view = nk_bytes(data, sizeof data), part = {data, 3};
    uint32_t number = 7;
    assert_false(nk_bytes_u32(view, 7, &number));
    assert_int_equal(number, 7);
    assert_false(nk_bytes_part(view, 8, 3, &part));
    assert_int_equal(part.size, 3);
}

TEST(a_part_is_a_view_of_its_own)
{
    (void)state;
    struct nk_bytes part;
    uint8_t byte = 0;
    assert_true(nk_bytes_part(nk_bytes(data, sizeof data), 2, 3, &part));
    assert_int_equal(part.size, 3);
    assert_true(nk_bytes_u8(part, 2, &byte));
    assert_int_equal(byte, 0x55);
    assert_false(nk_bytes_u8(part, 3, &byte));
}

TEST(the_rest_from_the_end_is_empty)
{
    (void)state;
    struct nk_bytes rest;
    assert_true(nk_bytes_from(nk_bytes(data, sizeof data), sizeof data, &rest));
    assert_int_equal(rest.size, 0);
}

TEST(there_is_no_rest_beyond_the_end)
{
    (void)state;
    struct nk_bytes rest;
    assert_false(nk_bytes_from(nk_bytes(data, sizeof data), sizeof data + 1, &rest));
}

TEST(a_copy_of_nothing_is_allowed_at_the_end_only)
{
    (void)state;
    struct nk_bytes view = nk_bytes(data, sizeof data);
    assert_true(nk_bytes_copy(view, sizeof data, NULL, 0));
    assert_false(nk_bytes_copy(view, sizeof data + 1, NULL, 0));
}

TEST(an_empty_view_without_memory_can_be_asked_anything)
{
    (void)state;
    struct nk_bytes none = {NULL, 0}, out;
    uint8_t byte;
    assert_false(nk_bytes_u8(none, 0, &byte));
    assert_false(nk_bytes_string(none, 0, &out));
    assert_true(nk_bytes_from(none, 0, &out));
    assert_int_equal(nk_bytes_find(none, 0, "x", 1), -1);
    assert_true(nk_bytes_starts(none, "", 0));
    assert_true(nk_bytes_equal(none, none));
}

TEST(a_string_ends_before_its_nul)
{
    (void)state;
    struct nk_bytes view = view_of("ab\0cd", 6), out;
    assert_true(nk_bytes_string(view, 1, &out));
    assert_int_equal(out.size, 1);
    drop(view);
}

TEST(a_string_whose_nul_is_the_last_byte_is_found)
{
    (void)state;
    struct nk_bytes view = view_of("ab\0cd", 6), out;
    assert_true(nk_bytes_string(view, 3, &out));
    assert_int_equal(out.size, 2);
    drop(view);
}

TEST(a_string_without_a_nul_is_none)
{
    (void)state;
    struct nk_bytes view = view_of("abcd", 4), out;
    for (uint64_t offset = 0; offset < 6; offset++) assert_false(nk_bytes_string(view, offset, &out));
    drop(view);
}

TEST(the_first_match_at_or_after_the_start_is_found)
{
    (void)state;
    struct nk_bytes view = view_of("xabxab", 6);
    assert_int_equal(nk_bytes_find(view, 0, "ab", 2), 1);
    assert_int_equal(nk_bytes_find(view, 1, "ab", 2), 1);
    assert_int_equal(nk_bytes_find(view, 2, "ab", 2), 4);
    assert_int_equal(nk_bytes_find(view, 5, "ab", 2), -1);
    drop(view);
}

TEST(a_match_is_found_at_every_place_of_a_long_view)
{
    (void)state;
    char text[101];
    for (size_t size = 1; size <= 20; size++)
        for (size_t at = 0; at + size <= 100; at++) {
            memset(text, 'a', sizeof text);
            memset(text + at, 'b', size);
            text[at] = 'c';
            struct nk_bytes view = view_of(text, 100);
            assert_int_equal(nk_bytes_find(view, 0, text + at, size), (int64_t)at);
            assert_int_equal(nk_bytes_find(view, at + 1, text + at, size), -1);
            drop(view);
        }
}

TEST(a_match_that_would_reach_beyond_the_end_is_none)
{
    (void)state;
    struct nk_bytes view = view_of("xxa", 3);
    assert_int_equal(nk_bytes_find(view, 0, "ab", 2), -1);
    drop(view);
}

TEST(a_match_behind_the_end_is_none_however_long_the_view_is)
{
    (void)state;
    for (size_t size = 0; size <= 300; size++) {
        char text[310];
        memset(text, 'x', sizeof text);
        memcpy(text + size, "ab", 2);
        assert_int_equal(nk_bytes_find(nk_bytes(text, size), 0, "ab", 2), -1);
        assert_int_equal(nk_bytes_find(nk_bytes(text, size), 0, "a", 1), -1);
    }
}

TEST(a_search_from_beyond_the_end_finds_nothing)
{
    (void)state;
    assert_int_equal(nk_bytes_find(nk_bytes(data, sizeof data), UINT64_MAX, "\x11", 1), -1);
}

TEST(a_prefix_longer_than_the_view_is_none)
{
    (void)state;
    struct nk_bytes view = view_of("ab", 2);
    assert_true(nk_bytes_starts(view, "ab", 2));
    assert_false(nk_bytes_starts(view, "abc", 3));
    drop(view);
}

TEST(views_are_equal_by_size_and_bytes)
{
    (void)state;
    assert_true(nk_bytes_equal(nk_bytes("abc", 3), nk_bytes("abcd", 3)));
    assert_false(nk_bytes_equal(nk_bytes("abc", 3), nk_bytes("abcd", 4)));
    assert_false(nk_bytes_equal(nk_bytes("abc", 3), nk_bytes("abd", 3)));
}

static const struct CMUnitTest tests[] = {
    T(a_range_is_held_exactly_when_it_lies_inside),
    T(a_range_that_would_wrap_is_not_held),
    T(numbers_are_read_where_they_fit_and_nowhere_else),
    T(numbers_are_little_endian_and_need_no_alignment),
    T(a_failed_read_leaves_the_result_alone),
    T(a_part_is_a_view_of_its_own),
    T(the_rest_from_the_end_is_empty),
    T(there_is_no_rest_beyond_the_end),
    T(a_copy_of_nothing_is_allowed_at_the_end_only),
    T(an_empty_view_without_memory_can_be_asked_anything),
    T(a_string_ends_before_its_nul),
    T(a_string_whose_nul_is_the_last_byte_is_found),
    T(a_string_without_a_nul_is_none),
    T(the_first_match_at_or_after_the_start_is_found),
    T(a_match_is_found_at_every_place_of_a_long_view),
    T(a_match_that_would_reach_beyond_the_end_is_none),
    T(a_match_behind_the_end_is_none_however_long_the_view_is),
    T(a_search_from_beyond_the_end_finds_nothing),
    T(a_prefix_longer_than_the_view_is_none),
    T(views_are_equal_by_size_and_bytes),
};

int main(void) { return cmocka_run_group_tests(tests, NULL, NULL); }
