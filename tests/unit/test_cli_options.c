// test_cli_options.c - the words of a command line: options, mistakes and what is said about them; finding recordings.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

// The command is no library: its parts are compiled in here.
#include "../../src/cli/command.c"
#include "../../src/cli/recordings.c"

#include "recording_maker.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>

static const struct nk_command command = {"test", "", "the help\n", NULL};
static const char *value;
static bool flag;
static int argc;
static char *argv[8];

static char said[1024]; // what went to stderr and stdout

static int options(int stop, ...)
{
    static const struct nk_option list[] = {{"--value", &value, NULL}, {"--flag", NULL, &flag}, {0}};
    va_list words;
    va_start(words, stop);
    argv[0] = strdup("test");
    for (argc = 1; argc < 8; argc++)
        if (!(argv[argc] = va_arg(words, char *))) break;
    va_end(words);
    value = NULL;
    flag = false;
    int file = memfd_create("said", 0), out = dup(1), err = dup(2);
    dup2(file, 1);
    dup2(file, 2);
    int code = nk_cli_options(&argc, argv, list, stop, &command);
    dup2(out, 1);
    dup2(err, 2);
    ssize_t n = pread(file, said, sizeof said - 1, 0);
    said[n < 0 ? 0 : n] = 0;
    close(file);
    close(out);
    close(err);
    free(argv[0]);
    return code;
}

static void a_value_may_stand_apart_or_behind_an_equals_sign(void **state)
{
    (void)state;
    assert_int_equal(options(false, "--value", "a", NULL), 0);
    assert_string_equal(value, "a");
    assert_int_equal(options(false, "--value=b=c", NULL), 0);
    assert_string_equal(value, "b=c");
}

static void operands_and_options_mix(void **state)
{
    (void)state;
    assert_int_equal(options(false, "x", "--flag", "y", NULL), 0);
    assert_true(flag);
    assert_int_equal(argc, 3);
    assert_string_equal(argv[1], "x");
    assert_string_equal(argv[2], "y");
}

static void a_command_to_run_keeps_its_own_options(void **state)
{
    (void)state;
    assert_int_equal(options(true, "--flag", "prog", "--value", "--unknown", NULL), 0);
    assert_int_equal(argc, 4);
    assert_string_equal(argv[2], "--value");
    assert_null(value);
}

static void two_dashes_end_the_options(void **state)
{
    (void)state;
    assert_int_equal(options(false, "--flag", "--", "--value", NULL), 0);
    assert_int_equal(argc, 2);
    assert_string_equal(argv[1], "--value");
}

static void an_unknown_option_is_answered_with_the_nearest(void **state)
{
    (void)state;
    assert_int_equal(options(false, "--vaule", NULL), NK_EXIT_USAGE);
    assert_non_null(strstr(said, "there is no option --vaule (did you mean --value?)"));
    assert_int_equal(options(false, "--zzzzzzzzzz", NULL), NK_EXIT_USAGE);
    assert_null(strstr(said, "did you mean"));
}

static void a_missing_and_an_unwanted_value_are_told(void **state)
{
    (void)state;
    assert_int_equal(options(false, "--value", NULL), NK_EXIT_USAGE);
    assert_non_null(strstr(said, "--value needs a value"));
    assert_int_equal(options(false, "--flag=1", NULL), NK_EXIT_USAGE);
    assert_non_null(strstr(said, "--flag takes no value"));
}

static void help_goes_to_stdout_and_ends_the_command(void **state)
{
    (void)state;
    assert_int_equal(options(false, "--help", "--nonsense", NULL), -1);
    assert_string_equal(said, "the help\n");
}

static void a_reader_that_went_away_is_no_error(void **state)
{
    (void)state;
    int ends[2];
    struct nk_buf text = {0};
    nk_buf_text(&text, "words");
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    assert_int_equal(nk_cli_write(ends[1], &text), NK_EXIT_OK);
    close(ends[1]);
    int full = open("/dev/full", O_WRONLY), err = dup(2), null = open("/dev/null", O_WRONLY);
    dup2(null, 2);
    int code = nk_cli_write(full, &text);
    dup2(err, 2);
    assert_int_equal(code, NK_EXIT_OUTPUT);
    nk_buf_free(&text);
}

// ---- recordings

static char folder[] = "/tmp/nk-cli-XXXXXX";

static void make_at(const char *name, uint64_t started, long modified)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (nk_writer_open(&maker, path, NULL)) fail_msg("%s", path);
    struct nk_rec_process process = {.started = started};
    ADD(PROCESS, process);
    make_end();
    struct timeval times[2] = {{modified, 0}, {modified, 0}};
    utimes(path, times);
}

static bool ends_in(const char *path, const char *end)
{
    size_t a = strlen(path), b = strlen(end);
    return a >= b && !strcmp(path + a - b, end);
}

static void recordings_of_a_folder_come_in_the_order_of_their_processes(void **state)
{
    (void)state;
    struct nk_recordings list = {0};
    make_at("a.nkr", 30, 1);
    make_at("b.nkr", 10, 2);
    make_at("c.txt", 20, 3);
    assert_int_equal(nk_recordings_add_folder(&list, folder, NULL), 0);
    assert_int_equal(list.count, 2);
    assert_true(ends_in(list.path[0], "/b.nkr"));
    assert_true(ends_in(list.path[1], "/a.nkr"));
    nk_recordings_free(&list);
}

static void the_last_recording_is_the_newest_one(void **state)
{
    (void)state;
    struct nk_recordings list = {0};
    setenv("NOKERNEL_DIR", folder, 1);
    assert_int_equal(nk_recordings_add_last(&list, NULL), 0);
    assert_int_equal(list.count, 1);
    assert_true(ends_in(list.path[0], "/b.nkr"));
    nk_recordings_free(&list);
}

static void the_last_run_is_taken_whole(void **state)
{
    (void)state;
    struct nk_recordings list = {0};
    char run[64];
    snprintf(run, sizeof run, "%s/run-1", folder);
    assert_int_equal(mkdir(run, 0700), 0);
    make_at("run-1/x.nkr", 1, 1);
    make_at("run-1/y.nkr", 2, 9);
    assert_int_equal(nk_recordings_add_last(&list, NULL), 0);
    assert_int_equal(list.count, 2);
    assert_true(ends_in(list.path[0], "/run-1/x.nkr"));
    nk_recordings_free(&list);
}

static void without_a_recording_the_folder_is_named(void **state)
{
    (void)state;
    struct nk_recordings list = {0};
    struct nk_err err = {0};
    setenv("NOKERNEL_DIR", "/nowhere/at/all", 1);
    assert_int_equal(nk_recordings_add_last(&list, &err), -1);
    assert_non_null(strstr(err.text, "/nowhere/at/all"));
}

int main(void)
{
#define T(name) cmocka_unit_test(name)
    const struct CMUnitTest tests[] = {
        T(a_value_may_stand_apart_or_behind_an_equals_sign),
        T(operands_and_options_mix),
        T(a_command_to_run_keeps_its_own_options),
        T(two_dashes_end_the_options),
        T(an_unknown_option_is_answered_with_the_nearest),
        T(a_missing_and_an_unwanted_value_are_told),
        T(help_goes_to_stdout_and_ends_the_command),
        T(a_reader_that_went_away_is_no_error),
        T(recordings_of_a_folder_come_in_the_order_of_their_processes),
        T(the_last_recording_is_the_newest_one),
        T(the_last_run_is_taken_whole),
        T(without_a_recording_the_folder_is_named),
    };
    if (!mkdtemp(folder)) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    static const char *const left[] = {"run-1/x.nkr", "run-1/y.nkr", "run-1", "a.nkr", "b.nkr", "c.txt", ""};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        char path[300];
        snprintf(path, sizeof path, "%s/%s", folder, left[i]);
        if (unlink(path)) rmdir(path);
    }
    return failed;
}
