// test_image_ptx.c - version, target and kernels of PTX text.
#include "test_image_maker.h"

#include "image/ptx.h"

static struct nk_ptx_head head_of(const char *text)
{
    struct nk_ptx_head head;
    struct nk_err err = {0};
    if (nk_ptx_read_head(text_of(text), &head, &err)) fail_msg("%s", err.text);
    return head;
}

static void version_and_target_are_read_below_comments_and_blank_lines(void **state)
{
    (void)state;
    struct nk_ptx_head head = head_of("\n\n\n\n\n\n\n\n.version 9.0\n.target sm_120f\n.address_size 64\n");
    assert_int_equal(head.isa_major, 9);
    assert_int_equal(head.isa_minor, 0);
    assert_int_equal(head.arch, 120);
    assert_int_equal(head.suffix, 'f');
    assert_false(head.debug);
    head = head_of("/* .version 1.0 */" PTX_HEAD("8.7", "sm_90a"));
    assert_int_equal(head.isa_minor, 7);
    assert_int_equal(head.arch, 90);
    assert_int_equal(head.suffix, 'a');
}

static void a_debug_target_is_seen(void **state)
{
    (void)state;
    assert_true(head_of(".version 8.0\n.target sm_75, debug\n").debug);
    assert_true(head_of(".version 3.0\n.target sm_20, texmode_independent, debug\n").debug);
    assert_false(head_of(".version 3.0\n.target sm_20, texmode_independent\n// debug\n").debug);
}

static void refused(const char *text, const char *words)
{
    struct nk_ptx_head head;
    struct nk_err err = {0};
    assert_int_equal(nk_ptx_read_head(text_of(text), &head, &err), -1);
    assert_says(&err, words);
}

static void text_without_version_or_target_is_refused(void **state)
{
    (void)state;
    refused("", "start with .version");
    refused("hello", "start with .version");
    refused(".version nine", "a number such as 8.7");
    refused(".version 999.0\n.target sm_90\n", "a number such as 8.7");
    refused(".version 8.7\n.address_size 64\n", "name its .target");
    refused(".version 8.7\n.target compute_90\n", "such as sm_90");
    refused(".version 8.7\n.target sm_99999999999\n", "such as sm_90");
    refused(".version 8.7\n.target sm_90x\n", "ends with 'x'");
}

static void text_is_told_from_other_files(void **state)
{
    (void)state;
    assert_true(nk_ptx_looks(text_of(PTX_HEAD("8.7", "sm_90"))));
    assert_false(nk_ptx_looks(text_of("a .version 8.7")));
    assert_false(nk_ptx_looks(text_of(".versions 8.7")));
    assert_false(nk_ptx_looks(text_of("")));
    assert_false(nk_ptx_looks(text_of("/* never closed")));
}

// The names of all kernels, each followed by a blank.
static struct nk_buf names_of(struct nk_bytes text)
{
    struct nk_buf names = {0};
    struct nk_ptx_entries walk;
    struct nk_ptx_entry entry;
    nk_ptx_entries_begin(&walk, text);
    while (nk_ptx_entries_next(&walk, &entry)) {
        nk_buf_add(&names, entry.name.data, entry.name.size);
        nk_buf_text(&names, " ");
    }
    assert_false(nk_ptx_entries_next(&walk, &entry));
    nk_buf_text(&names, "");
    return names;
}

static void assert_names(const char *text, const char *expected)
{
    struct nk_buf names = names_of(text_of(text));
    assert_string_equal(names.data ? names.data : "", expected);
    nk_buf_free(&names);
}

static void kernels_are_found_with_every_kind_of_linkage(void **state)
{
    (void)state;
    assert_names(
        PTX_HEAD("8.7", "sm_90") ".entry plain\n{\nret;\n}\n.visible .entry _Z3fooPf(\n.param .u64 p\n)\n.maxntid "
                                 "256, 1, 1\n{\n{ ret; }\n}\n.weak\t.entry $w\n(){}\n.func g(){}\n",
        "plain _Z3fooPf $w ");
}

static void words_in_comments_and_strings_are_no_kernels(void **state)
{
    (void)state;
    assert_names("// .entry no1()\n/* .entry no2()\n.entry no3() */ .file 1 \".entry no4\"\n.entry /* here */ yes(){}\n"
                 ".entrypoint no5 x.entry no6\n",
                 "yes ");
}

static void a_brace_in_a_comment_does_not_end_a_body(void **state)
{
    (void)state;
    assert_names(".entry a(){ // }\n .entry inner(){} \n /* } */ }\n.entry b(){}\n", "a b ");
}

static void the_body_of_a_kernel_is_what_stands_between_its_braces(void **state)
{
    (void)state;
    struct nk_ptx_entries walk;
    struct nk_ptx_entry entry;
    nk_ptx_entries_begin(&walk, text_of(".entry a();\n.entry a(){\n{x;}ret;\n}\n.entry b(){ never closed"));
    assert_true(nk_ptx_entries_next(&walk, &entry));
    assert_null(entry.body.data); // a declaration
    assert_true(nk_ptx_entries_next(&walk, &entry));
    assert_text(entry.body, "\n{x;}ret;\n");
    assert_true(nk_ptx_entries_next(&walk, &entry));
    assert_null(entry.body.data);
    assert_false(nk_ptx_entries_next(&walk, &entry));
}

static void a_final_nul_may_be_there_or_not(void **state)
{
    (void)state;
    static const char text[] = ".entry a(){}\0\0\0.entry behind(){}";
    struct nk_buf names = names_of(nk_bytes(text, sizeof text));
    assert_string_equal(names.data, "a ");
    nk_buf_free(&names);
    assert_names(".entry last", "last ");
}

static void use_all(struct nk_bytes bytes)
{
    struct nk_ptx_head head;
    nk_ptx_looks(bytes);
    nk_ptx_read_head(bytes, &head, NULL);
    struct nk_buf names = names_of(bytes);
    assert_true(names.size < 64);
    nk_buf_free(&names);
}

static void text_cut_anywhere_or_with_any_bit_wrong_is_read_without_harm(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    nk_buf_text(&buf, "/* c */" PTX_HEAD(
                          "8.7", "sm_90a") ".file 1 \"a/b\"\n.visible .entry k(.param .u64 p){ { ret; } } // end");
    for_all_cuts(&buf, use_all);
    for_all_flips(&buf, use_all);
    nk_buf_free(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_and_target_are_read_below_comments_and_blank_lines),
        cmocka_unit_test(a_debug_target_is_seen),
        cmocka_unit_test(text_without_version_or_target_is_refused),
        cmocka_unit_test(text_is_told_from_other_files),
        cmocka_unit_test(kernels_are_found_with_every_kind_of_linkage),
        cmocka_unit_test(words_in_comments_and_strings_are_no_kernels),
        cmocka_unit_test(a_brace_in_a_comment_does_not_end_a_body),
        cmocka_unit_test(the_body_of_a_kernel_is_what_stands_between_its_braces),
        cmocka_unit_test(a_final_nul_may_be_there_or_not),
        cmocka_unit_test(text_cut_anywhere_or_with_any_bit_wrong_is_read_without_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
