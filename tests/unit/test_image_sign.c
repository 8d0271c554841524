// test_image_sign.c - signs of device code are found wherever they begin, and nothing else is.
#include "test_image_maker.h"

#include "image/sign.h"

static const struct {
    const char *bytes;
    size_t size;
    enum nk_sign sign;
} signs[] = {
    {"\x50\xed\x55\xba\x01\x00\x10\x00", 8, NK_SIGN_CONTAINER},
    {"\177ELF\2\1\1\63\7\0\0\0\0\0\0\0\2\0\276\0", 20, NK_SIGN_CUBIN},
    {"fatbin", 7, NK_SIGN_NAME},
};
enum { ALL = NK_SIGN_CONTAINER | NK_SIGN_CUBIN | NK_SIGN_NAME };

static void every_sign_is_found_at_every_place_up_to_the_last_byte(void **state)
{
    (void)state;
    for (size_t s = 0; s < 3; s++)
        for (size_t before = 0; before < 150; before++)
            for (size_t after = 0; after < 70; after += 23) {
                struct nk_buf buf = {0};
                nk_buf_fill(&buf, 'f', before); // the first byte of one of them, over and over
                nk_buf_add(&buf, signs[s].bytes, signs[s].size);
                nk_buf_fill(&buf, 'P', after);
                struct guarded copy = guard(buf.data, buf.size);
                enum nk_sign sign = NK_SIGN_NONE;
                assert_int_equal(nk_sign_next(copy.bytes, 0, copy.bytes.size, ALL, &sign), before);
                assert_int_equal(sign, signs[s].sign);
                assert_int_equal(nk_sign_next(copy.bytes, before + 1, copy.bytes.size, ALL, &sign), copy.bytes.size);
                assert_int_equal(sign, NK_SIGN_NONE);
                unguard(&copy);
                nk_buf_free(&buf);
            }
}

static void only_the_signs_that_are_wanted_are_found(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    for (size_t s = 0; s < 3; s++) nk_buf_add(&buf, signs[s].bytes, signs[s].size);
    enum nk_sign sign;
    assert_int_equal(nk_sign_next(view_of(&buf), 0, buf.size, NK_SIGN_NAME, &sign), 28);
    assert_int_equal(nk_sign_next(view_of(&buf), 0, buf.size, NK_SIGN_CUBIN, &sign), 8);
    assert_int_equal(nk_sign_next(view_of(&buf), 1, buf.size, NK_SIGN_CONTAINER, &sign), buf.size);
    nk_buf_free(&buf);
}

static void a_sign_may_reach_beyond_the_end_of_the_search_but_not_begin_there(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    nk_buf_fill(&buf, 0, 40);
    nk_buf_add(&buf, signs[0].bytes, signs[0].size);
    enum nk_sign sign;
    assert_int_equal(nk_sign_next(view_of(&buf), 0, 41, ALL, &sign), 40);
    assert_int_equal(sign, NK_SIGN_CONTAINER);
    assert_int_equal(nk_sign_next(view_of(&buf), 0, 40, ALL, &sign), 40);
    assert_int_equal(sign, NK_SIGN_NONE);
    nk_buf_free(&buf);
}

static void an_elf_file_of_another_machine_is_no_sign(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    enum nk_sign sign;
    nk_buf_add(&buf, signs[1].bytes, signs[1].size);
    buf.data[18] = 62; // x86-64
    assert_int_equal(nk_sign_next(view_of(&buf), 0, buf.size, ALL, &sign), buf.size);
    nk_buf_free(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sign_is_found_at_every_place_up_to_the_last_byte),
        cmocka_unit_test(only_the_signs_that_are_wanted_are_found),
        cmocka_unit_test(a_sign_may_reach_beyond_the_end_of_the_search_but_not_begin_there),
        cmocka_unit_test(an_elf_file_of_another_machine_is_no_sign),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
