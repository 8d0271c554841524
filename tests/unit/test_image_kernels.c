// test_image_kernels.c - kernels by name, and which images of a container hold one.
#include "test_image_maker.h"

#include "image/holdings.h"
#include "recording/event.h"

_Static_assert((int)NK_KERNEL_ABSENT == NK_HOLD_ABSENT && (int)NK_KERNEL_PRESENT == NK_HOLD_PRESENT &&
                   (int)NK_KERNEL_HOLLOW == NK_HOLD_HOLLOW && (int)NK_KERNEL_UNKNOWN == NK_HOLD_UNKNOWN,
               "the values of a recording");

// ---- containers

static void add_cubin(struct nk_buf *buf, uint16_t sm, uint32_t codec, const char *a, uint64_t a_size, const char *b,
                      uint64_t b_size)
{
    struct nk_buf cubin = {0};
    make_cubin(&cubin, &(struct made_cubin){.sm = sm, .kernels = {{a, a_size, 0, 0, 0}, {b, b_size, 0, 0, 0}}});
    make_entry(buf, &(struct made_entry){.kind = 2, .arch = sm, .codec = codec, .payload = view_of(&cubin)});
    nk_buf_free(&cubin);
}

static void add_text(struct nk_buf *buf, uint16_t kind, const char *text)
{
    make_entry(buf, &(struct made_entry){
                        .kind = kind, .arch = 90, .codec = MAKE_LZ4, .payload = nk_bytes(text, strlen(text) + 1)});
}

static void assert_holds(const struct nk_buf *buf, const char *name, const char *expected)
{
    unsigned char holds[16];
    char text[17] = "";
    struct guarded copy = guard(buf->data, buf->size);
    size_t count = strlen(expected);
    assert_int_equal(nk_container_holds(copy.bytes, name, holds, count, NULL), 0);
    for (size_t i = 0; i < count; i++) text[i] = "-+o?"[holds[i] & 3];
    assert_string_equal(text, expected);
    unguard(&copy);
}

static void each_image_says_whether_it_holds_the_kernel(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    size_t at = begin_container(&buf);
    add_cubin(&buf, 80, MAKE_ZSTD, "common", 1024, NULL, 0);
    add_cubin(&buf, 90, MAKE_LZ4, "common", 1024, "only_90", 1024);
    add_cubin(&buf, 100, MAKE_STORED, "only_90", 1024, "other", 1024);
    add_text(&buf, 1, PTX_HEAD("8.7", "sm_90") ".visible .entry common(){ x; }");
    end_container(&buf, at);
    assert_holds(&buf, "common", "++-+");
    assert_holds(&buf, "only_90", "-++-");
    assert_holds(&buf, "commo", "----");
    assert_holds(&buf, "", "----");
    nk_buf_free(&buf);
}

static void a_small_body_beside_a_large_one_is_hollow(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    size_t at = begin_container(&buf);
    add_cubin(&buf, 80, MAKE_ZSTD, "k", 512, "small", 256);
    add_cubin(&buf, 90, MAKE_ZSTD, "k", 2049, "small", 1024);
    add_cubin(&buf, 100, MAKE_ZSTD, "k", 513, "small", 128);
    end_container(&buf, at);
    assert_holds(&buf, "k", "o++");     // 2049 is more than 4 times 512; 513 is no longer small
    assert_holds(&buf, "small", "++o"); // 1024 is not more than 4 times 256
    nk_buf_free(&buf);
}

static void small_bodies_in_all_images_are_just_a_small_kernel(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    size_t at = begin_container(&buf);
    add_cubin(&buf, 80, MAKE_ZSTD, "k", 128, NULL, 0);
    add_cubin(&buf, 90, MAKE_ZSTD, "k", 384, NULL, 0);
    end_container(&buf, at);
    assert_holds(&buf, "k", "++");
    nk_buf_free(&buf);
}

static void ptx_that_only_returns_is_hollow_beside_a_real_body(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    size_t at = begin_container(&buf);
    add_text(&buf, 1,
             PTX_HEAD("8.7", "sm_80") ".entry k();\n.visible .entry k(){\n\nret;\n\n}\n.entry real(){ mov; ret; }");
    add_cubin(&buf, 90, MAKE_ZSTD, "k", 4096, "real", 4096);
    add_cubin(&buf, 80, MAKE_ZSTD, "k", 128, "real", 4000);
    end_container(&buf, at);
    assert_holds(&buf, "k", "o+o");
    assert_holds(&buf, "real", "+++");
    nk_buf_free(&buf);
}

static void what_was_read_once_answers_for_every_kernel(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    struct nk_holdings holdings;
    unsigned char holds[3];
    size_t at = begin_container(&buf);
    add_cubin(&buf, 80, MAKE_ZSTD, "k", 128, "only80", 256);
    add_cubin(&buf, 90, MAKE_ZSTD, "k", 1024, NULL, 0);
    end_container(&buf, at);
    assert_int_equal(nk_holdings_read(&holdings, view_of(&buf), 2, NULL), 0);
    memset(buf.data, 0, buf.size); // the container is not needed any more
    nk_holdings_of(&holdings, "k", holds, 3);
    assert_memory_equal(holds, "\2\1\3", 3);
    nk_holdings_of(&holdings, "only80", holds, 3);
    assert_memory_equal(holds, "\1\0\3", 3);
    nk_holdings_of(&holdings, "none", holds, 1);
    assert_memory_equal(holds, "\0\0\3", 3);
    nk_holdings_free(&holdings);
    nk_holdings_of(&holdings, "k", holds, 2); // nothing was read
    assert_memory_equal(holds, "\3\3\3", 3);
    nk_buf_free(&buf);
}

static void an_image_that_cannot_be_read_is_unknown(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    size_t at = begin_container(&buf);
    add_text(&buf, 2, "no cubin");
    add_text(&buf, 8, "LTO");
    add_text(&buf, 0x1000, "a kind of the future");
    add_cubin(&buf, 90, MAKE_ZSTD, "k", 128, NULL, 0);
    end_container(&buf, at);
    assert_holds(&buf, "k", "???+");
    nk_buf_free(&buf);
}

static void an_image_larger_than_the_limit_is_unknown(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    size_t at = begin_container(&buf);
    size_t entry_at = buf.size;
    add_cubin(&buf, 90, MAKE_ZSTD, "k", 128, NULL, 0);
    end_container(&buf, at);
    patch(&buf, entry_at + 56, NK_HOLDS_LIMIT + 1, 8);
    assert_holds(&buf, "k", "?");
    nk_buf_free(&buf);
}

static void images_after_damage_and_images_that_are_not_there_are_unknown(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    unsigned char holds[4];
    struct nk_err err = {0};
    size_t at = begin_container(&buf);
    add_cubin(&buf, 80, MAKE_ZSTD, "k", 128, NULL, 0);
    size_t entry_at = buf.size;
    add_cubin(&buf, 90, MAKE_ZSTD, "k", 128, NULL, 0);
    end_container(&buf, at);
    assert_int_equal(nk_container_holds(view_of(&buf), "k", holds, 4, NULL), 0);
    assert_memory_equal(holds, "\1\1\3\3", 4);
    patch(&buf, entry_at + 4, 0, 4);
    assert_int_equal(nk_container_holds(view_of(&buf), "k", holds, 4, &err), -1);
    assert_memory_equal(holds, "\1\3\3\3", 4);
    assert_says(&err, "it says 0");
    assert_int_equal(nk_container_holds(view_of(&buf), "k", holds, 1, NULL), 0); // nor looked at, when not asked for
    assert_int_equal(nk_container_holds(text_of("nothing"), "k", holds, 4, &err), -1);
    assert_memory_equal(holds, "\3\3\3\3", 4);
    assert_int_equal(nk_container_holds(text_of("nothing"), "k", NULL, 0, &err), -1);
    nk_buf_free(&buf);
}

static void bare_images_are_asked_alike(void **state)
{
    (void)state;
    struct nk_buf cubin = {0}, ptx = {0};
    make_cubin(&cubin, &(struct made_cubin){.sm = 90, .kernels = {{"k", 128, 0, 0, 0}}});
    nk_buf_text(&ptx, PTX_HEAD("8.7", "sm_90") ".entry k(){}");
    assert_holds(&cubin, "k", "+");
    assert_holds(&cubin, "l", "-");
    assert_holds(&ptx, "k", "+");
    assert_holds(&ptx, "l", "-");
    nk_buf_free(&cubin);
    nk_buf_free(&ptx);
}

static void concatenated_images_are_asked_one_by_one(void **state)
{
    (void)state;
    struct nk_buf first = {0}, second = {0}, all = {0}, record = {0}, buf = {0};
    make_cubin(&first, &(struct made_cubin){.sm = 80, .kernels = {{"a", 1024, 0, 0, 0}}});
    make_cubin(&second, &(struct made_cubin){.sm = 90, .kernels = {{"b", 1024, 0, 0, 0}}});
    nk_buf_add(&all, first.data, first.size);
    nk_buf_add(&all, second.data, second.size);
    put(&record, 2, 4);
    put(&record, 8 + 128, 4);
    make_part(&record, 2, 80, 0, 0, first.size, NULL);
    make_part(&record, 2, 90, 0, (uint32_t)first.size, second.size, NULL);
    size_t at = begin_container(&buf);
    make_entry(&buf, &(struct made_entry){
                         .kind = 0x100, .codec = MAKE_ZSTD, .payload = view_of(&all), .list = view_of(&record)});
    end_container(&buf, at);
    assert_holds(&buf, "a", "+-");
    assert_holds(&buf, "b", "-+");
    nk_buf_free(&first);
    nk_buf_free(&second);
    nk_buf_free(&all);
    nk_buf_free(&record);
    nk_buf_free(&buf);
}

// ---- the kernels of one image

static int collect(const struct nk_kernel_view *kernel, void *user)
{
    struct nk_buf *names = user;
    nk_buf_format(names, "%.*s=%llu%s%s ", (int)kernel->name.size, (const char *)kernel->name.data,
                  (unsigned long long)kernel->body, kernel->local ? "l" : "", kernel->bare_return ? "r" : "");
    return kernel->name.data[0] == 'Z' ? 5 : 0;
}

static int list(const struct nk_buf *image, struct nk_buf *names, struct nk_err *err)
{
    struct nk_fatbin walk;
    struct nk_entry_view entry;
    struct nk_unpacked memory = {0};
    nk_buf_clear(names);
    assert_int_equal(nk_fatbin_begin(&walk, view_of(image), NULL), 0);
    assert_int_equal(nk_fatbin_next(&walk, &entry, NULL), 1);
    int result = nk_image_kernels(&entry, &memory, 0, collect, names, err);
    nk_unpack_free(&memory);
    return result;
}

static void the_kernels_of_an_image_are_listed_until_told_to_stop(void **state)
{
    (void)state;
    struct nk_buf image = {0}, names = {0};
    make_cubin(&image, &(struct made_cubin){
                           .sm = 90, .kernels = {{"a", 256, 0x02, 0, 0}, {"Zb", 128, 0, 0, 0}, {"c", 64, 0, 0, 0}}});
    assert_int_equal(list(&image, &names, NULL), 5);
    assert_string_equal(names.data, "a=256l Zb=128 ");
    nk_buf_clear(&image);
    nk_buf_text(&image, PTX_HEAD("8.7", "sm_90") ".entry a(){ ret; }\n.entry b(){ nop; ret; }");
    assert_int_equal(list(&image, &names, NULL), 0);
    assert_string_equal(names.data, "a=4r b=9 ");
    nk_buf_free(&image);
    nk_buf_free(&names);
}

static void an_image_of_lto_code_cannot_be_listed(void **state)
{
    (void)state;
    struct nk_buf buf = {0}, names = {0};
    struct nk_err err = {0};
    size_t at = begin_container(&buf);
    add_text(&buf, 8, "LTO");
    end_container(&buf, at);
    assert_int_equal(list(&buf, &names, &err), -1);
    assert_int_equal(err.code, NK_ERR_UNSUPPORTED);
    assert_says(&err, "kind 0x8");
    nk_buf_free(&buf);
}

static void use_all(struct nk_bytes bytes)
{
    unsigned char holds[4];
    nk_container_holds(bytes, "k", holds, 4, NULL);
}

static void a_container_cut_anywhere_or_with_any_bit_wrong_is_read_without_harm(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    size_t at = begin_container(&buf);
    add_cubin(&buf, 90, MAKE_STORED, "k", 128, NULL, 0);
    add_text(&buf, 1, PTX_HEAD("8.7", "sm_80") ".entry k(){ret;}");
    end_container(&buf, at);
    for_all_cuts(&buf, use_all);
    for_all_flips(&buf, use_all);
    nk_buf_free(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_image_says_whether_it_holds_the_kernel),
        cmocka_unit_test(a_small_body_beside_a_large_one_is_hollow),
        cmocka_unit_test(small_bodies_in_all_images_are_just_a_small_kernel),
        cmocka_unit_test(ptx_that_only_returns_is_hollow_beside_a_real_body),
        cmocka_unit_test(what_was_read_once_answers_for_every_kernel),
        cmocka_unit_test(an_image_that_cannot_be_read_is_unknown),
        cmocka_unit_test(an_image_larger_than_the_limit_is_unknown),
        cmocka_unit_test(images_after_damage_and_images_that_are_not_there_are_unknown),
        cmocka_unit_test(bare_images_are_asked_alike),
        cmocka_unit_test(concatenated_images_are_asked_one_by_one),
        cmocka_unit_test(the_kernels_of_an_image_are_listed_until_told_to_stop),
        cmocka_unit_test(an_image_of_lto_code_cannot_be_listed),
        cmocka_unit_test(a_container_cut_anywhere_or_with_any_bit_wrong_is_read_without_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
