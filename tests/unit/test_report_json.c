// test_report_json.c - the JSON report: its members, and that the published schema knows every one of them.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "recording_maker.h"
#include "report/json.h"
#include "report/markdown.h"

#include <jansson.h>

static json_t *report_of(const char *const *paths, size_t count, const struct nk_text_options *options)
{
    struct nk_buf out = {0};
    struct nk_err err = {0};
    json_error_t where;
    if (nk_report_json(paths, count, options, &out, &err)) fail_msg("%s", err.text);
    json_t *root = json_loads(out.data, JSON_REJECT_DUPLICATES, &where);
    if (!root) fail_msg("line %d: %s", where.line, where.text);
    nk_buf_free(&out);
    return root;
}

static json_t *report(void)
{
    const char *path = made;
    json_t *root = report_of(&path, 1, &(struct nk_text_options){0});
    unlink(made);
    return root;
}

// Follows "failures.0.has.1".
static json_t *at(json_t *from, const char *path)
{
    char words[128], *state = NULL;
    snprintf(words, sizeof words, "%s", path);
    for (char *word = strtok_r(words, ".", &state); word; word = strtok_r(NULL, ".", &state)) {
        from = json_is_array(from) ? json_array_get(from, strtoul(word, NULL, 10)) : json_object_get(from, word);
        if (!from) fail_msg("%s: there is no %s", path, word);
    }
    return from;
}

#define SAYS(root, path, expected)   assert_string_equal(json_string_value(at(root, path)), expected)
#define COUNTS(root, path, expected) assert_int_equal(json_integer_value(at(root, path)), expected)

static void a_failure_has_its_kernel_library_package_images_and_need(void **state)
{
    (void)state;
    make_torch_on_5090();
    json_t *root = report();
    SAYS(root, "schema", "nokernel-report/1");
    SAYS(root, "failures.0.kernel", "fill_kernel");
    SAYS(root, "failures.0.library", "~/v/lib/python3.11/site-packages/torch/lib/libtorch_cuda.so");
    SAYS(root, "failures.0.package", "torch");
    SAYS(root, "failures.0.version", "2.1.2+cu121");
    SAYS(root, "failures.0.api", "cuLaunchKernel");
    SAYS(root, "failures.0.result", "CUDA_ERROR_NO_BINARY_FOR_GPU");
    SAYS(root, "failures.0.class", "missing-image");
    SAYS(root, "failures.0.pinned", "returned");
    SAYS(root, "failures.0.reason", "no-image");
    SAYS(root, "failures.0.has.6", "sm_90");
    SAYS(root, "failures.0.needs", "sm_120 (or PTX for compute_120 or lower)");
    SAYS(root, "failures.0.native_stack.0.symbol", "launch_fill");
    COUNTS(root, "failures.0.code", 209);
    COUNTS(root, "failures.0.count", 3);
    COUNTS(root, "failures.0.gpu", 0);
    json_decref(root);
}

static void gpus_libraries_kernels_process_and_sums_are_there(void **state)
{
    (void)state;
    make_torch_on_5090();
    json_t *root = report();
    SAYS(root, "gpus.0.sm", "sm_120");
    SAYS(root, "gpus.0.cuda", "13.0");
    SAYS(root, "libraries.0.coverage.sm_120", "none");
    SAYS(root, "libraries.1.coverage.sm_120", "jit");
    SAYS(root, "libraries.1.ptx.0", "compute_90@8.0");
    SAYS(root, "libraries.2.package", "torchvision");
    SAYS(root, "kernels.0.runs", "none");
    COUNTS(root, "kernels.0.failed", 3);
    COUNTS(root, "process.pid", 4711);
    SAYS(root, "process.argv.1", "train.py");
    SAYS(root, "process.exit.how", "exit");
    COUNTS(root, "process.exit.status", 1);
    COUNTS(root, "summary.missing", 1);
    COUNTS(root, "summary.launched", 1);
    assert_true(json_is_false(at(root, "summary.healthy")));
    json_decref(root);
}

static void queries_and_refusals_at_start_up_are_listed_apart(void **state)
{
    (void)state;
    make_begin();
    make_gpu(0, 86, "");
    uint32_t library = make_library("/a.so", NULL, NULL), box = make_container(library, NK_ORIGIN_PRIVATE, 1, "75");
    make_container(library, NK_ORIGIN_PRIVATE, 1, "86");
    struct nk_rec_load load = {.container = box, .result = 209, .startup = 1};
    ADD(LOAD, load);
    make_failure((struct nk_rec_failure){.kind = NK_FAILED_PROBE, .result = 209, .container = box}, "query", 4);
    make_exit(0);
    make_end();
    json_t *root = report();
    assert_int_equal(json_array_size(at(root, "failures")), 0);
    SAYS(root, "probes.0.api", "query");
    SAYS(root, "probes.0.kind", "probe");
    COUNTS(root, "refused.0.refused", 1);
    COUNTS(root, "refused.0.containers", 2);
    assert_true(json_is_true(at(root, "summary.healthy")));
    json_decref(root);
}

static void a_killed_process_has_no_exit(void **state)
{
    (void)state;
    make_begin();
    make_process(1, "/a", "b");
    make_end();
    json_t *root = report();
    assert_true(json_is_null(at(root, "process.exit")));
    assert_true(json_is_false(at(root, "recordings.0.complete")));
    json_decref(root);
}

static void names_that_are_not_utf8_do_not_spoil_the_document(void **state)
{
    (void)state;
    make_begin();
    make_gpu(0, 86, "caf\303\251");
    make_kernel("k\377\376", make_container(make_library("/a\351.so", NULL, NULL), NK_ORIGIN_LIBRARY, 1, "86"), 1);
    make_end();
    json_t *root = report();
    SAYS(root, "kernels.0.name", "k\?\?");
    SAYS(root, "kernels.0.library", "/a?.so");
    SAYS(root, "gpus.0.name", "caf\303\251");
    json_decref(root);
}

static void several_recordings_make_one_document(void **state)
{
    (void)state;
    char first[256];
    make_begin();
    make_process(1, "/healthy", "x");
    make_gpu(0, 80, "");
    make_kernel("k", make_container(0, NK_ORIGIN_MODULE, 1, "80"), 1);
    make_exit(0);
    make_end();
    snprintf(first, sizeof first, "%s", made);
    make_torch_on_5090();
    const char *paths[] = {first, made};
    json_t *root = report_of(paths, 2, &(struct nk_text_options){0});
    assert_int_equal(json_array_size(at(root, "recordings")), 2);
    COUNTS(root, "failures.0.recording", 1);
    COUNTS(root, "kernels.0.recording", 0);
    COUNTS(root, "process.pid", 4711); // the one with the failure
    COUNTS(root, "summary.launched", 2);
    json_decref(root);
    unlink(first);
    unlink(made);
}

static void another_gpu_decides_the_verdicts_when_asked_about(void **state)
{
    (void)state;
    make_torch_on_5090();
    const char *path = made;
    json_t *root = report_of(&path, 1, &(struct nk_text_options){.gpu = 86, .driver = 12040});
    SAYS(root, "kernels.0.runs", "native");
    SAYS(root, "gpus.1.sm", "sm_86");
    SAYS(root, "gpus.1.cuda", "12.4");
    SAYS(root, "libraries.0.coverage.sm_86", "native");
    SAYS(root, "failures.0.runs", "none"); // what failed stays what it was
    COUNTS(root, "summary.would_be_missing", 0);
    json_decref(root);
    unlink(made);
}

// ---- the schema

static json_t *schema;

static json_t *resolve(json_t *node)
{
    const char *ref = json_string_value(json_object_get(node, "$ref"));
    return ref ? at(at(schema, "$defs"), strrchr(ref, '/') + 1) : node;
}

static void check(json_t *value, json_t *node, const char *where);

static void check_object(json_t *value, json_t *node, const char *where)
{
    const char *name;
    json_t *member, *properties = json_object_get(node, "properties"), *required = json_object_get(node, "required");
    if (!properties) return; // free names, such as the environment's
    for (size_t i = 0; i < json_array_size(required); i++)
        if (!json_object_get(value, json_string_value(json_array_get(required, i))))
            fail_msg("%s lacks %s", where, json_string_value(json_array_get(required, i)));
    json_object_foreach(value, name, member)
    {
        json_t *known = json_object_get(properties, name);
        if (!known) fail_msg("the schema does not know %s of %s", name, where);
        check(member, known, name);
    }
}

static void check(json_t *value, json_t *node, const char *where)
{
    json_t *choices = json_object_get(node, "anyOf"), *item;
    size_t i;
    node = resolve(node);
    if (json_is_object(value)) {
        json_t *chosen = choices ? resolve(json_array_get(choices, 1)) : node;
        check_object(value, chosen, where);
    }
    if (json_is_array(value)) json_array_foreach(value, i, item) check(item, json_object_get(node, "items"), where);
}

static void every_member_stands_in_the_schema_and_none_that_it_requires_is_lacking(void **state)
{
    (void)state;
    json_error_t error;
    schema = json_load_file("include/report/schema/nokernel-report-1.json", 0, &error);
    if (!schema) fail_msg("%s (run from the top of the tree)", error.text);
    make_torch_on_5090();
    const char *path = made;
    for (int gpu = 0; gpu < 200; gpu += 80) {
        json_t *root = report_of(&path, 1, &(struct nk_text_options){.gpu = gpu});
        check(root, schema, "the document");
        json_decref(root);
    }
    unlink(made);
    json_decref(schema);
}

// ---- markdown

static void markdown_holds_a_table_and_the_report_in_a_fence(void **state)
{
    (void)state;
    make_torch_on_5090();
    struct nk_buf out = {0};
    const char *path = made;
    assert_int_equal(nk_report_markdown(&path, 1, &(struct nk_text_options){.colour = true}, &out, NULL), 0);
    assert_non_null(strstr(out.data, "| GPU | NVIDIA GeForce RTX 5090, sm_120, driver 580.65 (CUDA 13.0) |\n"));
    assert_non_null(strstr(out.data, "| Package | torch 2.1.2+cu121 |\n"));
    assert_non_null(strstr(out.data, "| Command | /usr/bin/python3 train.py |\n"));
    assert_non_null(strstr(out.data, "~~~~~~text\nnokernel: 1 kernel of 1 has no image for this GPU\n"));
    assert_null(strstr(out.data, "recording  ")); // a path on this machine is of no use to others
    assert_null(strstr(out.data, "\033"));
    nk_buf_free(&out);
    unlink(made);
}

static void a_bar_in_a_command_does_not_end_its_cell(void **state)
{
    (void)state;
    make_begin();
    make_process(1, "/bin/sh", "a | `b`");
    make_end();
    struct nk_buf out = {0};
    const char *path = made;
    assert_int_equal(nk_report_markdown(&path, 1, &(struct nk_text_options){0}, &out, NULL), 0);
    assert_non_null(strstr(out.data, "| Command | /bin/sh a \\| 'b' |\n"));
    nk_buf_free(&out);
    unlink(made);
}

int main(void)
{
#define T(name) cmocka_unit_test(name)
    const struct CMUnitTest tests[] = {
        T(a_failure_has_its_kernel_library_package_images_and_need),
        T(gpus_libraries_kernels_process_and_sums_are_there),
        T(queries_and_refusals_at_start_up_are_listed_apart),
        T(a_killed_process_has_no_exit),
        T(names_that_are_not_utf8_do_not_spoil_the_document),
        T(several_recordings_make_one_document),
        T(another_gpu_decides_the_verdicts_when_asked_about),
        T(every_member_stands_in_the_schema_and_none_that_it_requires_is_lacking),
        T(markdown_holds_a_table_and_the_report_in_a_fence),
        T(a_bar_in_a_command_does_not_end_its_cell),
    };
    setenv("HOME", "/nobody", 1);
    setenv("NOKERNEL_LANG", "en", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
