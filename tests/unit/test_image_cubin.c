// test_image_cubin.c - architecture and kernels of cubins made by hand.
#include "test_image_maker.h"

#include "image/cubin.h"

static struct nk_cubin opened(struct nk_buf *buf, const struct made_cubin *made)
{
    struct nk_cubin cubin;
    nk_buf_clear(buf);
    make_cubin(buf, made);
    assert_int_equal(nk_cubin_open(&cubin, view_of(buf), NULL), 0);
    return cubin;
}

static void the_sm_number_stands_in_other_bits_in_either_abi(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    struct nk_cubin cubin = opened(&buf, &(struct made_cubin){.sm = 89});
    assert_int_equal(cubin.arch, 89);
    assert_false(cubin.abi8);
    // 06 and 04 are what CUDA 13.0 writes around it.
    cubin = opened(&buf, &(struct made_cubin){.sm = 120, .abi8 = true, .more_flags = 0x06000004});
    assert_int_equal(cubin.arch, 120);
    assert_true(cubin.abi8);
    assert_int_equal(cubin.suffix, 0);
    nk_buf_free(&buf);
}

static void an_a_target_is_seen_in_the_flags_of_abi_7(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    assert_int_equal(opened(&buf, &(struct made_cubin){.sm = 90, .more_flags = 0xd00}).suffix, 'a');
    assert_int_equal(opened(&buf, &(struct made_cubin){.sm = 90, .more_flags = 0x500}).suffix, 0);
    nk_buf_free(&buf);
}

static void an_a_target_is_seen_in_the_flags_of_cuda_12_8(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    assert_int_equal(opened(&buf, &(struct made_cubin){.sm = 100, .abi8 = true, .more_flags = 0x0600000a}).suffix, 'a');
    nk_buf_free(&buf);
}

static void an_a_target_is_seen_in_the_compat_section_of_cuda_13(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    static const char yes[] = "\x04\x07\x03\0abc\2\x05\1\0\2\x09\1\0", no[] = "\2\x09\0\0",
                      lies[] = "\x04\x09\1\0\1\x04\x09\xff\xff";
    struct made_cubin made = {
        .sm = 100, .abi8 = true, .extra = {".nv.compat", 0x70000086, yes, sizeof yes - 1, 0, 0, 0, 0}};
    assert_int_equal(opened(&buf, &made).suffix, 'a');
    made.extra.data = no;
    made.extra.size = sizeof no - 1;
    assert_int_equal(opened(&buf, &made).suffix, 0);
    made.extra.data = lies; // the attribute as a block, and one that reaches beyond the section
    made.extra.size = sizeof lies - 1;
    assert_int_equal(opened(&buf, &made).suffix, 0);
    nk_buf_free(&buf);
}

static void an_f_target_is_seen_in_the_note_of_the_tools(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    static const char note[] = "ptxas\0-arch sm_120f -m 64 ";
    struct made_cubin made = {.sm = 120, .abi8 = true, .extra = {".note.nv.tkinfo", 7, note, sizeof note, 0, 0, 0, 0}};
    assert_int_equal(opened(&buf, &made).suffix, 'f');
    made.sm = 121;
    assert_int_equal(opened(&buf, &made).suffix, 0);
    nk_buf_free(&buf);
}

static void sixty_four_bytes_are_enough_for_architecture_and_kind(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    struct nk_image image;
    make_cubin(&buf, &(struct made_cubin){.sm = 75, .abi8 = true, .relocatable = true});
    assert_int_equal(nk_cubin_image(nk_bytes(buf.data, 64), &image, NULL), 0);
    assert_int_equal(image.arch, 75);
    assert_int_equal(image.flags, NK_IMAGE_ABI8 | NK_IMAGE_RELOCATABLE);
    assert_int_equal(image.kernels, UINT32_MAX);
    nk_buf_free(&buf);
}

static void a_host_library_is_no_cubin(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    struct nk_cubin cubin;
    struct nk_err err;
    make_elf(&buf, &(struct made_elf){.machine = 62});
    assert_int_equal(nk_cubin_open(&cubin, view_of(&buf), &err), -1);
    assert_says(&err, "machine 62");
    nk_buf_free(&buf);
}

static void only_functions_marked_as_entries_are_kernels(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    struct nk_cubin_kernels walk;
    struct nk_cubin_kernel kernel;
    struct nk_cubin cubin = opened(&buf, &(struct made_cubin){.sm = 90,
                                                              .kernels = {{"device_function", 64, 0x12, 0x80, 0},
                                                                          {"first", 640, 0x12, 0x10, 5},
                                                                          {"a_section", 0, 0x03, 0x10, 0},
                                                                          {"hidden", 128, 0x02, 0x90, 6}}});
    assert_int_equal(nk_cubin_kernels_begin(&cubin, &walk, NULL), 0);
    assert_int_equal(nk_cubin_kernels_next(&walk, &kernel, NULL), 1);
    assert_text(kernel.name, "first");
    assert_int_equal(kernel.size, 640);
    assert_false(kernel.local);
    assert_int_equal(nk_cubin_kernels_next(&walk, &kernel, NULL), 1);
    assert_text(kernel.name, "hidden");
    assert_true(kernel.local);
    assert_int_equal(nk_cubin_kernels_next(&walk, &kernel, NULL), 0);
    nk_buf_free(&buf);
}

static void a_kernel_name_outside_the_string_table_is_refused(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    struct nk_cubin_kernels walk;
    struct nk_cubin_kernel kernel;
    struct nk_err err;
    opened(&buf, &(struct made_cubin){.sm = 90, .kernels = {{"one", 128, 0, 0, 0}, {"two", 128, 0, 0, 0}}});
    // The string table is 9 bytes at 64, so the symbols start at 80; the third is "two".
    patch(&buf, 80 + 48, 0xfffffff0, 4);
    struct nk_cubin cubin;
    assert_int_equal(nk_cubin_open(&cubin, view_of(&buf), NULL), 0);
    assert_int_equal(nk_cubin_kernels_begin(&cubin, &walk, NULL), 0);
    assert_int_equal(nk_cubin_kernels_next(&walk, &kernel, NULL), 1);
    assert_int_equal(nk_cubin_kernels_next(&walk, &kernel, &err), -1);
    assert_says(&err, "symbol 2 is a kernel");
    nk_buf_free(&buf);
}

static void use_all(struct nk_bytes bytes)
{
    struct nk_cubin cubin;
    struct nk_cubin_kernels walk;
    struct nk_cubin_kernel kernel;
    unsigned count = 0;
    if (nk_cubin_open(&cubin, bytes, NULL) || nk_cubin_kernels_begin(&cubin, &walk, NULL)) return;
    while (nk_cubin_kernels_next(&walk, &kernel, NULL) == 1) count++;
    assert_true(count <= 4);
}

static void a_cubin_cut_anywhere_or_with_any_bit_wrong_is_read_without_harm(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    opened(&buf, &(struct made_cubin){.sm = 100,
                                      .abi8 = true,
                                      .kernels = {{"one", 128, 0, 0, 0}, {"two", 64, 0, 0, 0}},
                                      .extra = {".nv.compat", 0x70000086, "\2\x09\1\0", 4, 0, 0, 0, 0}});
    for_all_cuts(&buf, use_all);
    for_all_flips(&buf, use_all);
    nk_buf_free(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sm_number_stands_in_other_bits_in_either_abi),
        cmocka_unit_test(an_a_target_is_seen_in_the_flags_of_abi_7),
        cmocka_unit_test(an_a_target_is_seen_in_the_flags_of_cuda_12_8),
        cmocka_unit_test(an_a_target_is_seen_in_the_compat_section_of_cuda_13),
        cmocka_unit_test(an_f_target_is_seen_in_the_note_of_the_tools),
        cmocka_unit_test(sixty_four_bytes_are_enough_for_architecture_and_kind),
        cmocka_unit_test(a_host_library_is_no_cubin),
        cmocka_unit_test(only_functions_marked_as_entries_are_kernels),
        cmocka_unit_test(a_kernel_name_outside_the_string_table_is_refused),
        cmocka_unit_test(a_cubin_cut_anywhere_or_with_any_bit_wrong_is_read_without_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
