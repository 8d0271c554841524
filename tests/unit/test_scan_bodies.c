// test_scan_bodies.c - which PTX is read for its kernels, and which is taken to hold what the cubin beside it holds.
#include "test_image_maker.h"
#include "test_ptxas_maker.h"

#include "image/kernels.h"
#include "scan/gpus.h"
#include "scan/memo.h"
#include "scan/read.h"

static void add_cubin(struct nk_buf *buf, uint16_t sm, const char *kernel)
{
    struct nk_buf cubin = {0};
    make_cubin(&cubin, &(struct made_cubin){.sm = sm, .kernels = {{.name = kernel, .size = 4096}}});
    make_entry(buf, &(struct made_entry){.kind = 2, .arch = sm, .codec = MAKE_LZ4, .payload = view_of(&cubin)});
    nk_buf_free(&cubin);
}

// PTX for compute_80 with a kernel "extra" that no cubin has: its name shows whether the text was read.
static void add_ptx(struct nk_buf *buf)
{
    static const char text[] = PTX_HEAD("8.7", "sm_80") ".visible .entry extra()\n{\nret;\n}\n";
    make_entry(buf,
               &(struct made_entry){.kind = 1, .arch = 80, .codec = MAKE_LZ4, .payload = nk_bytes(text, sizeof text)});
}

// The names of the kernels in the container, in order; `result` is what the scan must return.
static void assert_kernels(struct nk_buf *buf, struct nk_scan_how how, int result, const char *names)
{
    struct nk_scan_library *library = nk_scan_library_new("x");
    struct nk_buf found = {0};
    how.kernels = true;
    assert_int_equal(nk_scan_bytes(library, view_of(buf), &how, NULL), result);
    for (size_t i = 0; i < library->kernel_count; i++)
        nk_buf_format(&found, "%s ", nk_scan_text(library, library->kernels[i].name));
    assert_string_equal(found.data ? found.data : "", names);
    nk_buf_free(&found);
    nk_scan_library_free(library);
}

// The PTX comes first: what stands behind it must count all the same.
static struct nk_buf container(uint16_t sm)
{
    struct nk_buf buf = {0};
    size_t at = begin_container(&buf);
    add_ptx(&buf);
    add_cubin(&buf, sm, "real");
    end_container(&buf, at);
    return buf;
}

static void ptx_beside_a_cubin_for_its_target_is_not_read(void **state)
{
    (void)state;
    struct nk_buf buf = container(80);
    struct nk_scan_gpus gpus = {0};
    assert_kernels(&buf, (struct nk_scan_how){0}, 0, "real ");
    assert_int_equal(nk_scan_gpus_parse("sm_86,sm_70", &gpus, NULL), 0); // one runs the cubin, one nothing
    assert_kernels(&buf, (struct nk_scan_how){.gpus = &gpus}, 0, "real ");
    nk_buf_free(&buf);
}

static void such_ptx_counts_with_the_kernels_of_the_cubin(void **state)
{
    (void)state;
    struct nk_buf buf = container(80);
    struct nk_scan_library *library = nk_scan_library_new("x");
    assert_int_equal(nk_scan_bytes(library, view_of(&buf), &(struct nk_scan_how){.kernels = true}, NULL), 0);
    assert_int_equal(library->images[0].kind, NK_KIND_PTX);
    assert_int_equal(library->images[0].kernels, 1);
    assert_int_equal(library->holds[0], library->holds[1]);
    nk_scan_library_free(library);
    nk_buf_free(&buf);
}

static void ptx_that_a_gpu_would_compile_is_read(void **state)
{
    (void)state;
    struct nk_buf buf = container(80);
    struct nk_scan_gpus gpus = {0};
    assert_int_equal(nk_scan_gpus_parse("sm_80,sm_90", &gpus, NULL), 0);
    assert_kernels(&buf, (struct nk_scan_how){.gpus = &gpus}, 0, "real extra ");
    nk_buf_free(&buf);
}

static void ptx_without_such_a_cubin_is_read(void **state)
{
    (void)state;
    struct nk_buf buf = container(75);
    assert_kernels(&buf, (struct nk_scan_how){0}, 0, "real extra ");
    nk_buf_free(&buf);
}

// The quick reader names the kernel, then meets an ".entry" that is none and leaves the text to the other one.
static void a_kernel_of_ptx_that_two_readers_name_counts_once(void **state)
{
    (void)state;
    static const char text[] = PTX_HEAD("8.7", "sm_80") ".visible .entry extra()\n{\nret;\n}\n// the .entry of it\n";
    struct nk_buf buf = {0};
    size_t at = begin_container(&buf);
    make_entry(&buf,
               &(struct made_entry){.kind = 1, .arch = 80, .codec = MAKE_LZ4, .payload = nk_bytes(text, sizeof text)});
    end_container(&buf, at);
    struct nk_scan_library *library = nk_scan_library_new("x");
    assert_int_equal(nk_scan_bytes(library, view_of(&buf), &(struct nk_scan_how){.kernels = true}, NULL), 0);
    assert_int_equal(library->kernel_count, 1);
    assert_int_equal(library->images[0].kernels, 1);
    nk_scan_library_free(library);
    nk_buf_free(&buf);
}

static void all_ptx_is_read_where_all_kernels_are_wanted(void **state)
{
    (void)state;
    struct nk_buf buf = container(80);
    assert_kernels(&buf, (struct nk_scan_how){.all = true}, 0, "real extra ");
    nk_buf_free(&buf);
}

static void a_check_notices_ptx_that_holds_something_else(void **state)
{
    (void)state;
    struct nk_buf buf = container(80);
    assert_kernels(&buf, (struct nk_scan_how){.verify = true}, -1, "real extra ");
    nk_buf_free(&buf);
}

static void a_payload_is_remembered_by_all_of_its_bytes_its_codec_and_its_size(void **state)
{
    (void)state;
    struct nk_memo memo = {0};
    char bytes[] = "a payload", copy[] = "a payload", other[] = "A payload";
    char text[] = "a note";
    uint32_t flags = 0;
    struct nk_bytes note = {0};
    struct nk_entry_view entry = {.payload = nk_bytes(bytes, 9), .unpacked = 64};
    assert_false(nk_memo_find(&memo, &entry, &flags, &note));
    nk_memo_add(&memo, &entry, NK_IMAGE_ABI8, nk_bytes(text, 6));
    bytes[0] = text[0] = 'x'; // what is remembered are copies
    entry.payload = nk_bytes(copy, 9);
    assert_true(nk_memo_find(&memo, &entry, &flags, &note));
    assert_int_equal(flags, NK_IMAGE_ABI8);
    assert_text(note, "a note");
    struct nk_entry_view shorter = {.payload = nk_bytes(copy, 8), .unpacked = 64};
    struct nk_entry_view another = {.payload = nk_bytes(other, 9), .unpacked = 64};
    struct nk_entry_view larger = {.payload = nk_bytes(copy, 9), .unpacked = 65};
    assert_false(nk_memo_find(&memo, &shorter, &flags, &note));
    assert_false(nk_memo_find(&memo, &another, &flags, &note));
    assert_false(nk_memo_find(&memo, &larger, &flags, &note));
    entry.image.codec = NK_CODEC_ZSTD;
    assert_false(nk_memo_find(&memo, &entry, &flags, &note));
    nk_memo_free(&memo);
}

static void what_is_larger_than_a_memo_takes_is_not_remembered(void **state)
{
    (void)state;
    static const char large[NK_MEMO_LARGEST + 1];
    struct nk_memo memo = {0};
    struct nk_bytes note;
    uint32_t flags;
    struct nk_entry_view fits = {.payload = nk_bytes(large, NK_MEMO_LARGEST)};
    struct nk_entry_view not = {.payload = nk_bytes(large, NK_MEMO_LARGEST + 1)};
    nk_memo_add(&memo, &not, 0, nk_bytes(NULL, 0));
    nk_memo_add(&memo, &fits, 0, nk_bytes(large, NK_MEMO_LARGEST + 1));
    assert_false(nk_memo_find(&memo, &not, &flags, &note) || nk_memo_find(&memo, &fits, &flags, &note));
    nk_memo_add(&memo, &fits, 0, nk_bytes(large, NK_MEMO_LARGEST));
    assert_true(nk_memo_find(&memo, &fits, &flags, &note));
    nk_memo_free(&memo);
}

// Other kernels come first in the second container, so that the numbers of the first would be wrong there.
static void a_copy_of_an_image_has_its_kernels_with_their_sizes_in_every_container(void **state)
{
    (void)state;
    struct nk_buf buf = {0}, cubin = {0};
    struct made_kernel kernels[] = {{.name = "one", .size = 128}, {.name = "two", .size = 4096}, {0}};
    make_ptxas(&cubin, kernels, &(struct layout){0});
    struct made_entry copy = {.kind = 2, .arch = 90, .codec = MAKE_ZSTD, .payload = view_of(&cubin)};
    for (int i = 0; i < 3; i++) {
        size_t at = begin_container(&buf);
        if (i) add_cubin(&buf, 80, "two");
        if (i) add_cubin(&buf, 80, "one");
        make_entry(&buf, &copy);
        end_container(&buf, at);
    }
    // "one" is empty where "copy" has it: present alone, hollow beside the 4096 bytes of another.
    assert_kernels(&buf, (struct nk_scan_how){0}, 0, "one two two one two one ");
    struct nk_scan_library *library = nk_scan_library_new("x");
    assert_int_equal(nk_scan_bytes(library, view_of(&buf), &(struct nk_scan_how){.kernels = true}, NULL), 0);
    size_t hollow = 0;
    for (size_t i = 0; i < library->shape_count; i++)
        for (size_t k = 0; k < library->shapes[i].images; k++)
            hollow += library->holds[library->shapes[i].first + k] == NK_KERNEL_HOLLOW ? library->shapes[i].kernels : 0;
    assert_int_equal(hollow, 2);
    nk_scan_library_free(library);
    nk_buf_free(&cubin);
    nk_buf_free(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ptx_beside_a_cubin_for_its_target_is_not_read),
        cmocka_unit_test(such_ptx_counts_with_the_kernels_of_the_cubin),
        cmocka_unit_test(ptx_that_a_gpu_would_compile_is_read),
        cmocka_unit_test(ptx_without_such_a_cubin_is_read),
        cmocka_unit_test(a_kernel_of_ptx_that_two_readers_name_counts_once),
        cmocka_unit_test(all_ptx_is_read_where_all_kernels_are_wanted),
        cmocka_unit_test(a_check_notices_ptx_that_holds_something_else),
        cmocka_unit_test(a_payload_is_remembered_by_all_of_its_bytes_its_codec_and_its_size),
        cmocka_unit_test(what_is_larger_than_a_memo_takes_is_not_remembered),
        cmocka_unit_test(a_copy_of_an_image_has_its_kernels_with_their_sizes_in_every_container),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
