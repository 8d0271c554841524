// test_scan_prefix.c - kernels from the beginning of a cubin: the same as from the whole, or "cannot tell".
#include "test_image_maker.h"
#include "test_ptxas_maker.h"

#include "scan/prefix.h"

static int note(const struct nk_kernel_view *kernel, void *user)
{
    nk_buf_format(user, "%.*s=%llu ", (int)kernel->name.size, (const char *)kernel->name.data,
                  (unsigned long long)kernel->body);
    return 0;
}

// "name=size " of all kernels, or "cannot tell". `codec` is MAKE_*.
static void read_text(struct nk_bytes cubin, uint32_t codec, struct nk_buf *out, size_t *decoded)
{
    struct nk_buf container = {0};
    struct nk_fatbin walk;
    struct nk_entry_view entry;
    struct nk_partial partial = {0};
    struct nk_prefix_head head;
    size_t at = begin_container(&container);
    make_entry(&container, &(struct made_entry){.kind = 2, .arch = 80, .codec = codec, .payload = cubin});
    end_container(&container, at);
    nk_buf_clear(out);
    nk_buf_text(out, "");
    struct guarded copy = guard(container.data, container.size);
    assert_int_equal(nk_fatbin_begin(&walk, copy.bytes, NULL), 0);
    if (nk_fatbin_next(&walk, &entry, NULL) == 1 && nk_prefix_kernels(&partial, &entry, note, out, &head) < 0)
        nk_buf_text(out, "cannot tell");
    if (decoded) *decoded = partial.have;
    nk_partial_free(&partial);
    nk_buf_free(&container);
    unguard(&copy);
}

static void assert_kernels(const struct made_kernel *kernels, const struct layout *layout, const char *expected)
{
    struct nk_buf cubin = {0}, text = {0};
    make_ptxas(&cubin, kernels, layout);
    for (uint32_t codec = 0, i = 0; i < 3; codec = (const uint32_t[]){MAKE_LZ4, MAKE_ZSTD, 0}[i], i++) {
        read_text(view_of(&cubin), codec, &text, NULL);
        assert_string_equal(text.data, expected);
    }
    nk_buf_free(&cubin);
    nk_buf_free(&text);
}

static const struct made_kernel two[] = {{.name = "_Z5firstPf", .size = 640}, {.name = "second", .size = 128}, {0}};

static void kernels_and_sizes_are_read_from_the_beginning(void **state)
{
    (void)state;
    assert_kernels(two, &(struct layout){0}, "_Z5firstPf=640 second=128 ");
}

static void a_gap_before_the_strings_does_no_harm(void **state)
{
    (void)state;
    assert_kernels(two, &(struct layout){.gap = 20000}, "_Z5firstPf=640 second=128 ");
}

static void short_strings_may_come_first(void **state)
{
    (void)state;
    assert_kernels(two, &(struct layout){.before = "#v\0$str\0", .before_size = 8}, "_Z5firstPf=640 second=128 ");
}

static void an_image_without_a_kernel_has_none(void **state)
{
    (void)state;
    assert_kernels((const struct made_kernel[]){{0}}, &(struct layout){0}, "");
}

static void symbols_that_disagree_with_the_sections_are_not_believed(void **state)
{
    (void)state;
    assert_kernels(two, &(struct layout){.sections = "other"}, "cannot tell");
}

static void a_layout_that_is_not_known_is_not_guessed(void **state)
{
    (void)state;
    struct nk_buf cubin = {0}, text = {0};
    make_cubin(&cubin, &(struct made_cubin){.sm = 80, .kernels = {{.name = "k", .size = 64}}});
    read_text(view_of(&cubin), 0, &text, NULL);
    assert_string_equal(text.data, "cannot tell");
    nk_buf_free(&cubin);
    nk_buf_free(&text);
}

static void code_behind_the_beginning_is_not_decoded(void **state)
{
    (void)state;
    struct nk_buf cubin = {0}, text = {0};
    size_t decoded = 0;
    make_ptxas(&cubin, two, &(struct layout){0});
    for (int i = 0; i < 1 << 18; i++) put(&cubin, (uint64_t)rand(), 4);
    for (uint32_t codec = MAKE_LZ4; codec; codec = codec == MAKE_LZ4 ? MAKE_ZSTD : 0) {
        read_text(view_of(&cubin), codec, &text, &decoded);
        assert_string_equal(text.data, "_Z5firstPf=640 second=128 ");
        assert_true(decoded < cubin.size / 4);
    }
    nk_buf_free(&cubin);
    nk_buf_free(&text);
}

static void pass_by(struct nk_bytes bytes)
{
    struct nk_buf text = {0};
    read_text(bytes, 0, &text, NULL);
    nk_buf_free(&text);
}

static void no_cut_and_no_wrong_bit_is_too_much(void **state)
{
    (void)state;
    struct nk_buf cubin = {0};
    make_ptxas(&cubin, two, &(struct layout){0});
    cubin.size -= 4990;
    for_all_cuts(&cubin, pass_by);
    for_all_flips(&cubin, pass_by);
    nk_buf_free(&cubin);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_and_sizes_are_read_from_the_beginning),
        cmocka_unit_test(a_gap_before_the_strings_does_no_harm),
        cmocka_unit_test(short_strings_may_come_first),
        cmocka_unit_test(an_image_without_a_kernel_has_none),
        cmocka_unit_test(symbols_that_disagree_with_the_sections_are_not_believed),
        cmocka_unit_test(a_layout_that_is_not_known_is_not_guessed),
        cmocka_unit_test(code_behind_the_beginning_is_not_decoded),
        cmocka_unit_test(no_cut_and_no_wrong_bit_is_too_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
