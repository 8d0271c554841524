// test_scan_sum.c - what is counted in a library made by hand, and what a GPU makes of it.
#include "test_image_maker.h"

#include "scan/gpus.h"
#include "scan/read.h"
#include "scan/sum.h"

static const struct nk_scan_how how = {.kernels = true, .verify = true};

enum { REAL = 4096, EMPTY = 128 };

static void entry_of(struct nk_buf *buf, uint16_t sm, uint64_t flags, const struct made_kernel *kernels)
{
    struct nk_buf cubin = {0};
    struct made_cubin made = {.sm = sm};
    for (size_t i = 0; kernels[i].name; i++) made.kernels[i] = kernels[i];
    make_cubin(&cubin, &made);
    make_entry(buf, &(struct made_entry){
                        .kind = 2, .arch = sm, .flags = flags, .codec = MAKE_LZ4, .payload = view_of(&cubin)});
    nk_buf_free(&cubin);
}

static struct nk_scan_library *read_buf(struct nk_buf *buf)
{
    struct nk_scan_library *library = nk_scan_library_new("x");
    struct guarded copy = guard(buf->data, buf->size);
    assert_int_equal(nk_scan_bytes(library, copy.bytes, &how, NULL), 0);
    assert_false(library->failed);
    unguard(&copy);
    nk_buf_free(buf);
    return library;
}

static enum nk_scan_word judge(struct nk_scan_library *library, int sm, struct nk_scan_counts *counts)
{
    return nk_scan_judge(library, &(struct nk_target){.sm = sm}, counts);
}

// Two containers: sm_80 and sm_90a with kernels a and b, of which b is empty in sm_80; then sm_75 alone with a.
static struct nk_scan_library *example(void)
{
    struct nk_buf buf = {0};
    size_t at = begin_container(&buf);
    entry_of(&buf, 80, 0, (struct made_kernel[]){{.name = "a", .size = REAL}, {.name = "b", .size = EMPTY}, {0}});
    entry_of(&buf, 90, 0x100000, (struct made_kernel[]){{.name = "a", .size = REAL}, {.name = "b", .size = REAL}, {0}});
    end_container(&buf, at);
    at = begin_container(&buf);
    entry_of(&buf, 75, 0, (struct made_kernel[]){{.name = "a", .size = REAL}, {0}});
    end_container(&buf, at);
    end_container(&buf, begin_container(&buf));
    return read_buf(&buf);
}

static void kernels_are_counted_by_container_and_by_name(void **state)
{
    (void)state;
    struct nk_scan_sum sum;
    struct nk_scan_library *library = example();
    nk_scan_sum(library, &sum);
    assert_int_equal(sum.containers, 3);
    assert_int_equal(sum.empty, 1);
    assert_int_equal(sum.kernels, 3);
    assert_int_equal(sum.names, 2);
    assert_int_equal(sum.codecs[NK_CODEC_LZ4], 3);
    nk_scan_sum_free(&sum);
    nk_scan_library_free(library);
}

static void targets_are_listed_with_their_suffix_in_rising_order(void **state)
{
    (void)state;
    struct nk_scan_sum sum;
    struct nk_scan_library *library = example();
    struct nk_buf text = {0};
    nk_scan_sum(library, &sum);
    for (size_t i = 0; i < sum.arch_count; i++) {
        nk_scan_arch_text(&text, &sum.archs[i], true);
        nk_buf_format(&text, "%d+%d ", (int)sum.archs[i].images, (int)sum.archs[i].hollow);
    }
    assert_string_equal(text.data, "sm_751+0 sm_801+1 sm_90a1+0 ");
    nk_buf_free(&text);
    nk_scan_sum_free(&sum);
    nk_scan_library_free(library);
}

static void a_library_that_runs_some_of_its_kernels_runs_partly(void **state)
{
    (void)state;
    struct nk_scan_counts c;
    struct nk_scan_library *library = example();
    assert_int_equal(judge(library, 75, &c), NK_SCAN_PARTLY);
    assert_int_equal(c.native, 1);
    assert_int_equal(c.none, 2);
    assert_int_equal(c.reason, NK_REASON_NO_IMAGE);
    nk_scan_library_free(library);
}

static void a_name_that_runs_in_another_container_is_not_lost(void **state)
{
    (void)state;
    struct nk_scan_counts c;
    struct nk_scan_library *library = example();
    judge(library, 75, &c);
    assert_int_equal(c.names_none, 1); // b; a runs in the container of sm_75
    judge(library, 90, &c);
    assert_int_equal(c.none, 1);
    assert_int_equal(c.names_none, 0);
    nk_scan_library_free(library);
}

static void an_empty_body_is_hollow_where_it_would_be_used_and_nowhere_else(void **state)
{
    (void)state;
    struct nk_scan_counts c;
    struct nk_scan_library *library = example();
    judge(library, 80, &c);
    assert_int_equal(c.hollow, 1);
    judge(library, 90, &c);
    assert_int_equal(c.hollow, 0);
    nk_scan_library_free(library);
}

static void a_library_without_a_kernel_is_empty_and_not_missing(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    struct nk_scan_counts c;
    size_t at = begin_container(&buf);
    entry_of(&buf, 80, 0, (struct made_kernel[]){{0}});
    end_container(&buf, at);
    struct nk_scan_library *library = read_buf(&buf);
    assert_int_equal(judge(library, 120, &c), NK_SCAN_EMPTY);
    nk_scan_library_free(library);
}

static void what_cannot_be_decoded_is_unknown_and_never_none(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    struct nk_scan_counts c;
    size_t at = begin_container(&buf);
    size_t entry = make_entry(&buf, &(struct made_entry){.kind = 2, .arch = 80, .payload = text_of("no cubin at all")});
    patch(&buf, entry + 40, 0x8011, 8); // zstd, which it is not
    patch(&buf, entry + 16, 8, 4);
    patch(&buf, entry + 56, 4096, 8);
    end_container(&buf, at);
    struct nk_scan_library *library = read_buf(&buf);
    assert_int_equal(judge(library, 80, &c), NK_SCAN_UNKNOWN);
    assert_true(library->boxes[0].unread);
    nk_scan_library_free(library);
}

static void a_container_of_too_many_images_costs_no_square(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    size_t at = begin_container(&buf);
    for (int i = 0; i < 5000; i++)
        make_entry(&buf, &(struct made_entry){.kind = 2, .arch = 80, .payload = text_of("12345678")});
    end_container(&buf, at);
    struct nk_scan_library *library = read_buf(&buf);
    assert_int_equal(library->image_count, 5000);
    assert_true(library->boxes[0].unread);
    nk_scan_library_free(library);
}

static void assert_gpus(const char *text, const char *expected)
{
    struct nk_scan_gpus gpus = {0};
    struct nk_err err = {0};
    struct nk_buf out = {0};
    nk_buf_text(&out, "");
    if (nk_scan_gpus_parse(text, &gpus, &err)) nk_buf_text(&out, "refused");
    for (size_t i = 0; i < gpus.count; i++)
        nk_buf_format(&out, "%d/%d ", gpus.gpu[i].target.sm, gpus.gpu[i].target.driver);
    assert_string_equal(out.data, expected);
    nk_buf_free(&out);
}

static void a_driver_is_a_cuda_version_or_its_own_number(void **state)
{
    (void)state;
    assert_gpus("sm_120", "120/0 ");
    assert_gpus("12.0@12.4,8.9", "120/12040 89/0 ");
    assert_gpus("sm_80@535", "80/12020 ");
    assert_gpus("sm_80@580.65.06", "80/13000 ");
    assert_gpus("sm_80@12040", "80/12040 ");
    assert_gpus("sm_80@13", "80/13000 ");
}

static void what_is_no_gpu_or_driver_is_refused(void **state)
{
    (void)state;
    assert_gpus("sm_x", "refused");
    assert_gpus("sm_80@", "refused");
    assert_gpus("sm_80@x", "refused");
    assert_gpus("sm_80@100", "refused"); // a driver older than every one that is known
    assert_gpus("", "refused");
}

static void all_gpus_are_those_that_are_known(void **state)
{
    (void)state;
    struct nk_scan_gpus gpus = {0};
    assert_int_equal(nk_scan_gpus_parse("all", &gpus, NULL), 0);
    assert_true(gpus.count > 20);
    assert_int_equal(gpus.gpu[gpus.count - 1].target.sm, 121);
}

static void the_first_bytes_tell_what_a_file_is(void **state)
{
    (void)state;
    static const char tar[263] = {[257] = 'u', 's', 't', 'a', 'r'};
    assert_int_equal(nk_scan_type(text_of("\177ELF....")), NK_SCAN_CODE);
    assert_int_equal(nk_scan_type(text_of("PK\3\4")), NK_SCAN_ARCHIVE);
    assert_int_equal(nk_scan_type(text_of("!<arch>\ndebian-binary   ")), NK_SCAN_ARCHIVE);
    assert_int_equal(nk_scan_type(text_of("!<arch>\n/               ")), NK_SCAN_CODE);
    assert_int_equal(nk_scan_type(nk_bytes(tar, sizeof tar)), NK_SCAN_ARCHIVE);
    assert_int_equal(nk_scan_type(text_of("// made by\n.version 8.0\n")), NK_SCAN_CODE);
    assert_int_equal(nk_scan_type(text_of("import torch\n")), NK_SCAN_OTHER);
    assert_int_equal(nk_scan_type(text_of("")), NK_SCAN_OTHER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_counted_by_container_and_by_name),
        cmocka_unit_test(targets_are_listed_with_their_suffix_in_rising_order),
        cmocka_unit_test(a_library_that_runs_some_of_its_kernels_runs_partly),
        cmocka_unit_test(a_name_that_runs_in_another_container_is_not_lost),
        cmocka_unit_test(an_empty_body_is_hollow_where_it_would_be_used_and_nowhere_else),
        cmocka_unit_test(a_library_without_a_kernel_is_empty_and_not_missing),
        cmocka_unit_test(what_cannot_be_decoded_is_unknown_and_never_none),
        cmocka_unit_test(a_container_of_too_many_images_costs_no_square),
        cmocka_unit_test(a_driver_is_a_cuda_version_or_its_own_number),
        cmocka_unit_test(what_is_no_gpu_or_driver_is_refused),
        cmocka_unit_test(all_gpus_are_those_that_are_known),
        cmocka_unit_test(the_first_bytes_tell_what_a_file_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
