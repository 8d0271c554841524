// test_preload_python_layout.c - which interpreters are known, and what is believed of what they say of themselves.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "python_maker.h"

static void every_known_version_has_a_layout_of_its_own(void **state)
{
    (void)state;
    for (size_t i = 0; i < LAYOUTS; i++) {
        struct nk_python_layout layout;
        assert_true(choose(&layout, i));
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
            if (*member(&layout, rows[k].member) != rows[k].at[i])
                fail_msg("%s: row %zu is %u", layout_names[i], k, *member(&layout, rows[k].member));
    }
}

static void versions_before_3_8_and_after_3_14_are_unknown(void **state)
{
    (void)state;
    static const uint32_t unknown[] = {0, 0x02071200, 0x020712f0, 0x030710f0, 0x030f02f0, 0x040800f0};
    struct nk_python_layout layout;
    uint8_t table[NK_PYTHON_TABLE_SIZE];
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        uint64_t version = unknown[i];
        make_table(table, 7);
        memcpy(table + 8, &version, 8);
        assert_false(nk_python_layout(&layout, unknown[i], table));
    }
}

static void versions_before_their_release_are_unknown(void **state)
{
    (void)state;
    struct nk_python_layout layout;
    uint8_t table[NK_PYTHON_TABLE_SIZE];
    uint64_t candidate = 0x030d00c2;
    make_table(table, 5);
    memcpy(table + 8, &candidate, 8);
    assert_false(nk_python_layout(&layout, (uint32_t)candidate, table));
    assert_false(nk_python_layout(&layout, 0x030a00b1, NULL));
}

static void what_the_interpreter_says_counts_more_than_the_list(void **state)
{
    (void)state;
    struct nk_python_layout layout;
    uint8_t table[NK_PYTHON_TABLE_SIZE];
    uint64_t moved = 160;
    make_table(table, 7);
    memcpy(table + 216, &moved, 8); // thread_state.thread_id
    assert_true(nk_python_layout(&layout, versions[7], table));
    assert_int_equal(layout.thread_id, 160);
}

static void a_table_that_cannot_be_read_or_is_another_versions_is_no_table(void **state)
{
    (void)state;
    struct nk_python_layout layout;
    uint8_t table[NK_PYTHON_TABLE_SIZE];
    assert_false(nk_python_layout(&layout, versions[5], NULL));
    make_table(table, 7);
    assert_false(nk_python_layout(&layout, versions[5], table));
    make_table(table, 5);
    table[0] = 'y';
    assert_false(nk_python_layout(&layout, versions[5], table));
}

static void a_table_with_an_offset_out_of_all_reason_is_refused(void **state)
{
    (void)state;
    struct nk_python_layout layout;
    uint8_t table[NK_PYTHON_TABLE_SIZE];
    uint64_t huge = 4096;
    make_table(table, 5);
    memcpy(table + 280, &huge, 8); // code_object.filename
    assert_false(nk_python_layout(&layout, versions[5], table));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_known_version_has_a_layout_of_its_own),
        cmocka_unit_test(versions_before_3_8_and_after_3_14_are_unknown),
        cmocka_unit_test(versions_before_their_release_are_unknown),
        cmocka_unit_test(what_the_interpreter_says_counts_more_than_the_list),
        cmocka_unit_test(a_table_that_cannot_be_read_or_is_another_versions_is_no_table),
        cmocka_unit_test(a_table_with_an_offset_out_of_all_reason_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
