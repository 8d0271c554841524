// test_image_unpack.c - decoding images: both codecs, the bounds, the first bytes alone.
#include "test_image_maker.h"

#include "image/unpack.h"

#define SIZE 5000

static char contents[SIZE];

static int fill_contents(void **state)
{
    (void)state;
    for (size_t i = 0; i < SIZE; i++) contents[i] = (char)(i * i >> 5);
    return 0;
}

// An entry as a walk hands it out. *buf owns its bytes.
static struct nk_entry_view packed(struct nk_buf *buf, uint32_t codec)
{
    struct nk_fatbin walk;
    struct nk_entry_view entry;
    nk_buf_clear(buf);
    size_t at = begin_container(buf);
    make_entry(buf, &(struct made_entry){.kind = 2, .arch = 90, .codec = codec, .payload = nk_bytes(contents, SIZE)});
    end_container(buf, at);
    assert_int_equal(nk_fatbin_begin(&walk, view_of(buf), NULL), 0);
    assert_int_equal(nk_fatbin_next(&walk, &entry, NULL), 1);
    return entry;
}

static void every_codec_gives_the_bytes_that_were_packed(void **state)
{
    (void)state;
    static const uint32_t codecs[] = {MAKE_STORED, MAKE_LZ4, MAKE_ZSTD};
    struct nk_unpacked unpacked = {0};
    struct nk_buf buf = {0};
    for (size_t i = 0; i < 3; i++) {
        struct nk_entry_view entry = packed(&buf, codecs[i]);
        assert_int_equal(nk_unpack(&unpacked, &entry, 0, NULL), 0);
        assert_int_equal(unpacked.bytes.size, SIZE);
        assert_memory_equal(unpacked.bytes.data, contents, SIZE);
    }
    nk_unpack_free(&unpacked);
    nk_buf_free(&buf);
}

static void a_stored_image_is_not_copied(void **state)
{
    (void)state;
    struct nk_unpacked unpacked = {0};
    struct nk_buf buf = {0};
    struct nk_entry_view entry = packed(&buf, MAKE_STORED);
    assert_int_equal(nk_unpack(&unpacked, &entry, 1, NULL), 0); // nor is it bounded
    assert_ptr_equal(unpacked.bytes.data, entry.payload.data);
    assert_null(unpacked.memory.data);
    nk_unpack_free(&unpacked);
    nk_buf_free(&buf);
}

static void refused(const struct nk_entry_view *entry, uint64_t limit, enum nk_err_code code, const char *words)
{
    struct nk_unpacked unpacked = {0};
    struct nk_err err = {0};
    assert_int_equal(nk_unpack(&unpacked, entry, limit, &err), -1);
    assert_int_equal(err.code, code);
    assert_says(&err, words);
    assert_int_equal(unpacked.bytes.size, 0);
    nk_unpack_free(&unpacked);
}

static void a_size_beyond_the_bounds_is_refused_before_memory_is_taken(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    struct nk_entry_view entry = packed(&buf, MAKE_ZSTD);
    refused(&entry, SIZE - 1, NK_ERR_LIMIT, "at most 4999 bytes");
    entry.unpacked = 1ull << 40;
    refused(&entry, 0, NK_ERR_LIMIT, "at most 1073741824 bytes");
    refused(&entry, UINT64_MAX, NK_ERR_LIMIT, "at most 1073741824 bytes");
    entry.unpacked = 1ull << 29;
    entry.payload.size = 100;
    refused(&entry, 0, NK_ERR_LIMIT, "4096 times");
    entry = packed(&buf, MAKE_LZ4);
    entry.unpacked = 256 * entry.payload.size + 256;
    refused(&entry, 0, NK_ERR_LIMIT, "256 times");
    nk_buf_free(&buf);
}

static void a_size_other_than_announced_is_refused(void **state)
{
    (void)state;
    static const uint32_t codecs[] = {MAKE_LZ4, MAKE_ZSTD};
    struct nk_buf buf = {0};
    for (size_t i = 0; i < 2; i++) {
        struct nk_entry_view entry = packed(&buf, codecs[i]);
        entry.unpacked = SIZE + 8;
        refused(&entry, 0, NK_ERR_BAD_INPUT, "5008 bytes, it holds 5000");
        entry.unpacked = SIZE - 8;
        refused(&entry, 0, NK_ERR_BAD_INPUT, "is damaged");
    }
    nk_buf_free(&buf);
}

static void what_cannot_be_decoded_is_refused_in_words(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    struct nk_entry_view entry = packed(&buf, MAKE_LZ4);
    entry.image.codec = NK_CODEC_UNKNOWN;
    refused(&entry, 0, NK_ERR_UNSUPPORTED, "stored, in LZ4 or in zstd");
    entry.image.codec = NK_CODEC_ZSTD; // LZ4 bytes given to zstd
    refused(&entry, 0, NK_ERR_BAD_INPUT, "is damaged");
    entry.image.flags |= NK_IMAGE_SCRAMBLED;
    refused(&entry, 0, NK_ERR_UNSUPPORTED, "scrambled LTO-IR");
    nk_buf_free(&buf);
}

static void cut_or_flipped(uint32_t codec)
{
    struct nk_unpacked unpacked = {0};
    struct nk_buf buf = {0};
    struct nk_entry_view entry = packed(&buf, codec), cut = entry;
    char head[100];
    size_t got;
    for (size_t size = 0; size < entry.payload.size; size++) {
        struct guarded guarded = guard(entry.payload.data, size);
        cut.payload = guarded.bytes;
        assert_int_equal(nk_unpack(&unpacked, &cut, 0, NULL), -1);
        if (!nk_unpack_head(&cut, head, sizeof head, &got, NULL)) assert_memory_equal(head, contents, got);
        unguard(&guarded);
    }
    struct guarded guarded = guard(entry.payload.data, entry.payload.size);
    cut.payload = guarded.bytes;
    for (size_t bit = 0; bit < guarded.bytes.size * 8; bit++) {
        uint8_t *byte = (uint8_t *)(uintptr_t)guarded.bytes.data + bit / 8;
        *byte ^= (uint8_t)(1u << bit % 8);
        nk_unpack(&unpacked, &cut, 0, NULL);
        nk_unpack_head(&cut, head, sizeof head, &got, NULL);
        *byte ^= (uint8_t)(1u << bit % 8);
    }
    unguard(&guarded);
    nk_unpack_free(&unpacked);
    nk_buf_free(&buf);
}

static void a_payload_cut_anywhere_is_refused_and_any_bit_may_be_wrong(void **state)
{
    (void)state;
    cut_or_flipped(MAKE_LZ4);
    cut_or_flipped(MAKE_ZSTD);
}

static void the_first_bytes_come_without_the_rest(void **state)
{
    (void)state;
    static const uint32_t codecs[] = {MAKE_STORED, MAKE_LZ4, MAKE_ZSTD};
    struct nk_buf buf = {0};
    for (size_t i = 0; i < 3; i++) {
        struct nk_entry_view entry = packed(&buf, codecs[i]);
        char head[SIZE + 10];
        size_t got = 0;
        memset(head, '#', sizeof head);
        assert_int_equal(nk_unpack_head(&entry, head, 128, &got, NULL), 0);
        assert_int_equal(got, 128);
        assert_memory_equal(head, contents, 128);
        assert_int_equal(head[128], '#');
        assert_int_equal(nk_unpack_head(&entry, head, sizeof head, &got, NULL), 0);
        assert_int_equal(got, SIZE);
        assert_memory_equal(head, contents, SIZE);
    }
    nk_buf_free(&buf);
}

static void images_of_one_concatenated_entry_are_decoded_once(void **state)
{
    (void)state;
    struct nk_unpacked unpacked = {0};
    struct nk_buf buf = {0};
    struct nk_entry_view entry = packed(&buf, MAKE_ZSTD);
    entry.image.flags |= NK_IMAGE_CONCATENATED;
    entry.part_size = 100;
    assert_int_equal(nk_unpack(&unpacked, &entry, 0, NULL), 0);
    assert_memory_equal(unpacked.bytes.data, contents, 100);
    unpacked.memory.data[1000] = 'x'; // would be overwritten by a second decoding
    entry.part = 1000;
    assert_int_equal(nk_unpack(&unpacked, &entry, 0, NULL), 0);
    assert_int_equal(unpacked.bytes.size, 100);
    assert_int_equal(unpacked.bytes.data[0], 'x');
    nk_unpack_free(&unpacked);
    nk_buf_free(&buf);
}

static void the_first_bytes_of_a_concatenated_image_are_its_own(void **state)
{
    (void)state;
    static const uint32_t codecs[] = {MAKE_STORED, MAKE_LZ4, MAKE_ZSTD};
    struct nk_buf buf = {0};
    for (size_t i = 0; i < 3; i++) {
        struct nk_entry_view entry = packed(&buf, codecs[i]);
        char head[128];
        size_t got = 0;
        entry.part = 3000;
        entry.part_size = 100;
        assert_int_equal(nk_unpack_head(&entry, head, sizeof head, &got, NULL), 0);
        assert_int_equal(got, 100);
        assert_memory_equal(head, contents + 3000, 100);
    }
    nk_buf_free(&buf);
}

static void a_concatenated_image_that_starts_too_late_is_refused(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    struct nk_err err;
    struct nk_entry_view entry = packed(&buf, MAKE_ZSTD);
    char head[16];
    size_t got;
    entry.part = entry.unpacked = 20u << 20;
    entry.unpacked += entry.part_size = 100;
    assert_int_equal(nk_unpack_head(&entry, head, sizeof head, &got, &err), -1);
    assert_int_equal(err.code, NK_ERR_LIMIT);
    entry.part = 10;
    entry.part_size = UINT64_MAX; // an image that lies about its place
    struct nk_unpacked unpacked = {0};
    entry.unpacked = SIZE;
    assert_int_equal(nk_unpack(&unpacked, &entry, 0, &err), -1);
    assert_says(&err, "inside 5000 decoded bytes");
    nk_unpack_free(&unpacked);
    nk_buf_free(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_codec_gives_the_bytes_that_were_packed),
        cmocka_unit_test(a_stored_image_is_not_copied),
        cmocka_unit_test(a_size_beyond_the_bounds_is_refused_before_memory_is_taken),
        cmocka_unit_test(a_size_other_than_announced_is_refused),
        cmocka_unit_test(what_cannot_be_decoded_is_refused_in_words),
        cmocka_unit_test(a_payload_cut_anywhere_is_refused_and_any_bit_may_be_wrong),
        cmocka_unit_test(the_first_bytes_come_without_the_rest),
        cmocka_unit_test(images_of_one_concatenated_entry_are_decoded_once),
        cmocka_unit_test(the_first_bytes_of_a_concatenated_image_are_its_own),
        cmocka_unit_test(a_concatenated_image_that_starts_too_late_is_refused),
    };
    return cmocka_run_group_tests(tests, fill_contents, NULL);
}
