// test_report_python.c - the Python lines of a failure, as the report shows them.
#define _GNU_SOURCE
#include "report_says.h"

#include "report/json.h"

struct frame {
    const char *file, *function;
    uint32_t line;
};

static uint32_t make_python(const struct frame *frames, uint32_t count)
{
    struct nk_rec_python_frame list[16];
    for (uint32_t i = 0; i < count; i++)
        list[i] = (struct nk_rec_python_frame){text(frames[i].file), text(frames[i].function), frames[i].line};
    struct nk_rec_python python = {.id = 1, .n = count};
    nk_writer_add(&maker, NK_REC_PYTHON, &python, sizeof python, list, count * sizeof *list);
    return 1;
}

// A program that was started in /data/project, and failed with this Python stack and one native frame.
static void make_failing(const struct frame *frames, uint32_t count)
{
    make_begin();
    struct nk_rec_process p = {.pid = 7, .exe = text("/usr/bin/python3"), .directory = text("/data/project")};
    ADD(PROCESS, p);
    make_gpu(0, 120, "");
    uint32_t library = make_library("/opt/libk.so", NULL, NULL);
    uint32_t kernel = make_kernel("work", make_container(library, NK_ORIGIN_LIBRARY, 1, "80"), 0);
    make_failure((struct nk_rec_failure){.kind = NK_FAILED_LAUNCH,
                                         .result = 209,
                                         .kernel = kernel,
                                         .stack = make_stack(library, "native", library, "below"),
                                         .python = make_python(frames, count)},
                 "cuLaunchKernel", 1);
    make_exit(1);
    make_end();
}
#define FAILING(...)                                                                                                   \
    do {                                                                                                               \
        static const struct frame frames[] = {__VA_ARGS__};                                                            \
        make_failing(frames, sizeof frames / sizeof *frames);                                                          \
    } while (0)

// The rows of the two stacks.
static void expect_rows(const struct nk_text_options *options, const char *expected)
{
    char *all = report_with(options), *at = strstr(all, "    at    ");
    assert_non_null(at);
    size_t size = strlen(expected);
    if (strncmp(at, expected, size)) fail_msg("expected:\n%sin:\n%s", expected, at);
    free(all);
}

static void expect_at(const char *expected) { expect_rows(&(struct nk_text_options){0}, expected); }

static void python_lines_stand_above_the_native_stack(void **state)
{
    (void)state;
    FAILING({"/data/project/train.py", "forward", 12}, {"/data/project/train.py", "main", 23});
    expect_at("    at    train.py:12 in forward  <-  train.py:23 in main\n"
              "          native  libk.so\n"
              "          below  libk.so\n");
}

static void frames_that_do_not_fit_on_a_line_go_to_the_next(void **state)
{
    (void)state;
    FAILING({"/data/project/train.py", "forward_of_a_rather_long_name", 12}, {"/data/project/train.py", "main", 23},
            {"/data/project/train.py", "<module>", 34});
    expect_at("    at    train.py:12 in forward_of_a_rather_long_name  <-  train.py:23 in main\n"
              "          <-  train.py:34 in <module>\n"
              "          native");
}

static void the_programs_own_frames_are_preferred(void **state)
{
    (void)state;
    FAILING({"/data/project/.venv/lib/python3.11/site-packages/torch/nn/functional.py", "linear", 2},
            {"/usr/lib/python3/dist-packages/numpy/core.py", "dot", 2}, {"/data/project/model.py", "forward", 5},
            {"/usr/lib/python3.13t/threading.py", "run", 3}, {"<frozen runpy>", "_run_code", 88});
    expect_at("    at    model.py:5 in forward\n          native");
}

static void frames_of_packages_are_shown_where_there_are_no_others(void **state)
{
    (void)state;
    FAILING({"/v/lib/python3.11/site-packages/torch/nn/functional.py", "linear", 2},
            {"/usr/lib/python3.11/runpy.py", "_run_code", 88});
    expect_at("    at    torch/nn/functional.py:2 in linear\n"
              "          <-  /usr/lib/python3.11/runpy.py:88 in _run_code\n"
              "          native");
}

static void only_the_innermost_four_are_shown(void **state)
{
    (void)state;
    FAILING({"a.py", "f", 1}, {"a.py", "g", 2}, {"a.py", "h", 3}, {"a.py", "i", 4}, {"a.py", "j", 5});
    expect_at("    at    a.py:1 in f  <-  a.py:2 in g  <-  a.py:3 in h  <-  a.py:4 in i\n          native");
}

static void files_are_named_from_where_python_looks_for_modules(void **state)
{
    (void)state;
    FAILING({"/srv/app/models/unet.py", "forward", 7}, {"/srv/other/util.py", "call", 8},
            {"/data/project/plugins/x.py", "hook", 9}, {"/srv/app/main.py", "<module>", 1});
    expect_at("    at    models/unet.py:7 in forward  <-  util.py:8 in call\n"
              "          <-  plugins/x.py:9 in hook  <-  main.py:1 in <module>\n");
}

static void a_file_whose_name_says_nothing_is_named_with_its_package(void **state)
{
    (void)state;
    FAILING({"/srv/other/tools/__init__.py", "f", 7}, {"<string>", "<module>", 1});
    expect_at("    at    tools/__init__.py:7 in f  <-  <string>:1 in <module>\n");
}

static void a_line_that_is_not_known_is_left_out(void **state)
{
    (void)state;
    FAILING({"/data/project/train.py", "forward", 0});
    expect_at("    at    train.py in forward\n");
}

static void full_paths_are_shown_when_asked_for(void **state)
{
    (void)state;
    FAILING({"/home/me/train.py", "forward", 12});
    expect_rows(&(struct nk_text_options){.full_paths = true}, "    at    /home/me/train.py:12 in forward\n");
}

static void json_has_all_frames_and_hides_home_directories(void **state)
{
    (void)state;
    struct nk_buf out = {0};
    struct nk_err err = {0};
    const char *path = made;
    FAILING({"/home/me/project/train.py", "forward", 12}, {"/usr/lib/python3.11/runpy.py", "run", 0});
    assert_int_equal(nk_report_json(&path, 1, &(struct nk_text_options){0}, &out, &err), 0);
    says(out.data, "\"file\": \"~/project/train.py\",\n     \"line\": 12,\n     \"function\": \"forward\"");
    says(out.data, "\"file\": \"/usr/lib/python3.11/runpy.py\",\n     \"line\": null,\n     \"function\": \"run\"");
    unlink(made);
    nk_buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(python_lines_stand_above_the_native_stack),
        cmocka_unit_test(frames_that_do_not_fit_on_a_line_go_to_the_next),
        cmocka_unit_test(the_programs_own_frames_are_preferred),
        cmocka_unit_test(frames_of_packages_are_shown_where_there_are_no_others),
        cmocka_unit_test(only_the_innermost_four_are_shown),
        cmocka_unit_test(files_are_named_from_where_python_looks_for_modules),
        cmocka_unit_test(a_file_whose_name_says_nothing_is_named_with_its_package),
        cmocka_unit_test(a_line_that_is_not_known_is_left_out),
        cmocka_unit_test(full_paths_are_shown_when_asked_for),
        cmocka_unit_test(json_has_all_frames_and_hides_home_directories),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
