// report_says.h - the report of a recording that was just made, and what it must and must not say.
#ifndef NK_TEST_REPORT_SAYS_H
#define NK_TEST_REPORT_SAYS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "recording_maker.h"
#include "report/text.h"

__attribute__((unused)) static char *report_with(const struct nk_text_options *options)
{
    struct nk_buf out = {0};
    struct nk_err err = {0};
    const char *path = made;
    if (nk_report_text(&path, 1, options, &out, &err)) fail_msg("%s", err.text);
    unlink(made);
    // The folder's name is chance: what stands before it is compared.
    char *recording = strstr(out.data, "\n  recording");
    if (recording) *recording = 0;
    return out.data;
}

__attribute__((unused)) static char *report(void) { return report_with(&(struct nk_text_options){0}); }

__attribute__((unused)) static void expect(char *text, const char *expected)
{
    assert_string_equal(text, expected);
    free(text);
}

__attribute__((unused)) static void says(char *text, const char *part)
{
    assert_non_null(text);
    if (!strstr(text, part)) fail_msg("expected: %s\nin: %s", part, text);
}

__attribute__((unused)) static void keeps_quiet_about(const char *text, const char *part)
{
    if (strstr(text, part)) fail_msg("not expected: %s\nin: %s", part, text);
}

__attribute__((unused)) static uint32_t small_program(int32_t status, uint32_t sm, const char *images,
                                                      uint64_t launches)
{
    make_begin();
    make_process(7, "/opt/app", "x");
    make_driver("", 12040);
    make_gpu(0, sm, "");
    uint32_t library = make_library("/opt/libk.so", NULL, NULL);
    uint32_t kernel = make_kernel("work", make_container(library, NK_ORIGIN_LIBRARY, 1, images), launches);
    if (status >= 0) make_exit(status);
    return kernel;
}

#endif
