// test_base_table.c - the hash table, with as many puts and removes as a long-running program makes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/table.h"

#include <stdlib.h>

#define TEST(name) static void name(void **state)
#define T(name)    cmocka_unit_test(name)

static char values[4096];

TEST(a_new_table_holds_nothing)
{
    (void)state;
    struct nk_table table = {0};
    assert_null(nk_table_get(&table, 0));
    assert_null(nk_table_remove(&table, 0));
}

TEST(what_was_put_is_found)
{
    (void)state;
    struct nk_table table = {0};
    assert_int_equal(nk_table_put(&table, 7, &values[7]), 0);
    assert_ptr_equal(nk_table_get(&table, 7), &values[7]);
    assert_null(nk_table_get(&table, 8));
    nk_table_free(&table);
}

TEST(key_zero_is_a_key_like_any_other)
{
    (void)state;
    struct nk_table table = {0};
    nk_table_put(&table, 0, &values[0]);
    assert_ptr_equal(nk_table_get(&table, 0), &values[0]);
    assert_ptr_equal(nk_table_remove(&table, 0), &values[0]);
    assert_null(nk_table_get(&table, 0));
    nk_table_free(&table);
}

TEST(a_second_put_replaces)
{
    (void)state;
    struct nk_table table = {0};
    nk_table_put(&table, 7, &values[1]);
    nk_table_put(&table, 7, &values[2]);
    assert_ptr_equal(nk_table_get(&table, 7), &values[2]);
    assert_int_equal(table.count, 1);
    nk_table_free(&table);
}

TEST(a_removed_key_is_gone_once)
{
    (void)state;
    struct nk_table table = {0};
    nk_table_put(&table, 7, &values[1]);
    assert_ptr_equal(nk_table_remove(&table, 7), &values[1]);
    assert_null(nk_table_remove(&table, 7));
    assert_int_equal(table.count, 0);
    nk_table_free(&table);
}

TEST(a_removed_key_can_be_put_again)
{
    (void)state;
    struct nk_table table = {0};
    nk_table_put(&table, 7, &values[1]);
    nk_table_remove(&table, 7);
    nk_table_put(&table, 7, &values[2]);
    assert_ptr_equal(nk_table_get(&table, 7), &values[2]);
    nk_table_free(&table);
}

TEST(thousands_of_keys_are_all_found)
{
    (void)state;
    struct nk_table table = {0};
    for (uint64_t i = 0; i < 4096; i++) assert_int_equal(nk_table_put(&table, i * 0x1000, &values[i]), 0);
    for (uint64_t i = 0; i < 4096; i++) assert_ptr_equal(nk_table_get(&table, i * 0x1000), &values[i]);
    assert_int_equal(table.count, 4096);
    nk_table_free(&table);
}

TEST(a_table_stays_small_under_endless_put_and_remove)
{
    (void)state;
    struct nk_table table = {0};
    for (uint64_t i = 0; i < 200000; i++) {
        nk_table_put(&table, i, &values[0]);
        if (i >= 8) assert_ptr_equal(nk_table_remove(&table, i - 8), &values[0]);
    }
    assert_int_equal(table.count, 8);
    assert_in_range(table.capacity, 1, 64);
    nk_table_free(&table);
}

// Against an array, with every kind of call in any order.
TEST(a_random_history_ends_as_an_array_would)
{
    (void)state;
    struct nk_table table = {0};
    void *model[512] = {0};
    size_t count = 0;
    uint64_t random = 88172645463325252u;
    for (int i = 0; i < 200000; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        uint64_t key = random % 512, value = random >> 20 & 4095;
        if (random >> 40 & 1) {
            assert_int_equal(nk_table_put(&table, key, &values[value]), 0);
            count += !model[key];
            model[key] = &values[value];
        } else {
            assert_ptr_equal(nk_table_remove(&table, key), model[key]);
            count -= !!model[key];
            model[key] = NULL;
        }
        assert_int_equal(table.count, count);
    }
    for (uint64_t key = 0; key < 512; key++) assert_ptr_equal(nk_table_get(&table, key), model[key]);
    nk_table_free(&table);
}

TEST(a_walk_meets_each_value_once)
{
    (void)state;
    struct nk_table table = {0};
    char met[1000] = {0};
    for (uint64_t i = 0; i < 1000; i++) nk_table_put(&table, i, &values[i]);
    for (uint64_t i = 0; i < 1000; i += 3) nk_table_remove(&table, i);
    size_t cursor = 0;
    uint64_t key;
    for (void *value; (value = nk_table_next(&table, &cursor, &key));) {
        assert_ptr_equal(value, &values[key]);
        met[key]++;
    }
    for (int i = 0; i < 1000; i++) assert_int_equal(met[i], i % 3 != 0);
    nk_table_free(&table);
}

TEST(a_walk_through_an_empty_table_ends_at_once)
{
    (void)state;
    struct nk_table table = {0};
    size_t cursor = 0;
    assert_null(nk_table_next(&table, &cursor, NULL));
}

TEST(a_freed_table_is_as_new)
{
    (void)state;
    struct nk_table table = {0};
    nk_table_put(&table, 1, &values[1]);
    nk_table_free(&table);
    assert_null(nk_table_get(&table, 1));
    nk_table_put(&table, 1, &values[2]);
    assert_ptr_equal(nk_table_get(&table, 1), &values[2]);
    nk_table_free(&table);
}

TEST(hashes_of_bytes_differ_by_content_and_length)
{
    (void)state;
    assert_true(nk_hash_bytes("abc", 3) == nk_hash_bytes("abc", 3));
    assert_true(nk_hash_bytes("abc", 3) != nk_hash_bytes("abd", 3));
    assert_true(nk_hash_bytes("abc", 3) != nk_hash_bytes("abc", 2));
}

// Handles are aligned addresses: their low bits say nothing.
TEST(hashes_of_aligned_addresses_spread_over_the_low_bits)
{
    (void)state;
    char met[256] = {0};
    int different = 0;
    for (uint64_t i = 0; i < 256; i++) different += !met[nk_hash_u64(0x7f0000000000u + i * 4096) & 255]++;
    assert_in_range(different, 128, 256);
}

static const struct CMUnitTest tests[] = {
    T(a_new_table_holds_nothing),
    T(what_was_put_is_found),
    T(key_zero_is_a_key_like_any_other),
    T(a_second_put_replaces),
    T(a_removed_key_is_gone_once),
    T(a_removed_key_can_be_put_again),
    T(thousands_of_keys_are_all_found),
    T(a_table_stays_small_under_endless_put_and_remove),
    T(a_random_history_ends_as_an_array_would),
    T(a_walk_meets_each_value_once),
    T(a_walk_through_an_empty_table_ends_at_once),
    T(a_freed_table_is_as_new),
    T(hashes_of_bytes_differ_by_content_and_length),
    T(hashes_of_aligned_addresses_spread_over_the_low_bits),
};

int main(void) { return cmocka_run_group_tests(tests, NULL, NULL); }
