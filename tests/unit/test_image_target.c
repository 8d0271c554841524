// test_image_target.c - what the first bytes of an image say against its header.
#include "test_image_maker.h"

#include "image/target.h"

// Packs `made` into a container and asks; *result is the answer. The header's own image is in *before.
static struct nk_image checked(const struct made_entry *made, int *result, struct nk_err *err)
{
    struct nk_buf buf = {0};
    struct nk_fatbin walk;
    struct nk_entry_view entry;
    size_t at = begin_container(&buf);
    make_entry(&buf, made);
    end_container(&buf, at);
    assert_int_equal(nk_fatbin_begin(&walk, view_of(&buf), NULL), 0);
    assert_int_equal(nk_fatbin_next(&walk, &entry, NULL), 1);
    *result = nk_image_check_target(&entry, err);
    nk_buf_free(&buf);
    return entry.image;
}

static const char long_ptx[] =
    PTX_HEAD("8.3", "sm_90a") "// a long text follows, and is not decoded ............................";

static struct made_entry ptx(uint32_t codec)
{
    return (struct made_entry){
        .kind = 1, .arch = 90, .major = 8, .minor = 3, .codec = codec, .payload = nk_bytes(long_ptx, sizeof long_ptx)};
}

static void the_target_of_the_text_wins_over_the_header(void **state)
{
    (void)state;
    static const uint32_t codecs[] = {MAKE_STORED, MAKE_LZ4, MAKE_ZSTD};
    for (size_t i = 0; i < 3; i++) {
        struct made_entry made = ptx(codecs[i]);
        int result;
        struct nk_image image = checked(&made, &result, NULL);
        assert_int_equal(result, 0);
        assert_int_equal(image.arch, 90);
        assert_int_equal(image.suffix, 'a');
        assert_true(image.flags & NK_IMAGE_TARGET_LIED);
    }
}

static void a_header_that_is_right_is_not_called_a_liar(void **state)
{
    (void)state;
    struct made_entry made = ptx(MAKE_ZSTD);
    int result;
    made.flags = 0x100000;
    struct nk_image image = checked(&made, &result, NULL);
    assert_int_equal(result, 0);
    assert_false(image.flags & NK_IMAGE_TARGET_LIED);
    assert_int_equal(image.suffix, 'a');
}

static void the_version_of_the_text_wins_too(void **state)
{
    (void)state;
    struct made_entry made = ptx(MAKE_LZ4);
    int result;
    made.major = 7;
    made.minor = 0;
    made.kind = NK_KIND_PTX_LINK;
    struct nk_image image = checked(&made, &result, NULL);
    assert_int_equal(image.isa_major, 8);
    assert_int_equal(image.isa_minor, 3);
    assert_int_equal(image.kind, NK_KIND_PTX_LINK);
}

static void a_cubin_says_whether_it_is_relocatable(void **state)
{
    (void)state;
    struct nk_buf cubin = {0};
    int result;
    make_cubin(&cubin, &(struct made_cubin){.sm = 100, .abi8 = true, .relocatable = true});
    struct nk_image image = checked(
        &(struct made_entry){
            .kind = 2, .arch = 100, .major = 1, .minor = 7, .codec = MAKE_ZSTD, .payload = view_of(&cubin)},
        &result, NULL);
    assert_int_equal(result, 0);
    assert_int_equal(image.flags, NK_IMAGE_RELOCATABLE | NK_IMAGE_ABI8);
    nk_buf_free(&cubin);
}

static void bytes_that_are_not_what_the_header_says_are_marked_as_damaged(void **state)
{
    (void)state;
    struct nk_err err = {0};
    int result;
    struct made_entry made = ptx(MAKE_ZSTD);
    made.kind = 2;
    struct nk_image image = checked(&made, &result, &err);
    assert_int_equal(result, -1);
    assert_says(&err, "an ELF file was expected");
    assert_true(image.flags & NK_IMAGE_DAMAGED);
    assert_int_equal(image.arch, 90);
    made.kind = 1;
    made.payload = text_of("no PTX");
    image = checked(&made, &result, &err);
    assert_int_equal(result, -1);
    assert_true(image.flags & NK_IMAGE_DAMAGED);
}

static void an_unknown_codec_is_no_damage(void **state)
{
    (void)state;
    struct made_entry made = ptx(MAKE_LZ4);
    struct nk_err err = {0};
    int result;
    made.flags = MAKE_ZSTD;
    struct nk_image image = checked(&made, &result, &err);
    assert_int_equal(result, -1);
    assert_int_equal(err.code, NK_ERR_UNSUPPORTED);
    assert_false(image.flags & NK_IMAGE_DAMAGED);
}

static void other_kinds_are_left_alone(void **state)
{
    (void)state;
    int result;
    struct nk_image image = checked(
        &(struct made_entry){.kind = 8, .arch = 80, .flags = 0x10000, .payload = text_of("scramble")}, &result, NULL);
    assert_int_equal(result, 0);
    assert_int_equal(image.flags, NK_IMAGE_SCRAMBLED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_target_of_the_text_wins_over_the_header),
        cmocka_unit_test(a_header_that_is_right_is_not_called_a_liar),
        cmocka_unit_test(the_version_of_the_text_wins_too),
        cmocka_unit_test(a_cubin_says_whether_it_is_relocatable),
        cmocka_unit_test(bytes_that_are_not_what_the_header_says_are_marked_as_damaged),
        cmocka_unit_test(an_unknown_codec_is_no_damage),
        cmocka_unit_test(other_kinds_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
