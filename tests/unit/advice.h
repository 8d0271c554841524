// advice.h - cases for the tests of the advice, and what an answer must and must not say. No test uses all of it.
#ifndef NK_TEST_ADVICE_H
#define NK_TEST_ADVICE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "advice/knowledge.h"
#include "advice/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

// A package on a GPU without any image for it.
__attribute__((unused)) static struct nk_advice_case lacking(const char *package, const char *version, int sm,
                                                             int driver)
{
    struct nk_advice_case about;
    nk_advice_case_init(&about);
    about.package = package;
    about.version = version;
    about.source = "pip";
    about.library = "/v/lib/python3.11/site-packages/p/lib.so";
    about.python = "/v/bin/python";
    about.python_version = "3.11";
    about.target = (struct nk_target){.sm = sm, .driver = driver};
    about.result = 209;
    about.verdict =
        (struct nk_verdict){.runs = NK_RUNS_NONE, .reason = NK_REASON_NO_IMAGE, .image = -1, .expected = 209};
    return about;
}

static struct nk_advice given;

// All that is said, a repair a line: text | command.
static const char *answer(const struct nk_advice_case *about)
{
    static struct nk_buf all;
    nk_advice_free(&given);
    nk_advise(about, NK_ENGLISH, &given);
    nk_buf_clear(&all);
    nk_buf_text(&all, "");
    for (size_t i = 0; i < given.count; i++)
        nk_buf_format(&all, "%s | %s\n", given.repair[i].text.data,
                      given.repair[i].command.data ? given.repair[i].command.data : "");
    return all.data ? all.data : "";
}

__attribute__((unused)) static void says(const struct nk_advice_case *about, const char *part)
{
    const char *all = answer(about);
    if (!strstr(all, part)) fail_msg("expected: %s\nin: %s", part, all);
}

__attribute__((unused)) static void never_says(const struct nk_advice_case *about, const char *part)
{
    const char *all = answer(about);
    if (strstr(all, part)) fail_msg("not expected: %s\nin: %s", part, all);
}

#endif
