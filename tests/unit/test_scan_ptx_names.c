// test_scan_ptx_names.c - kernels of PTX text: the same as the careful reader says, or "cannot tell".
#include "test_image_maker.h"

#include "image/ptx.h"
#include "scan/ptx_names.h"

static int note(const struct nk_kernel_view *kernel, void *user)
{
    nk_buf_format(user, "%.*s%s ", (int)kernel->name.size, (const char *)kernel->name.data,
                  kernel->bare_return ? "!" : "");
    return 0;
}

static void assert_names(const char *text, const char *expected)
{
    struct nk_buf whole = {0}, out = {0};
    nk_buf_text(&whole, PTX_HEAD("8.0", "sm_80"));
    nk_buf_text(&whole, text);
    nk_buf_text(&out, "");
    struct guarded copy = guard(whole.data, whole.size);
    if (nk_ptx_names(copy.bytes, note, &out) < 0) nk_buf_text(&out, "cannot tell");
    assert_string_equal(out.data, expected);
    unguard(&copy);
    nk_buf_free(&whole);
    nk_buf_free(&out);
}

static void kernels_are_named_in_their_order(void **state)
{
    (void)state;
    assert_names(
        ".visible .entry _Z1aPf(\n\t.param .u64 p\n)\n.maxntid 128, 1, 1\n{\n\tst.global.f32 [%rd2], %f1;\n\tret;\n}\n"
        ".weak .entry b()\n{\n\tret;\n\n}\n.entry c$1()\n{\n}\n",
        "_Z1aPf b! c$1! ");
}

static void a_declaration_is_named_and_is_not_bare(void **state)
{
    (void)state;
    assert_names(".extern .entry a(.param .u64 p);\n", "a ");
}

static void a_text_without_kernels_has_none(void **state)
{
    (void)state;
    assert_names(".visible .func f()\n{\n\tret;\n}\n", "");
}

static void an_entry_in_a_comment_or_a_string_is_not_guessed(void **state)
{
    (void)state;
    assert_names("// the .entry of it\n", "cannot tell");
    assert_names("/* a comment */\n.entry a()\n{\n}\n", "cannot tell");
    assert_names(".file 1 \"a.entry b\"\n", "cannot tell");
    assert_names(".entry a( // said\n)\n{\n}\n", "cannot tell");
}

static void a_text_that_ends_early_is_not_guessed(void **state)
{
    (void)state;
    assert_names(".entry", "cannot tell");
    assert_names(".entry a", "cannot tell");
    assert_names(".entry a()", "cannot tell");
    assert_names(".entry a()\n{", "a ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_named_in_their_order),
        cmocka_unit_test(a_declaration_is_named_and_is_not_bare),
        cmocka_unit_test(a_text_without_kernels_has_none),
        cmocka_unit_test(an_entry_in_a_comment_or_a_string_is_not_guessed),
        cmocka_unit_test(a_text_that_ends_early_is_not_guessed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
