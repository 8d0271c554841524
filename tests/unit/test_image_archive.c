// test_image_archive.c - members of archives made by hand.
#include "test_image_maker.h"

#include "image/archive.h"

static struct nk_buf gnu_archive(void)
{
    static const char names[] = "a_long_name_of_an_object.o/\nanother_long_name.o/\n";
    struct nk_buf buf = {0};
    nk_buf_text(&buf, "!<arch>\n");
    make_member(&buf, "/", "\0\0\0\0", 4);
    make_member(&buf, "//", names, sizeof names - 1);
    make_member(&buf, "short.o/", "odd", 3);
    make_member(&buf, "/28", "long", 4);
    return buf;
}

static void members_come_with_their_names_and_without_the_tables(void **state)
{
    (void)state;
    struct nk_buf buf = gnu_archive();
    struct nk_archive walk;
    struct nk_archive_member found;
    assert_true(nk_archive_looks(view_of(&buf)));
    assert_int_equal(nk_archive_begin(&walk, view_of(&buf), NULL), 0);
    assert_int_equal(nk_archive_next(&walk, &found, NULL), 1);
    assert_text(found.name, "short.o");
    assert_text(found.bytes, "odd");
    assert_memory_equal(buf.data + found.offset, "odd", 3);
    assert_int_equal(nk_archive_next(&walk, &found, NULL), 1);
    assert_text(found.name, "another_long_name.o");
    assert_text(found.bytes, "long");
    assert_int_equal(nk_archive_next(&walk, &found, NULL), 0);
    nk_buf_free(&buf);
}

static void a_bsd_name_stands_before_the_bytes(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    struct nk_archive walk;
    struct nk_archive_member found;
    nk_buf_text(&buf, "!<arch>\n");
    make_member(&buf, "#1/12", "long_name.o\0contents", 20);
    nk_archive_begin(&walk, view_of(&buf), NULL);
    assert_int_equal(nk_archive_next(&walk, &found, NULL), 1);
    assert_text(found.name, "long_name.o");
    assert_text(found.bytes, "contents");
    nk_buf_free(&buf);
}

static void a_thin_archive_is_refused_in_words(void **state)
{
    (void)state;
    struct nk_archive walk;
    struct nk_err err;
    assert_true(nk_archive_looks(text_of("!<thin>\n")));
    assert_int_equal(nk_archive_begin(&walk, text_of("!<thin>\n"), &err), -1);
    assert_says(&err, "thin");
    assert_false(nk_archive_looks(text_of("!<arch>")));
}

static void a_member_that_is_too_large_ends_the_walk_in_words(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    struct nk_archive walk;
    struct nk_archive_member found;
    struct nk_err err;
    nk_buf_text(&buf, "!<arch>\n");
    make_member(&buf, "a.o/", "ok", 2);
    nk_buf_format(&buf, "%-16s%-12s%-6s%-6s%-8s%-10s`\n", "b.o/", "0", "0", "0", "644", "9999999999");
    nk_archive_begin(&walk, view_of(&buf), NULL);
    assert_int_equal(nk_archive_next(&walk, &found, NULL), 1);
    assert_int_equal(nk_archive_next(&walk, &found, &err), -1);
    assert_says(&err, "has 9999999999 bytes, only 0 are left");
    assert_int_equal(nk_archive_next(&walk, &found, NULL), 0);
    nk_buf_free(&buf);
}

static void walk_all(struct nk_bytes bytes)
{
    struct nk_archive walk;
    struct nk_archive_member found;
    size_t count = 0, sum = 0;
    if (nk_archive_begin(&walk, bytes, NULL)) return;
    while (nk_archive_next(&walk, &found, NULL) == 1) {
        count++;
        for (size_t i = 0; i < found.name.size; i++) sum += found.name.data[i];
        if (found.bytes.size) sum += found.bytes.data[found.bytes.size - 1];
    }
    assert_true(count <= 8 && sum < 1u << 20);
}

static void an_archive_cut_anywhere_or_with_any_bit_wrong_is_read_without_harm(void **state)
{
    (void)state;
    struct nk_buf buf = gnu_archive();
    make_member(&buf, "#1/12", "long_name.o\0contents", 20);
    for_all_cuts(&buf, walk_all);
    for_all_flips(&buf, walk_all);
    nk_buf_free(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_come_with_their_names_and_without_the_tables),
        cmocka_unit_test(a_bsd_name_stands_before_the_bytes),
        cmocka_unit_test(a_thin_archive_is_refused_in_words),
        cmocka_unit_test(a_member_that_is_too_large_ends_the_walk_in_words),
        cmocka_unit_test(an_archive_cut_anywhere_or_with_any_bit_wrong_is_read_without_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
