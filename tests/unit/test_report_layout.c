// test_report_layout.c - how the text report looks: width, colour, redaction, several recordings.
#define _GNU_SOURCE
#include "report_says.h"

static void home_directories_are_redacted_unless_asked(void **state)
{
    (void)state;
    for (int full = 0; full < 2; full++) {
        make_begin();
        make_gpu(0, 120, "");
        uint32_t library = make_library("/home/anna/app/libk.so", NULL, NULL);
        uint32_t kernel = make_kernel("work", make_container(library, NK_ORIGIN_LIBRARY, 1, "80"), 1);
        make_failure((struct nk_rec_failure){.kind = NK_FAILED_LAUNCH, .result = 209, .kernel = kernel},
                     "cuLaunchKernel", 1);
        make_end();
        char *t = report_with(&(struct nk_text_options){.full_paths = full});
        says(t, full ? "    in    /home/anna/app/libk.so\n" : "    in    ~/app/libk.so\n");
        free(t);
    }
}

static void control_characters_of_a_recording_do_not_reach_the_terminal(void **state)
{
    (void)state;
    make_begin();
    make_gpu(0, 120, "\033[2J\302\233");
    uint32_t kernel = make_kernel("a\nb\tc", make_container(0, NK_ORIGIN_MODULE, 1, "80"), 1);
    make_failure((struct nk_rec_failure){.kind = NK_FAILED_LAUNCH, .result = 209, .kernel = kernel}, "cuLaunchKernel",
                 1);
    make_end();
    char *t = report();
    says(t, "a?b?c");
    says(t, "?[2J??, sm_120");
    keeps_quiet_about(t, "\033");
    free(t);
}

static void colour_comes_only_when_asked(void **state)
{
    (void)state;
    make_torch_on_5090();
    char *t = report_with(&(struct nk_text_options){.colour = true});
    says(t, "\033[1;31mFAILED\033[0m");
    free(t);
}

static void no_line_is_wider_than_asked(void **state)
{
    (void)state;
    make_torch_on_5090();
    char *t = report_with(&(struct nk_text_options){.columns = 60});
    for (char *line = strtok(t, "\n"); line; line = strtok(NULL, "\n"))
        if (strlen(line) > 60) fail_msg("%zu columns: %s", strlen(line), line);
    free(t);
}

static void several_recordings_are_told_apart(void **state)
{
    (void)state;
    char first[256];
    small_program(0, 80, "80", 5);
    make_end();
    snprintf(first, sizeof first, "%s", made);
    small_program(0, 90, "90", 5);
    make_end();
    const char *paths[] = {first, "/nowhere.nkr", made};
    struct nk_buf out = {0};
    struct nk_err err = {0};
    assert_int_equal(nk_report_text(paths, 3, &(struct nk_text_options){.columns = 100}, &out, &err), -1);
    assert_non_null(strstr(err.text, "/nowhere.nkr"));
    expect(out.data, "nokernel: app (process 7): 1 kernel launched, it had an image for this GPU (sm_80)\n"
                     "nokernel: app (process 7): 1 kernel launched, it had an image for this GPU (sm_90)\n");
    unlink(first);
    unlink(made);
}

static void words_that_fit_on_no_line_stay_whole(void **state)
{
    (void)state;
    make_begin();
    make_gpu(0, 120, "");
    uint32_t library =
        make_library("/a/path/that/is/longer/than/the/line/that/it/has/to/stand/on/libk.so", "pack", "1");
    uint32_t kernel = make_kernel("work", make_container(library, NK_ORIGIN_LIBRARY, 1, "80"), 1);
    make_failure((struct nk_rec_failure){.kind = NK_FAILED_LAUNCH, .result = 209, .kernel = kernel}, "cuLaunchKernel",
                 1);
    make_end();
    char *t = report_with(&(struct nk_text_options){.columns = 50});
    says(t, "    in    pack 1\n"
            "          /a/path/that/is/longer/than/the/line/that/it/has/to/stand/on/libk.so\n");
    free(t);
}

int main(void)
{
#define T(name) cmocka_unit_test(name)
    const struct CMUnitTest tests[] = {
        T(home_directories_are_redacted_unless_asked),
        T(control_characters_of_a_recording_do_not_reach_the_terminal),
        T(colour_comes_only_when_asked),
        T(no_line_is_wider_than_asked),
        T(several_recordings_are_told_apart),
        T(words_that_fit_on_no_line_stay_whole),
    };
    setenv("HOME", "/nobody", 1);
    setenv("NOKERNEL_LANG", "en", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
