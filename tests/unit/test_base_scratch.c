// test_base_scratch.c - memory that is written over again and again.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/scratch.h"

#include <string.h>

static void there_is_room_for_as_many_bytes_as_were_asked_for(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 100, 50, (1u << 20) - 1, 1u << 20, 5u << 20, 1000, 40000001, 60000000};
    struct nk_scratch scratch = {0};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_true(nk_scratch_reserve(&scratch, sizes[i]));
        assert_true(scratch.capacity >= sizes[i]);
        memset(scratch.data, (int)i, sizes[i]);
        scratch.data[scratch.capacity - 1] = 1;
    }
    nk_scratch_free(&scratch);
    assert_null(scratch.data);
}

static void what_is_large_enough_stays_where_it_is(void **state)
{
    (void)state;
    struct nk_scratch scratch = {0};
    for (size_t size = 1000; size < 10000000; size *= 10) {
        assert_true(nk_scratch_reserve(&scratch, size));
        uint8_t *before = scratch.data;
        before[size - 1] = 7;
        assert_true(nk_scratch_reserve(&scratch, size / 2));
        assert_true(nk_scratch_reserve(&scratch, size));
        assert_ptr_equal(scratch.data, before);
        assert_int_equal(before[size - 1], 7);
    }
    nk_scratch_free(&scratch);
}

static void more_than_there_can_be_is_refused_and_counted(void **state)
{
    (void)state;
    for (size_t before = 0; before < 10000000; before = before * 1000 + 5000) {
        struct nk_scratch scratch = {0};
        unsigned lacks = nk_lacks();
        assert_true(nk_scratch_reserve(&scratch, before));
        assert_false(nk_scratch_reserve(&scratch, UINT64_MAX));
        assert_false(nk_scratch_reserve(&scratch, SIZE_MAX / 4));
        assert_int_equal(nk_lacks(), lacks + 2);
        assert_true(nk_scratch_reserve(&scratch, 3000));
        scratch.data[2999] = 1;
        nk_scratch_free(&scratch);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_is_room_for_as_many_bytes_as_were_asked_for),
        cmocka_unit_test(what_is_large_enough_stays_where_it_is),
        cmocka_unit_test(more_than_there_can_be_is_refused_and_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
