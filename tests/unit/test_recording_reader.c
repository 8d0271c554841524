// test_recording_reader.c - what the reader makes of recordings that are whole, cut off, damaged, older or newer.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "recording/reader.h"

#include <stdlib.h>
#include <string.h>

// A recording in memory, put together byte by byte: the writer would refuse to write most of these.
static uint8_t *data;
static size_t size, room;

static void put(const void *bytes, size_t n)
{
    if (size + n > room) {
        room = (size + n) * 2;
        data = realloc(data, room);
        assert_non_null(data);
    }
    if (n) memcpy(data + size, bytes, n);
    size += n;
}

static int begin(void **state)
{
    (void)state;
    struct nk_file_header header = {.magic = NK_RECORDING_MAGIC, .version = NK_RECORDING_VERSION};
    size = 0;
    put(&header, sizeof header);
    return 0;
}

static void record(uint16_t type, const void *head, size_t head_size, const void *tail, size_t tail_size)
{
    static const char zeros[8];
    size_t whole = sizeof(struct nk_record_header) + head_size + tail_size, padding = (8 - whole % 8) % 8;
    struct nk_record_header header = {(uint32_t)(whole + padding), type, (uint16_t)head_size};
    put(&header, sizeof header);
    put(head, head_size);
    put(tail, tail_size);
    put(zeros, padding);
}

static void string(uint32_t id, const char *text)
{
    struct nk_rec_string head = {id, (uint32_t)strlen(text)};
    record(NK_REC_STRING, &head, sizeof head, text, strlen(text));
}

static struct nk_reader reader;

// Walks all that there is and returns how many records were handed out.
static int walk(void)
{
    struct nk_record r;
    int count = 0;
    // An exact copy on the heap: a read behind the end is then seen by the address sanitizer.
    static uint8_t *copy;
    free(copy);
    copy = malloc(size ? size : 1);
    memcpy(copy, data, size);
    assert_int_equal(nk_reader_open(&reader, nk_bytes(copy, size), "r", NULL), 0);
    while (nk_reader_next(&reader, &r)) count++;
    return count;
}

static bool text_is(uint32_t id, const char *expected)
{
    return nk_bytes_equal(nk_reader_text(&reader, id), nk_bytes(expected, strlen(expected)));
}

static void texts_are_found_by_their_ids(void **state)
{
    (void)state;
    string(1, "one");
    string(2, "two");
    assert_int_equal(walk(), 2);
    assert_true(text_is(1, "one") && text_is(2, "two"));
    assert_true(text_is(0, "") && text_is(3, "") && text_is(UINT32_MAX, ""));
    nk_reader_close(&reader);
}

static void a_recording_cut_anywhere_gives_its_whole_records(void **state)
{
    (void)state;
    size_t end[4];
    for (uint32_t i = 0; i < 4; i++) {
        string(i + 1, "a text of some length");
        end[i] = size;
    }
    size_t whole = size;
    for (size = sizeof(struct nk_file_header); size <= whole; size++) {
        int expected = 0;
        while (expected < 4 && end[expected] <= size) expected++;
        assert_int_equal(walk(), expected);
        bool at_end = size == sizeof(struct nk_file_header) || (expected && end[expected - 1] == size);
        assert_int_equal(reader.cut, !at_end);
        nk_reader_close(&reader);
    }
}

static void a_length_that_lies_ends_the_walk(void **state)
{
    (void)state;
    static const uint32_t lengths[] = {0, 4, 7, 12, 0x7ffffff8, 0xfffffff8};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        begin(NULL);
        string(1, "before");
        struct nk_record_header lie = {lengths[i], NK_REC_NOTE, 8};
        put(&lie, sizeof lie);
        put("12345678", 8);
        assert_int_equal(walk(), 1);
        assert_true(reader.cut);
        nk_reader_close(&reader);
    }
}

static void a_fixed_part_longer_than_its_record_is_skipped(void **state)
{
    (void)state;
    struct nk_record_header lie = {16, NK_REC_NOTE, 9};
    put(&lie, sizeof lie);
    put("12345678", 8);
    string(1, "after");
    assert_int_equal(walk(), 1);
    assert_int_equal(reader.skipped, 1);
    assert_true(text_is(1, "after"));
    nk_reader_close(&reader);
}

static void texts_out_of_order_are_skipped(void **state)
{
    (void)state;
    string(2, "too early");
    string(1, "right");
    string(0xffffffff, "far too early");
    assert_int_equal(walk(), 1);
    assert_int_equal(reader.skipped, 2);
    assert_true(text_is(1, "right") && text_is(2, ""));
    nk_reader_close(&reader);
}

static void a_text_longer_than_its_record_is_skipped(void **state)
{
    (void)state;
    struct nk_rec_string head = {1, 1000};
    record(NK_REC_STRING, &head, sizeof head, "short", 5);
    assert_int_equal(walk(), 0);
    assert_int_equal(reader.skipped, 1);
    nk_reader_close(&reader);
}

static void counters_outside_their_record_are_skipped(void **state)
{
    (void)state;
    uint64_t values[2] = {5, 6};
    size_t tail = size + sizeof(struct nk_record_header) + sizeof(struct nk_rec_counters);
    struct nk_rec_counters heads[] = {
        {0, 2, tail, 0, 0}, {2, 3, 0, 0, 0}, {2, 0xffffffff, 0, 0, 0}, {2, 1, 0, 0, 0}, {2, 1, 0, 0, 0}};
    for (size_t i = 0; i < 5; i++) {
        tail = size + sizeof(struct nk_record_header) + sizeof(struct nk_rec_counters);
        if (i) heads[i].offset = i == 3 ? 16 : i == 4 ? UINT64_MAX - 7 : tail;
        record(NK_REC_COUNTERS, &heads[i], sizeof heads[i], values, sizeof values);
    }
    assert_int_equal(walk(), 1);
    assert_int_equal(reader.skipped, 4);
    uint64_t value = 0;
    assert_true(nk_reader_counter(&reader, 1, &value));
    assert_int_equal(value, 6);
    assert_false(nk_reader_counter(&reader, 2, &value));
    assert_false(nk_reader_counter(&reader, NK_NONE, &value));
    nk_reader_close(&reader);
}

static void a_record_of_an_older_writer_has_zeros_for_what_it_lacks(void **state)
{
    (void)state;
    uint32_t id = 7;
    struct nk_record r;
    struct nk_rec_kernel kernel = {.gpu = 99};
    record(NK_REC_KERNEL, &id, sizeof id, NULL, 0);
    assert_int_equal(nk_reader_open(&reader, nk_bytes(data, size), "r", NULL), 0);
    assert_true(nk_reader_next(&reader, &r));
    nk_record_head(&r, &kernel, sizeof kernel);
    assert_true(kernel.id == 7 && kernel.gpu == 0);
    nk_reader_close(&reader);
}

static void a_record_of_a_newer_writer_is_read_as_far_as_it_is_known(void **state)
{
    (void)state;
    uint32_t words[16] = {3, 4, [15] = 5};
    struct nk_record r;
    struct nk_rec_note note;
    record(NK_REC_NOTE, words, sizeof words, NULL, 0);
    record(60000, words, sizeof words, NULL, 0);
    assert_int_equal(nk_reader_open(&reader, nk_bytes(data, size), "r", NULL), 0);
    assert_true(nk_reader_next(&reader, &r));
    nk_record_head(&r, &note, sizeof note);
    assert_int_equal(note.text, 3);
    assert_true(nk_reader_next(&reader, &r)); // of a type that is not known
    assert_int_equal(r.type, 60000);
    assert_false(nk_reader_next(&reader, &r));
    nk_reader_close(&reader);
}

static void a_second_walk_sees_the_same(void **state)
{
    (void)state;
    struct nk_record r;
    string(1, "one");
    string(2, "two");
    assert_int_equal(walk(), 2);
    nk_reader_rewind(&reader);
    int again = 0;
    while (nk_reader_next(&reader, &r)) again++;
    assert_int_equal(again, 2);
    assert_int_equal(reader.strings, 2);
    assert_int_equal(reader.skipped, 0);
    nk_reader_close(&reader);
}

static void what_is_no_recording_is_refused_with_a_sentence(void **state)
{
    (void)state;
    struct nk_err err = {0};
    assert_int_equal(nk_reader_open(&reader, nk_bytes("ELF", 3), "some/file", &err), -1);
    assert_int_equal(err.code, NK_ERR_BAD_INPUT);
    assert_non_null(strstr(err.text, "some/file: a recording of at least 16 bytes was expected, the file has 3"));
    data[0] = 'X';
    assert_int_equal(nk_reader_open(&reader, nk_bytes(data, size), "some/file", &err), -1);
    assert_non_null(strstr(err.text, "the file begins otherwise"));
}

static void a_recording_of_another_format_is_refused_by_its_number(void **state)
{
    (void)state;
    struct nk_err err = {0};
    data[8] = 9;
    assert_int_equal(nk_reader_open(&reader, nk_bytes(data, size), "f", &err), -1);
    assert_int_equal(err.code, NK_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "format 1 was expected, this one has format 9"));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup(name, begin)
    const struct CMUnitTest tests[] = {
        T(texts_are_found_by_their_ids),
        T(a_recording_cut_anywhere_gives_its_whole_records),
        T(a_length_that_lies_ends_the_walk),
        T(a_fixed_part_longer_than_its_record_is_skipped),
        T(texts_out_of_order_are_skipped),
        T(a_text_longer_than_its_record_is_skipped),
        T(counters_outside_their_record_are_skipped),
        T(a_record_of_an_older_writer_has_zeros_for_what_it_lacks),
        T(a_record_of_a_newer_writer_is_read_as_far_as_it_is_known),
        T(a_second_walk_sees_the_same),
        T(what_is_no_recording_is_refused_with_a_sentence),
        T(a_recording_of_another_format_is_refused_by_its_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
