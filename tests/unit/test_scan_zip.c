// test_scan_zip.c - the members of zip files made by hand, and the zip files that are left to another reader.
#include "test_zip_maker.h"

#include "scan/inflate.h"
#include "scan/zip.h"

#include <pthread.h>
#include <stdatomic.h>

enum { COUNT = sizeof ordinary_members / sizeof *ordinary_members };

static bool read_at(void *user, uint64_t at, void *into, size_t size)
{
    return nk_bytes_copy(*(struct nk_bytes *)user, at, into, size);
}

static struct nk_bytes source;

static struct nk_zip *opened(const struct nk_buf *buf)
{
    source = view_of(buf);
    return nk_zip_open(read_at, &source, buf->size);
}

// All of a member, read in steps of `step` bytes.
static struct nk_buf read_all(struct nk_zip_reader *reader, size_t step, int64_t last, struct nk_err *err)
{
    struct nk_buf out = {0};
    char bytes[64];
    int64_t got;
    nk_buf_text(&out, "");
    while ((got = nk_zip_read(reader, bytes, step, err)) > 0) nk_buf_add(&out, bytes, (size_t)got);
    assert_int_equal(got, last);
    return out;
}

static void assert_members(struct nk_zip *zip, size_t step)
{
    struct nk_zip_member member;
    assert_non_null(zip);
    struct nk_zip_reader *reader = nk_zip_reader_new(zip);
    for (size_t i = 0; i < COUNT; i++) {
        struct nk_err err = {0};
        assert_true(nk_zip_next(zip, &member));
        assert_int_equal(member.name.size, strlen(ordinary_members[i].name));
        assert_memory_equal(member.name.data, ordinary_members[i].name, member.name.size);
        assert_int_equal(member.size, ordinary_members[i].size);
        assert_int_equal(member.regular, i == 0 || i == 2);
        if (!member.regular) continue;
        nk_zip_reader_begin(reader, &member);
        assert_int_equal(nk_zip_passed(reader), 0);
        struct nk_buf bytes = read_all(reader, step, 0, &err);
        assert_int_equal(bytes.size, member.size);
        assert_int_equal(nk_zip_passed(reader), member.packed);
        for (size_t at = 0; at < bytes.size; at++)
            assert_int_equal(bytes.data[at], (i ? "deflated " : "stored   ")[at % 9]);
        nk_buf_free(&bytes);
    }
    assert_false(nk_zip_next(zip, &member));
    nk_zip_reader_free(reader);
    nk_zip_close(zip);
}

static void members_are_read_in_any_steps(void **state)
{
    (void)state;
    for (int large = 0; large < 2; large++) {
        struct nk_buf buf = make_zip(ordinary_members, COUNT, large);
        for (size_t step = 1; step <= 64; step += 7) assert_members(opened(&buf), step);
        nk_buf_free(&buf);
    }
}

static void a_member_that_was_not_read_to_its_end_is_skipped(void **state)
{
    (void)state;
    struct nk_buf buf = make_zip(ordinary_members, COUNT, false);
    struct nk_zip *zip = opened(&buf);
    struct nk_zip_reader *reader = nk_zip_reader_new(zip);
    struct nk_zip_member member;
    char bytes[4];
    assert_true(nk_zip_next(zip, &member));
    nk_zip_reader_begin(reader, &member);
    assert_int_equal(nk_zip_read(reader, bytes, 2, NULL), 2);
    assert_true(nk_zip_next(zip, &member) && nk_zip_next(zip, &member));
    nk_zip_reader_begin(reader, &member);
    assert_int_equal(nk_zip_read(reader, bytes, 4, NULL), 4);
    assert_memory_equal(bytes, "defl", 4);
    nk_zip_reader_free(reader);
    nk_zip_close(zip);
    nk_buf_free(&buf);
}

// What is said about the member when `change` is made to it.
static void assert_damaged(struct made_member changed, size_t step, const char *words)
{
    struct nk_buf buf = make_zip(&changed, 1, false);
    struct nk_zip *zip = opened(&buf);
    struct nk_zip_member member;
    struct nk_err err = {0};
    assert_non_null(zip);
    assert_true(nk_zip_next(zip, &member));
    struct nk_zip_reader *reader = nk_zip_reader_new(zip);
    nk_zip_reader_begin(reader, &member);
    struct nk_buf bytes = read_all(reader, step, -1, &err);
    assert_says(&err, words);
    assert_true(bytes.size <= member.size);
    nk_buf_free(&bytes);
    nk_zip_reader_free(reader);
    nk_zip_close(zip);
    nk_buf_free(&buf);
}

static void a_damaged_member_is_said_to_be_one(void **state)
{
    (void)state;
    struct made_member good = ordinary_members[2], bad = good;
    bad.crc++;
    assert_damaged(bad, 64, "checksum");
    bad = good;
    bad.size--;
    assert_damaged(bad, 64, "another size");
    bad.size -= 20;
    assert_damaged(bad, 1, "another size"); // said as soon as there is more
    bad = good;
    bad.packed -= 4;
    assert_damaged(bad, 64, "too early");
    bad = good;
    bad.bytes = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff";
    assert_damaged(bad, 64, "deflated bytes are damaged");
}

// What comes before the damage, whatever the steps.
static void assert_before_damage(struct made_member bad, const char *wanted, size_t size)
{
    struct nk_buf buf = make_zip(&bad, 1, false);
    for (size_t step = 1; step <= 64; step++) {
        struct nk_zip *zip = opened(&buf);
        struct nk_zip_member member;
        struct nk_err err = {0};
        assert_true(nk_zip_next(zip, &member));
        struct nk_zip_reader *reader = nk_zip_reader_new(zip);
        nk_zip_reader_begin(reader, &member);
        struct nk_buf bytes = read_all(reader, step, -1, &err);
        assert_int_equal(bytes.size, size);
        assert_memory_equal(bytes.data, wanted, size);
        nk_buf_free(&bytes);
        nk_zip_reader_free(reader);
        nk_zip_close(zip);
    }
    nk_buf_free(&buf);
}

static void all_bytes_before_damage_are_read_in_any_steps(void **state)
{
    (void)state;
    struct made_member bad = ordinary_members[2];
    char text[DEFLATED_SIZE];
    for (size_t at = 0; at < sizeof text; at++) text[at] = "deflated "[at % 9];
    bad.crc++;
    assert_before_damage(bad, text, bad.size);
    bad = ordinary_members[2];
    bad.size -= 20;
    assert_before_damage(bad, text, bad.size);
    // A block of 20 stored bytes, and one of the kind that does not exist.
    bad.bytes = "\0\x14\0\xeb\xff"
                "deflated deflated de"
                "\7       ";
    bad.packed = 33;
    assert_before_damage(bad, text, 20);
}

// ---- read ahead

enum { NUMBERS = 700000, STEP = 1000 };

static struct nk_buf zip_of_numbers(void)
{
    uint32_t *numbers = malloc(NUMBERS * sizeof *numbers);
    for (uint32_t i = 0; i < NUMBERS; i++) numbers[i] = i;
    struct made_member stored = {"n", (char *)numbers, 0, 0, 0, NUMBERS * 4, NUMBERS * 4, 0xceb9ac4e, 0};
    struct nk_buf buf = make_zip(&stored, 1, false);
    free(numbers);
    return buf;
}

// Up to STEP numbers, which must be the next ones; how many.
static uint32_t read_numbers(struct nk_zip_reader *reader, uint32_t expected)
{
    uint32_t some[STEP];
    char *into = (char *)some;
    int64_t got, all = 0;
    while (all < (int64_t)sizeof some && (got = nk_zip_read(reader, into + all, sizeof some - (size_t)all, NULL)) > 0)
        all += got;
    for (int64_t i = 0; i < all / 4; i++) assert_int_equal(some[i], expected++);
    return (uint32_t)(all / 4);
}

static struct nk_zip_reader *reader_of(struct nk_zip *zip)
{
    struct nk_zip_member member;
    struct nk_zip_reader *reader = nk_zip_reader_new(zip);
    assert_true(nk_zip_next(zip, &member));
    nk_zip_reader_begin(reader, &member);
    return reader;
}

static void packed_bytes_are_read_ahead_as_far_as_there_is_room(void **state)
{
    (void)state;
    struct nk_buf buf = zip_of_numbers();
    struct nk_zip *zip = opened(&buf);
    struct nk_zip_reader *reader = reader_of(zip);
    uint32_t read = 0, more, prepared = 0;
    assert_false(nk_zip_prepare(reader)); // where its bytes lie is not known yet
    while ((more = read_numbers(reader, read))) {
        read += more;
        for (int i = 0; nk_zip_prepare(reader); i++, prepared++) assert_true(i < 64);
        assert_true(nk_zip_passed(reader) >= 4 * read);
    }
    assert_int_equal(read, NUMBERS);
    assert_int_equal(nk_zip_passed(reader), 4 * NUMBERS);
    assert_true(prepared > 3);
    nk_zip_reader_free(reader);
    nk_zip_close(zip);
    nk_buf_free(&buf);
}

struct helper {
    struct nk_zip_reader *reader;
    atomic_bool stop;
};

static void *help(void *user)
{
    struct helper *helper = user;
    while (!helper->stop) nk_zip_prepare(helper->reader);
    return NULL;
}

static void a_member_is_the_same_when_another_thread_reads_ahead(void **state)
{
    (void)state;
    struct nk_buf buf = zip_of_numbers();
    struct nk_zip *zip = opened(&buf);
    struct helper helper = {.reader = reader_of(zip)};
    pthread_t thread;
    uint32_t read = 0, more;
    assert_int_equal(pthread_create(&thread, NULL, help, &helper), 0);
    while ((more = read_numbers(helper.reader, read))) read += more;
    helper.stop = true;
    pthread_join(thread, NULL);
    assert_int_equal(read, NUMBERS);
    nk_zip_reader_free(helper.reader);
    nk_zip_close(zip);
    nk_buf_free(&buf);
}

static void what_cannot_be_read_ahead_is_said_when_it_is_read(void **state)
{
    (void)state;
    struct nk_buf buf = zip_of_numbers();
    struct nk_zip *zip = opened(&buf);
    struct nk_zip_reader *reader = reader_of(zip);
    struct nk_err err = {0};
    uint8_t bytes[4096];
    int64_t got = nk_zip_read(reader, bytes, sizeof bytes, &err), all = got;
    source.size = 10000; // the file was cut
    assert_true(got > 0);
    assert_false(nk_zip_prepare(reader));
    while ((got = nk_zip_read(reader, bytes, sizeof bytes, &err)) > 0) all += got;
    assert_int_equal(got, -1);
    assert_says(&err, "could not be read");
    assert_true(all <= (int64_t)sizeof bytes);
    nk_zip_reader_free(reader);
    nk_zip_close(zip);
    nk_buf_free(&buf);
}

static void what_is_not_ordinary_is_left_to_another_reader(void **state)
{
    (void)state;
    struct made_member odd[2] = {ordinary_members[0], ordinary_members[2]};
    odd[1].flags = 1; // encrypted
    struct nk_buf buf = make_zip(odd, 2, false);
    assert_null(opened(&buf));
    nk_buf_free(&buf);
    odd[1].flags = 0;
    odd[1].method = 12; // bzip2
    buf = make_zip(odd, 2, false);
    assert_null(opened(&buf));
    nk_buf_free(&buf);
    for (int large = 0; large < 2; large++) {
        struct nk_buf behind = {0};
        buf = make_zip(ordinary_members, COUNT, large);
        nk_buf_text(&behind, "#!/bin/sh\n"); // a program that unpacks itself
        nk_buf_add(&behind, buf.data, buf.size);
        assert_null(opened(&behind));
        nk_buf_free(&behind);
        nk_buf_free(&buf);
    }
    buf = make_zip(ordinary_members, COUNT, false);
    buf.size -= 10; // the comment and more are cut off
    assert_null(opened(&buf));
    buf.size = 5;
    assert_null(opened(&buf));
    nk_buf_free(&buf);
}

static void a_zip_file_with_any_bit_wrong_is_read_without_harm(void **state)
{
    (void)state;
    struct nk_buf buf = make_zip(ordinary_members, COUNT, true);
    for (size_t bit = 0; bit < buf.size * 8; bit++) {
        struct nk_zip_member member;
        buf.data[bit / 8] ^= (char)(1 << bit % 8);
        struct guarded copy = guard(buf.data, buf.size);
        source = copy.bytes;
        struct nk_zip *zip = nk_zip_open(read_at, &source, source.size);
        struct nk_zip_reader *reader = zip ? nk_zip_reader_new(zip) : NULL;
        while (reader && nk_zip_next(zip, &member)) {
            char bytes[64];
            nk_zip_reader_begin(reader, &member);
            for (int i = 0; i < 32 && nk_zip_read(reader, bytes, sizeof bytes, NULL) > 0; i++) continue;
        }
        nk_zip_reader_free(reader);
        nk_zip_close(zip);
        unguard(&copy);
        buf.data[bit / 8] ^= (char)(1 << bit % 8);
    }
    nk_buf_free(&buf);
}

int main(void)
{
    const struct CMUnitTest zip[] = {
        cmocka_unit_test(members_are_read_in_any_steps),
        cmocka_unit_test(a_member_that_was_not_read_to_its_end_is_skipped),
        cmocka_unit_test(a_damaged_member_is_said_to_be_one),
        cmocka_unit_test(all_bytes_before_damage_are_read_in_any_steps),
        cmocka_unit_test(packed_bytes_are_read_ahead_as_far_as_there_is_room),
        cmocka_unit_test(a_member_is_the_same_when_another_thread_reads_ahead),
        cmocka_unit_test(what_cannot_be_read_ahead_is_said_when_it_is_read),
        cmocka_unit_test(what_is_not_ordinary_is_left_to_another_reader),
        cmocka_unit_test(a_zip_file_with_any_bit_wrong_is_read_without_harm),
    };
    if (nk_inflate_there()) return cmocka_run_group_tests(zip, NULL, NULL);
    print_message("SKIPPED: this build has no ISA-L, and no reader of zip files\n");
    return 0;
}
