// test_image_fatbin.c - the walk over a container, on containers made by hand.
#include "test_image_maker.h"

#include "image/fatbin.h"

static const char ptx_text[] = "\n\n\n\n.version 8.7\n.target sm_90\n.visible .entry k()\n{\nret;\n}\n";

static struct made_entry ptx_entry(uint32_t codec)
{
    return (struct made_entry){.kind = 1,
                               .arch = 90,
                               .major = 8,
                               .minor = 7,
                               .codec = codec,
                               .payload = nk_bytes(ptx_text, sizeof ptx_text),
                               .options = "--compile-only  "};
}

static struct nk_buf two_images(void)
{
    struct nk_buf buf = {0}, cubin = {0};
    make_cubin(&cubin, &(struct made_cubin){.sm = 80, .kernels = {{"k", 128, 0, 0, 0}}});
    size_t at = begin_container(&buf);
    struct made_entry ptx = ptx_entry(MAKE_LZ4);
    make_entry(&buf, &ptx);
    make_entry(&buf, &(struct made_entry){.kind = 2, .arch = 80, .major = 1, .minor = 7, .payload = view_of(&cubin)});
    end_container(&buf, at);
    nk_buf_free(&cubin);
    return buf;
}

// Walks to the end. The number of images; *result is the last answer of nk_fatbin_next, or -2 when begin refused.
static unsigned walk_all(struct nk_bytes bytes, int *result, struct nk_err *err)
{
    struct nk_fatbin walk;
    struct nk_entry_view entry;
    unsigned count = 0;
    *result = -2;
    if (nk_fatbin_begin(&walk, bytes, err)) return 0;
    while ((*result = nk_fatbin_next(&walk, &entry, err)) == 1) {
        assert_int_equal(entry.index, count);
        count++;
    }
    assert_int_equal(nk_fatbin_next(&walk, &entry, NULL), 0); // a walk that is over stays over
    return count;
}

static void images_come_in_order_with_the_facts_of_their_headers(void **state)
{
    (void)state;
    struct nk_buf buf = two_images();
    struct nk_fatbin walk;
    struct nk_entry_view entry;
    assert_int_equal(nk_fatbin_begin(&walk, view_of(&buf), NULL), 0);
    assert_int_equal(walk.claimed, buf.size);
    assert_int_equal(nk_fatbin_next(&walk, &entry, NULL), 1);
    assert_int_equal(entry.image.kind, NK_KIND_PTX);
    assert_int_equal(entry.image.arch, 90);
    assert_int_equal(entry.image.isa_major, 8);
    assert_int_equal(entry.image.isa_minor, 7);
    assert_int_equal(entry.image.codec, NK_CODEC_LZ4);
    assert_int_equal(entry.image.kernels, UINT32_MAX);
    assert_int_equal(entry.unpacked, sizeof ptx_text);
    assert_int_equal(entry.image.size, entry.payload.size);
    assert_text(entry.options, "--compile-only  ");
    assert_int_equal(nk_fatbin_next(&walk, &entry, NULL), 1);
    assert_int_equal(entry.image.kind, NK_KIND_CUBIN);
    assert_int_equal(entry.image.arch, 80);
    assert_int_equal(entry.image.codec, NK_CODEC_NONE);
    assert_int_equal(entry.unpacked, entry.payload.size);
    assert_int_equal(nk_fatbin_next(&walk, &entry, NULL), 0);
    nk_buf_free(&buf);
}

static void compressed_bytes_are_handed_out_without_their_padding(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    size_t at = begin_container(&buf);
    struct made_entry ptx = ptx_entry(MAKE_ZSTD);
    ptx.name = "a_file.cu";
    size_t entry_at = make_entry(&buf, &ptx);
    end_container(&buf, at);
    struct nk_fatbin walk;
    struct nk_entry_view entry;
    uint32_t packed = 0;
    nk_bytes_u32(view_of(&buf), entry_at + 16, &packed);
    assert_int_not_equal(packed % 8, 0); // else there is no padding and the test proves nothing
    nk_fatbin_begin(&walk, view_of(&buf), NULL);
    assert_int_equal(nk_fatbin_next(&walk, &entry, NULL), 1);
    assert_int_equal(entry.image.codec, NK_CODEC_ZSTD);
    assert_int_equal(entry.payload.size, packed);
    assert_text(entry.name, "a_file.cu");
    assert_text(entry.options, "--compile-only  ");
    nk_buf_free(&buf);
}

static struct nk_image image_with(uint16_t kind, uint64_t flags, uint16_t major, uint16_t minor)
{
    struct nk_buf buf = {0};
    struct nk_fatbin walk;
    struct nk_entry_view entry;
    size_t at = begin_container(&buf);
    make_entry(
        &buf,
        &(struct made_entry){
            .kind = kind, .arch = 120, .flags = flags, .major = major, .minor = minor, .payload = text_of("12345678")});
    end_container(&buf, at);
    assert_int_equal(nk_fatbin_begin(&walk, view_of(&buf), NULL), 0);
    assert_int_equal(nk_fatbin_next(&walk, &entry, NULL), 1);
    nk_buf_free(&buf);
    return entry.image;
}

static void the_suffix_comes_from_the_flags(void **state)
{
    (void)state;
    assert_int_equal(image_with(2, 0, 1, 8).suffix, 0);
    assert_int_equal(image_with(2, 0x100000, 1, 8).suffix, 'a');
    assert_int_equal(image_with(2, 0x1200000, 1, 8).suffix, 'f');
}

static void debug_scrambled_and_the_abi_come_from_the_header(void **state)
{
    (void)state;
    assert_int_equal(image_with(2, 2, 1, 7).flags, NK_IMAGE_DEBUG);
    assert_int_equal(image_with(2, 0, 1, 8).flags, NK_IMAGE_ABI8);
    assert_int_equal(image_with(8, 0x10000, 1, 65).flags, NK_IMAGE_SCRAMBLED);
    assert_int_equal(image_with(0x40, 0, 9, 0).kind, NK_KIND_PTX_LINK);
}

static void an_unknown_kind_or_codec_is_handed_out_as_unknown(void **state)
{
    (void)state;
    assert_int_equal(image_with(4, 0, 1, 7).kind, NK_KIND_UNKNOWN);
    assert_int_equal(image_with(0x1000, 0, 1, 7).kind, NK_KIND_UNKNOWN);
    struct nk_buf buf = {0};
    struct nk_fatbin walk;
    struct nk_entry_view entry;
    size_t at = begin_container(&buf);
    struct made_entry ptx = ptx_entry(MAKE_LZ4);
    ptx.flags = MAKE_ZSTD; // both at once
    size_t entry_at = make_entry(&buf, &ptx);
    end_container(&buf, at);
    nk_fatbin_begin(&walk, view_of(&buf), NULL);
    assert_int_equal(nk_fatbin_next(&walk, &entry, NULL), 1);
    assert_int_equal(entry.image.codec, NK_CODEC_UNKNOWN);
    patch(&buf, entry_at + 2, 0x0201, 2); // a header version that may mean other fields
    nk_fatbin_begin(&walk, view_of(&buf), NULL);
    assert_int_equal(nk_fatbin_next(&walk, &entry, NULL), 1);
    assert_int_equal(entry.image.kind, NK_KIND_UNKNOWN);
    nk_buf_free(&buf);
}

static void an_empty_container_has_no_images_and_is_no_error(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    int result;
    size_t at = begin_container(&buf);
    end_container(&buf, at);
    nk_buf_text(&buf, "what follows it");
    assert_int_equal(walk_all(view_of(&buf), &result, NULL), 0);
    assert_int_equal(result, 0);
    nk_buf_free(&buf);
}

static void a_container_cut_anywhere_gives_its_whole_images_and_a_sentence(void **state)
{
    (void)state;
    struct nk_buf buf = two_images();
    uint32_t header = 0;
    uint64_t stored = 0;
    nk_bytes_u32(view_of(&buf), 16 + 4, &header);
    nk_bytes_u64(view_of(&buf), 16 + 8, &stored);
    size_t first_end = 16 + header + (size_t)stored;
    for (size_t size = 0; size < buf.size; size++) {
        struct guarded cut = guard(buf.data, size);
        struct nk_err err = {0};
        int result;
        unsigned count = walk_all(cut.bytes, &result, &err);
        assert_int_equal(count, size >= first_end ? 1 : 0);
        assert_true(result < 0);
        assert_true(strlen(err.text) > 20);
        unguard(&cut);
    }
    nk_buf_free(&buf);
}

// One field of the second entry is made to lie: the first image is still handed out, then comes this sentence.
static void lie(uint32_t field, uint64_t value, size_t size, const char *words)
{
    struct nk_buf buf = {0};
    struct nk_err err = {0};
    int result;
    size_t at = begin_container(&buf);
    struct made_entry ptx = ptx_entry(MAKE_LZ4);
    ptx.name = "k.cu";
    make_entry(&buf, &ptx);
    size_t entry_at = make_entry(&buf, &ptx);
    end_container(&buf, at);
    assert_int_equal(walk_all(view_of(&buf), &result, NULL), 2);
    patch(&buf, entry_at + field, value, size);
    struct guarded copy = guard(buf.data, buf.size);
    assert_int_equal(walk_all(copy.bytes, &result, &err), 1);
    assert_int_equal(result, -1);
    assert_says(&err, words);
    unguard(&copy);
    nk_buf_free(&buf);
}

static void a_header_size_of_zero_ends_the_walk(void **state)
{
    (void)state;
    lie(4, 0, 4, "it says 0");
}

static void a_header_size_that_is_too_small_or_too_large_is_refused(void **state)
{
    (void)state;
    lie(4, 63, 4, "it says 63");
    lie(4, UINT32_MAX, 4, "it says 4294967295");
}

static void a_payload_size_beyond_the_container_is_refused(void **state)
{
    (void)state;
    lie(8, 1ull << 40, 8, "does not fit");
    lie(8, UINT64_MAX - 7, 8, "does not fit"); // would wrap
}

static void compressed_sizes_that_lie_are_refused(void **state)
{
    (void)state;
    lie(16, 0, 4, "its sizes are 0 and");
    lie(56, 0, 8, "and 0 bytes");
    lie(16, 100000, 4, "100000 compressed bytes were announced");
}

static void a_name_or_options_outside_the_header_are_refused(void **state)
{
    (void)state;
    lie(32, 1u << 31, 4, "its name");
    lie(36, 1000, 4, "its name");
    lie(20, UINT32_MAX - 3, 4, "its options");
    lie(72, 1u << 30, 4, "its options"); // the offset inside the record, which follows the name
}

static void a_container_header_that_lies_is_refused(void **state)
{
    (void)state;
    struct nk_buf buf = two_images();
    struct nk_fatbin walk;
    struct nk_err err;
    assert_int_equal(nk_fatbin_begin(&walk, nk_bytes(buf.data, 15), &err), -1);
    assert_says(&err, "only 15 bytes");
    patch(&buf, 4, 2, 2);
    assert_int_equal(nk_fatbin_begin(&walk, view_of(&buf), &err), -1);
    assert_int_equal(err.code, NK_ERR_UNSUPPORTED);
    assert_says(&err, "version 2");
    patch(&buf, 4, 1, 2);
    patch(&buf, 6, 8, 2);
    assert_int_equal(nk_fatbin_begin(&walk, view_of(&buf), &err), -1);
    assert_says(&err, "it says 8");
    patch(&buf, 0, 0x11111111, 4);
    assert_int_equal(nk_fatbin_begin(&walk, view_of(&buf), &err), -1);
    assert_says(&err, "starts with 0x11111111");
    nk_buf_free(&buf);
}

static void a_container_size_near_the_largest_number_hands_out_what_is_there(void **state)
{
    (void)state;
    struct nk_buf buf = two_images();
    struct nk_err err = {0};
    int result;
    patch(&buf, 8, UINT64_MAX, 8);
    assert_int_equal(walk_all(view_of(&buf), &result, &err), 2);
    assert_int_equal(result, -1);
    assert_says(&err, "only");
    nk_buf_free(&buf);
}

static void a_bare_cubin_and_bare_text_are_their_only_image(void **state)
{
    (void)state;
    struct nk_buf cubin = {0};
    struct nk_fatbin walk;
    struct nk_entry_view entry;
    make_cubin(&cubin, &(struct made_cubin){.sm = 86, .relocatable = true, .kernels = {{"k", 128, 0, 0, 0}}});
    assert_int_equal(nk_fatbin_begin(&walk, view_of(&cubin), NULL), 0);
    assert_int_equal(nk_fatbin_next(&walk, &entry, NULL), 1);
    assert_int_equal(entry.image.kind, NK_KIND_CUBIN);
    assert_int_equal(entry.image.arch, 86);
    assert_int_equal(entry.image.flags, NK_IMAGE_BARE | NK_IMAGE_RELOCATABLE);
    assert_int_equal(nk_fatbin_next(&walk, &entry, NULL), 0);
    assert_int_equal(nk_fatbin_begin(&walk, nk_bytes(ptx_text, sizeof ptx_text), NULL), 0);
    assert_int_equal(nk_fatbin_next(&walk, &entry, NULL), 1);
    assert_int_equal(entry.image.kind, NK_KIND_PTX);
    assert_int_equal(entry.image.arch, 90);
    assert_int_equal(entry.image.flags, NK_IMAGE_BARE);
    nk_buf_free(&cubin);
}

// ---- concatenated entries

static struct nk_buf concatenated(struct nk_buf *list, uint32_t count, size_t *entry_at)
{
    struct nk_buf buf = {0}, record = {0};
    char payload[300];
    memset(payload, 'p', sizeof payload);
    put(&record, count, 4);
    put(&record, list->size + 8, 4);
    nk_buf_add(&record, list->data, list->size);
    size_t at = begin_container(&buf);
    *entry_at = make_entry(&buf, &(struct made_entry){.kind = 0x100,
                                                      .minor = 1,
                                                      .codec = MAKE_ZSTD,
                                                      .payload = nk_bytes(payload, sizeof payload),
                                                      .list = view_of(&record)});
    make_entry(&buf, &(struct made_entry){.kind = 2, .arch = 50, .payload = text_of("12345678")});
    end_container(&buf, at);
    nk_buf_free(&record);
    return buf;
}

static struct nk_buf list_of_three(void)
{
    struct nk_buf list = {0};
    make_part(&list, 1, 75, 0, 0, 100, "");
    make_part(&list, 1, 100, 0x100000, 100, 120, "twelve chars");
    make_part(&list, 1, 120, 0x1200000, 220, 80, NULL);
    return list;
}

static void the_images_of_a_concatenated_entry_come_one_by_one(void **state)
{
    (void)state;
    struct nk_buf list = list_of_three();
    size_t entry_at;
    struct nk_buf buf = concatenated(&list, 3, &entry_at);
    struct nk_fatbin walk;
    struct nk_entry_view entry[4];
    struct nk_err err = {0};
    int result;
    nk_fatbin_begin(&walk, view_of(&buf), NULL);
    for (int i = 0; i < 4; i++) assert_int_equal(nk_fatbin_next(&walk, &entry[i], &err), 1);
    assert_int_equal(entry[1].image.kind, NK_KIND_PTX);
    assert_int_equal(entry[1].image.arch, 100);
    assert_int_equal(entry[1].image.suffix, 'a');
    assert_int_equal(entry[1].image.codec, NK_CODEC_ZSTD);
    assert_int_equal(entry[1].image.flags, NK_IMAGE_CONCATENATED);
    assert_int_equal(entry[1].part, 100);
    assert_int_equal(entry[1].part_size, 120);
    assert_int_equal(entry[1].unpacked, 300);
    assert_text(entry[1].options, "twelve chars");
    assert_int_equal(entry[2].image.suffix, 'f');
    assert_int_equal(entry[3].image.arch, 50);
    assert_int_equal(entry[3].image.flags, 0);
    assert_int_equal(walk_all(view_of(&buf), &result, NULL), 4);
    assert_int_equal(result, 0);
    nk_buf_free(&buf);
    nk_buf_free(&list);
}

static void a_concatenated_list_that_lies_is_refused(void **state)
{
    (void)state;
    struct nk_buf list = list_of_three();
    size_t entry_at;
    int result;
    struct nk_err err = {0};
    struct nk_buf buf = concatenated(&list, 1000000, &entry_at);
    assert_int_equal(walk_all(view_of(&buf), &result, &err), 3);
    assert_int_equal(result, -1);
    assert_says(&err, "its header lies outside");
    patch(&buf, entry_at + 64, 3, 4);
    patch(&buf, entry_at + 68, 1u << 20, 4); // the size of the list
    assert_int_equal(walk_all(view_of(&buf), &result, &err), 0);
    assert_says(&err, "outside its header");
    patch(&buf, entry_at + 68, list.size + 8, 4);
    patch(&buf, entry_at + 72 + 8, 301, 8); // bytes of the first image
    assert_int_equal(walk_all(view_of(&buf), &result, &err), 0);
    assert_says(&err, "301 bytes at 0 lie outside the 300 bytes");
    patch(&buf, entry_at + 72 + 8, 100, 8);
    patch(&buf, entry_at + 20, 0, 4); // no list at all
    assert_int_equal(walk_all(view_of(&buf), &result, &err), 0);
    assert_int_equal(result, -1);
    nk_buf_free(&buf);
    nk_buf_free(&list);
}

static void an_empty_concatenated_list_is_skipped(void **state)
{
    (void)state;
    struct nk_buf list = {0};
    size_t entry_at;
    int result;
    struct nk_buf buf = concatenated(&list, 0, &entry_at);
    assert_int_equal(walk_all(view_of(&buf), &result, NULL), 1);
    assert_int_equal(result, 0);
    nk_buf_free(&buf);
}

static void just_walk(struct nk_bytes bytes)
{
    int result;
    assert_true(walk_all(bytes, &result, NULL) < 100);
}

static void any_bit_may_be_wrong_without_harm(void **state)
{
    (void)state;
    struct nk_buf list = list_of_three(), buf = two_images();
    size_t entry_at;
    for_all_flips(&buf, just_walk);
    nk_buf_free(&buf);
    buf = concatenated(&list, 3, &entry_at);
    for_all_flips(&buf, just_walk);
    for_all_cuts(&buf, just_walk);
    nk_buf_free(&buf);
    nk_buf_free(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_come_in_order_with_the_facts_of_their_headers),
        cmocka_unit_test(compressed_bytes_are_handed_out_without_their_padding),
        cmocka_unit_test(the_suffix_comes_from_the_flags),
        cmocka_unit_test(debug_scrambled_and_the_abi_come_from_the_header),
        cmocka_unit_test(an_unknown_kind_or_codec_is_handed_out_as_unknown),
        cmocka_unit_test(an_empty_container_has_no_images_and_is_no_error),
        cmocka_unit_test(a_container_cut_anywhere_gives_its_whole_images_and_a_sentence),
        cmocka_unit_test(a_header_size_of_zero_ends_the_walk),
        cmocka_unit_test(a_header_size_that_is_too_small_or_too_large_is_refused),
        cmocka_unit_test(a_payload_size_beyond_the_container_is_refused),
        cmocka_unit_test(compressed_sizes_that_lie_are_refused),
        cmocka_unit_test(a_name_or_options_outside_the_header_are_refused),
        cmocka_unit_test(a_container_header_that_lies_is_refused),
        cmocka_unit_test(a_container_size_near_the_largest_number_hands_out_what_is_there),
        cmocka_unit_test(a_bare_cubin_and_bare_text_are_their_only_image),
        cmocka_unit_test(the_images_of_a_concatenated_entry_come_one_by_one),
        cmocka_unit_test(a_concatenated_list_that_lies_is_refused),
        cmocka_unit_test(an_empty_concatenated_list_is_skipped),
        cmocka_unit_test(any_bit_may_be_wrong_without_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
