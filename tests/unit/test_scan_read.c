// test_scan_read.c - what several threads read comes into the library in the order of the file.
#include "test_image_maker.h"

#include "scan/read.h"

#include <stdio.h>

enum {
    MANY = 1500,     // containers: more than may wait for one that takes long
    LONG_ONE = 3000, // images in that one
};

// A container of `images` times the same cubin.
static void add_container(struct nk_buf *buf, const char *kernel, int images)
{
    struct nk_buf cubin = {0};
    make_cubin(&cubin, &(struct made_cubin){.sm = 80, .kernels = {{.name = kernel, .size = 512}}});
    size_t at = begin_container(buf);
    for (int i = 0; i < images; i++)
        make_entry(buf, &(struct made_entry){.kind = 2, .arch = 80, .codec = MAKE_LZ4, .payload = view_of(&cubin)});
    end_container(buf, at);
    nk_buf_free(&cubin);
}

static struct nk_buf file_of_many(void)
{
    struct nk_buf buf = {0};
    char name[16];
    add_container(&buf, "first", LONG_ONE);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "k%d", i);
        add_container(&buf, name, 1);
    }
    return buf;
}

static void assert_in_order(const struct nk_scan_library *library)
{
    char name[16];
    assert_int_equal(library->box_count, MANY + 1);
    assert_int_equal(library->kernel_count, MANY + 1);
    assert_string_equal(nk_scan_text(library, library->kernels[0].name), "first");
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "k%d", i);
        assert_string_equal(nk_scan_text(library, library->kernels[i + 1].name), name);
        assert_true(library->boxes[i].offset < library->boxes[i + 1].offset);
    }
}

static void containers_behind_one_that_takes_long_come_after_it(void **state)
{
    (void)state;
    struct nk_buf buf = file_of_many();
    for (int threads = 1; threads <= 8; threads++) {
        struct nk_scan_library *library = nk_scan_library_new("x");
        struct nk_scan_how how = {.kernels = true, .threads = threads};
        assert_int_equal(nk_scan_bytes(library, view_of(&buf), &how, NULL), 0);
        assert_in_order(library);
        nk_scan_library_free(library);
    }
    nk_buf_free(&buf);
}

static void more_threads_than_containers_find_what_there_is(void **state)
{
    (void)state;
    struct nk_buf buf = {0}, none = {0};
    add_container(&buf, "only", 1);
    nk_buf_fill(&none, 0, 4096);
    for (int i = 0; i < 2; i++) {
        struct nk_scan_library *library = nk_scan_library_new("x");
        struct nk_scan_how how = {.kernels = true, .threads = 8};
        assert_int_equal(nk_scan_bytes(library, view_of(i ? &none : &buf), &how, NULL), 0);
        assert_int_equal(library->kernel_count, i ? 0 : 1);
        nk_scan_library_free(library);
    }
    nk_buf_free(&buf);
    nk_buf_free(&none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(containers_behind_one_that_takes_long_come_after_it),
        cmocka_unit_test(more_threads_than_containers_find_what_there_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
