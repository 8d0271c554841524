// test_report_model.c - what a recording means: references, classes of failures, coverage, counts.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "recording_maker.h"
#include "report/sums.h"
#include "report/text.h"

static struct nk_run run;
static struct nk_sums sums;

static void read_back(void)
{
    struct nk_err err = {0};
    make_end();
    if (nk_run_open(&run, made, &err)) fail_msg("%s", err.text);
    nk_sums(&run, &sums);
}

static int begin(void **state)
{
    (void)state;
    make_begin();
    make_driver("580.65", 13000);
    make_gpu(0, 90, "H100");
    return 0;
}

static int end(void **state)
{
    (void)state;
    nk_run_free(&run);
    return unlink(made);
}

static const char *covers(uint32_t library)
{
    return nk_sums_cover(&run, &run.libraries[library - 1], &run.gpus[0]).word;
}

static void coverage_follows_from_all_containers_of_a_library(void **state)
{
    (void)state;
    static const struct {
        const char *first, *second, *word;
    } cases[] = {{"90", "80 90", "native"}, {"90", "80p", "jit"},     {"90", "100", "partly"},
                 {"100", "120", "none"},    {"80p", "120", "partly"}, {"80p", "80p", "jit"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t library = make_library("/lib.so", NULL, NULL);
        make_container(library, NK_ORIGIN_SCANNED, 1, cases[i].first);
        make_container(library, NK_ORIGIN_SCANNED, 5, cases[i].second);
    }
    read_back();
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) assert_string_equal(covers(i + 1), cases[i].word);
}

static void scanned_containers_stand_for_the_library_where_there_are_any(void **state)
{
    (void)state;
    uint32_t scanned = make_library("/a.so", NULL, NULL), live = make_library("/b.so", NULL, NULL);
    make_container(scanned, NK_ORIGIN_LIBRARY, 1, "90");
    make_container(scanned, NK_ORIGIN_SCANNED, 3, "100");
    make_container(live, NK_ORIGIN_LIBRARY, 1, "90");
    read_back();
    assert_string_equal(covers(scanned), "none");
    assert_string_equal(covers(live), "native");
}

static void of_a_container_that_is_written_again_the_later_images_count(void **state)
{
    (void)state;
    uint32_t library = make_library("/a.so", NULL, NULL);
    struct nk_rec_image better = {.kind = NK_KIND_CUBIN, .arch = 90, .kernels = NK_NONE};
    struct nk_rec_container again = {.id = make_container(library, NK_ORIGIN_LIBRARY, 1, "100"), .n_images = 1};
    nk_writer_add(&maker, NK_REC_CONTAINER, &again, sizeof again, &better, sizeof better);
    read_back();
    assert_int_equal(run.container_count, 1);
    assert_string_equal(covers(library), "native");
}

static void relocatable_and_empty_containers_do_not_count(void **state)
{
    (void)state;
    uint32_t library = make_library("/a.so", NULL, NULL);
    struct nk_rec_image empty = {.kind = NK_KIND_CUBIN, .arch = 100, .kernels = 0},
                        relocatable = {.kind = NK_KIND_CUBIN, .arch = 100, .kernels = NK_NONE};
    struct nk_rec_container c = {
        .id = ++made_containers, .library = library, .origin = NK_ORIGIN_SCANNED, .count = 1, .n_images = 1};
    nk_writer_add(&maker, NK_REC_CONTAINER, &c, sizeof c, &empty, sizeof empty);
    c.id = ++made_containers;
    c.flags = NK_CONTAINER_RELOCATABLE;
    nk_writer_add(&maker, NK_REC_CONTAINER, &c, sizeof c, &relocatable, sizeof relocatable);
    make_container(library, NK_ORIGIN_SCANNED, 1, "90");
    uint32_t nothing = make_library("/b.so", NULL, NULL);
    c.id = ++made_containers;
    c.library = nothing;
    nk_writer_add(&maker, NK_REC_CONTAINER, &c, sizeof c, &relocatable, sizeof relocatable);
    read_back();
    assert_string_equal(covers(library), "native");
    assert_null(covers(nothing));
}

static void architectures_of_a_library_are_listed_once_and_in_order(void **state)
{
    (void)state;
    uint32_t library = make_library("/a.so", NULL, NULL);
    make_container(library, NK_ORIGIN_SCANNED, 3, "90p 100 80 90a");
    make_container(library, NK_ORIGIN_SCANNED, 1, "80 90");
    read_back();
    struct nk_archs archs = {0};
    nk_archs_library(&archs, &run, &run.libraries[library - 1]);
    static const struct {
        int kind, arch, suffix;
        unsigned images;
    } expected[] = {{NK_KIND_CUBIN, 80, 0, 4},
                    {NK_KIND_CUBIN, 90, 0, 1},
                    {NK_KIND_CUBIN, 90, 'a', 3},
                    {NK_KIND_CUBIN, 100, 0, 3},
                    {NK_KIND_PTX, 90, 0, 3}};
    assert_int_equal(archs.count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(archs.item[i].kind, expected[i].kind);
        assert_int_equal(archs.item[i].arch, expected[i].arch);
        assert_int_equal(archs.item[i].suffix, expected[i].suffix);
        assert_int_equal(archs.item[i].images, expected[i].images);
    }
}

static void a_failure_is_classed_by_what_was_called_and_what_came_back(void **state)
{
    (void)state;
    static const struct {
        enum nk_failure_kind kind;
        int32_t result;
        enum nk_failure_class class;
    } cases[] = {
        {NK_FAILED_LAUNCH, 209, NK_CLASS_MISSING}, {NK_FAILED_LAUNCH, 98, NK_CLASS_MISSING},
        {NK_FAILED_LAUNCH, 500, NK_CLASS_MISSING}, {NK_FAILED_LAUNCH, 719, NK_CLASS_OTHER},
        {NK_FAILED_LAUNCH, 2, NK_CLASS_OTHER},     {NK_FAILED_LOAD, 209, NK_CLASS_MISSING},
        {NK_FAILED_LOAD, 222, NK_CLASS_MISSING},   {NK_FAILED_LOAD, 1, NK_CLASS_OTHER},
        {NK_FAILED_LOOKUP, 209, NK_CLASS_MISSING}, {NK_FAILED_LOOKUP, 98, NK_CLASS_MISSING},
        {NK_FAILED_LOOKUP, 221, NK_CLASS_MISSING}, {NK_FAILED_LOOKUP, 500, NK_CLASS_ASKED},
        {NK_FAILED_LOOKUP, 400, NK_CLASS_ASKED},   {NK_FAILED_PROBE, 209, NK_CLASS_ASKED},
        {NK_FAILED_PROBE, 1, NK_CLASS_ASKED},      {NK_FAILED_GRAPH, 209, NK_CLASS_MISSING},
        {NK_FAILED_GRAPH, 700, NK_CLASS_OTHER},    {NK_FAILED_WAIT, 700, NK_CLASS_OTHER},
        {NK_FAILED_WAIT, 209, NK_CLASS_MISSING},
    };
    enum { CASES = sizeof cases / sizeof *cases };
    uint32_t box = make_container(make_library("/a.so", NULL, NULL), NK_ORIGIN_LIBRARY, 1, "100");
    for (size_t i = 0; i < CASES; i++)
        make_failure((struct nk_rec_failure){.kind = cases[i].kind, .result = cases[i].result, .container = box}, "api",
                     1);
    read_back();
    for (size_t i = 0; i < CASES; i++)
        if (run.failures[i].class != cases[i].class) fail_msg("kind %d, result %d", cases[i].kind, cases[i].result);
}

static void a_file_that_is_no_image_is_not_a_missing_one(void **state)
{
    (void)state;
    uint32_t nothing = make_container(0, NK_ORIGIN_MODULE, 1, ""), fits = make_container(0, NK_ORIGIN_MODULE, 1, "90p");
    make_failure((struct nk_rec_failure){.kind = NK_FAILED_LOAD, .result = 200, .container = nothing}, "api", 1);
    make_failure((struct nk_rec_failure){.kind = NK_FAILED_LOAD, .result = 218, .container = fits}, "api", 1);
    read_back();
    assert_int_equal(run.failures[0].class, NK_CLASS_OTHER);
    assert_int_equal(run.failures[1].class, NK_CLASS_OTHER);
    assert_int_equal(sums.missing_boxes, 0);
}

static void an_invalid_handle_of_a_container_refused_at_start_up_is_a_missing_image(void **state)
{
    (void)state;
    uint32_t box = make_container(0, NK_ORIGIN_LIBRARY, 1, "100");
    struct nk_rec_load load = {.container = box, .result = 209, .startup = 1};
    ADD(LOAD, load);
    make_failure((struct nk_rec_failure){.kind = NK_FAILED_LAUNCH, .result = 400, .container = box}, "api", 1);
    make_failure((struct nk_rec_failure){.kind = NK_FAILED_LAUNCH, .result = 400}, "api", 1);
    read_back();
    assert_int_equal(run.failures[0].class, NK_CLASS_MISSING);
    assert_int_equal(run.failures[1].class, NK_CLASS_OTHER);
}

static void counts_come_from_the_counters(void **state)
{
    (void)state;
    uint32_t box = make_container(0, NK_ORIGIN_MODULE, 1, "100");
    uint32_t kernel = make_kernel("k", box, 1234567890123);
    make_failure((struct nk_rec_failure){.kind = NK_FAILED_LAUNCH, .result = 209, .kernel = kernel}, "api", 17);
    read_back();
    assert_true(run.kernels[0].launches == 1234567890123);
    assert_true(run.kernels[0].failed == 17);
}

static void a_failure_whose_counter_is_lost_counts_once(void **state)
{
    (void)state;
    struct nk_rec_failure f = {.id = 1, .kind = NK_FAILED_LAUNCH, .result = 209, .counter = NK_NONE};
    ADD(FAILURE, f);
    read_back();
    assert_int_equal(run.failures[0].count, 1);
}

static void a_query_does_not_count_as_a_failed_launch_of_its_kernel(void **state)
{
    (void)state;
    uint32_t kernel = make_kernel("k", make_container(0, NK_ORIGIN_MODULE, 1, "100"), 0);
    make_failure((struct nk_rec_failure){.kind = NK_FAILED_PROBE, .result = 209, .kernel = kernel}, "api", 5);
    read_back();
    assert_int_equal(sums.launched, 0);
    assert_int_equal(sums.missing, 0);
    assert_int_equal(sums.asked, 1);
}

static void a_kernel_that_fails_in_two_ways_is_one_kernel(void **state)
{
    (void)state;
    uint32_t kernel = make_kernel("k", make_container(0, NK_ORIGIN_MODULE, 1, "100"), 9);
    make_failure((struct nk_rec_failure){.kind = NK_FAILED_LAUNCH, .result = 209, .kernel = kernel}, "a", 1);
    make_failure((struct nk_rec_failure){.kind = NK_FAILED_GRAPH, .result = 209, .kernel = kernel}, "b", 1);
    read_back();
    assert_int_equal(sums.missing, 1);
    assert_int_equal(sums.launched, 1);
}

static void the_last_package_of_a_library_counts(void **state)
{
    (void)state;
    uint32_t library = make_library("/a.so", "first", "1");
    struct nk_rec_package p = {library, text("second"), text("2"), text("conda"), 0, 0},
                          lost = {77, text("x"), 0, 0, 0, 0};
    ADD(PACKAGE, p);
    ADD(PACKAGE, lost);
    read_back();
    assert_string_equal(run.libraries[0].package, "second");
    assert_string_equal(run.libraries[0].source, "conda");
    assert_int_equal(run.reader.skipped, 1); // the one of no library
}

static void ids_that_lead_nowhere_are_nothing_worse_than_unknown(void **state)
{
    (void)state;
    make_kernel("k", 99, 1);
    make_failure((struct nk_rec_failure){.kind = NK_FAILED_LAUNCH,
                                         .result = 209,
                                         .kernel = 99,
                                         .container = 98,
                                         .library = 97,
                                         .stack = 96,
                                         .gpu = 95},
                 "api", 1);
    read_back();
    assert_null(run.failures[0].kernel);
    assert_null(run.failures[0].gpu);
    assert_null(run.kernels[0].container);
    assert_int_equal(run.failures[0].class, NK_CLASS_MISSING);
}

static void what_a_kernel_is_held_by_decides_its_verdict(void **state)
{
    (void)state;
    uint32_t box = make_container(0, NK_ORIGIN_MODULE, 1, "90 100");
    uint32_t present = make_kernel("p", box, 1), absent = make_kernel("a", box, 0), hollow = make_kernel("h", box, 1);
    make_holds(present, "PP");
    make_holds(absent, "AP");
    make_holds(hollow, "HP");
    read_back();
    assert_int_equal(nk_sums_kernel(&run, &run.kernels[present - 1], run.gpus).runs, NK_RUNS_NATIVE);
    assert_int_equal(nk_sums_kernel(&run, &run.kernels[absent - 1], run.gpus).runs, NK_RUNS_NONE);
    assert_int_equal(nk_sums_kernel(&run, &run.kernels[hollow - 1], run.gpus).runs, NK_RUNS_HOLLOW);
    assert_int_equal(sums.hollow, 1);
}

static void with_gpus_of_several_architectures_launch_counts_contradict_nothing(void **state)
{
    (void)state;
    make_kernel("k", make_container(0, NK_ORIGIN_MODULE, 1, "100"), 3);
    make_gpu(1, 100, "B200");
    read_back();
    assert_int_equal(sums.contradictions, 0);
}

// The report of a recording that ends after any byte: never more than the whole one tells, and never a crash.
static void a_recording_cut_at_any_byte_still_gives_a_report(void **state)
{
    (void)state;
    make_end();
    unlink(made);
    make_torch_on_5090();
    off_t whole = (off_t)maker.end;
    struct nk_text_options options = {0};
    const char *path = made;
    for (off_t size = whole; size >= (off_t)sizeof(struct nk_file_header); size--) {
        struct nk_buf out = {0};
        assert_int_equal(truncate(made, size), 0);
        assert_int_equal(nk_report_text(&path, 1, &options, &out, NULL), 0);
        assert_int_equal(strncmp(out.data, "nokernel: ", 10), 0);
        nk_buf_free(&out);
    }
    read_back();
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        T(coverage_follows_from_all_containers_of_a_library),
        T(scanned_containers_stand_for_the_library_where_there_are_any),
        T(of_a_container_that_is_written_again_the_later_images_count),
        T(relocatable_and_empty_containers_do_not_count),
        T(architectures_of_a_library_are_listed_once_and_in_order),
        T(a_failure_is_classed_by_what_was_called_and_what_came_back),
        T(a_file_that_is_no_image_is_not_a_missing_one),
        T(an_invalid_handle_of_a_container_refused_at_start_up_is_a_missing_image),
        T(counts_come_from_the_counters),
        T(a_failure_whose_counter_is_lost_counts_once),
        T(a_query_does_not_count_as_a_failed_launch_of_its_kernel),
        T(a_kernel_that_fails_in_two_ways_is_one_kernel),
        T(the_last_package_of_a_library_counts),
        T(ids_that_lead_nowhere_are_nothing_worse_than_unknown),
        T(what_a_kernel_is_held_by_decides_its_verdict),
        T(with_gpus_of_several_architectures_launch_counts_contradict_nothing),
        T(a_recording_cut_at_any_byte_still_gives_a_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
