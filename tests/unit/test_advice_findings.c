// test_advice_findings.c - the catalogue of what doctor can find: whole in both languages, and its codes are stable.
#include "advice/explain.h"
#include "advice/findings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void places(const char *text, int count[10])
{
    memset(count, 0, 10 * sizeof *count);
    for (; *text; text++)
        if (text[0] == '{' && text[1] >= '1' && text[1] <= '9' && text[2] == '}') count[text[1] - '0'] = 1;
}

static void same_places(const char *code, const char *const text[NK_LANGUAGES])
{
    int a[10], b[10];
    places(text[NK_ENGLISH], a);
    places(text[NK_CHINESE], b);
    if (memcmp(a, b, sizeof a)) fail_msg("%s: \"%s\" has other placeholders in Chinese", code, text[NK_ENGLISH]);
    if (!*text[NK_ENGLISH] != !*text[NK_CHINESE]) fail_msg("%s: one language is empty", code);
}

static void both_languages_put_in_the_same(void **state)
{
    (void)state;
    for (int i = 0; i < NK_FINDING_COUNT; i++) {
        const struct nk_finding_text *f = nk_finding((enum nk_finding_name)i);
        same_places(f->code, f->sentence);
        same_places(f->code, f->means);
        same_places(f->code, f->not_means);
        same_places(f->code, f->remedy);
    }
}

static void each_says_what_it_means_and_what_not_and_how_to_verify(void **state)
{
    (void)state;
    for (int i = 0; i < NK_FINDING_COUNT; i++) {
        const struct nk_finding_text *f = nk_finding((enum nk_finding_name)i);
        if (!*f->sentence[0] || !*f->means[0] || !*f->not_means[0] || !*f->verify) fail_msg("%s is not whole", f->code);
        if (*f->command && !*f->remedy[0]) fail_msg("%s has a command that nothing introduces", f->code);
    }
}

static void no_text_ends_with_a_full_stop(void **state)
{
    (void)state;
    for (int i = 0; i < NK_FINDING_COUNT; i++) {
        const struct nk_finding_text *f = nk_finding((enum nk_finding_name)i);
        const char *const texts[] = {f->sentence[0], f->means[0], f->not_means[0], f->remedy[0]};
        for (size_t t = 0; t < 4; t++)
            if (*texts[t] && texts[t][strlen(texts[t]) - 1] == '.') fail_msg("%s: \"%s\"", f->code, texts[t]);
    }
}

static void codes_rise(void **state)
{
    (void)state;
    for (int i = 1; i < NK_FINDING_COUNT; i++)
        assert_true(strcmp(nk_finding((enum nk_finding_name)i - 1)->code, nk_finding((enum nk_finding_name)i)->code) <
                    0);
}

// A script that waits for a code must find the same thing behind it next year.
static void codes_keep_their_meaning(void **state)
{
    (void)state;
    assert_string_equal(nk_finding(NK_FINDING_NO_DRIVER)->code, "D101");
    assert_string_equal(nk_finding(NK_FINDING_STUB)->code, "D103");
    assert_string_equal(nk_finding(NK_FINDING_HIDDEN)->code, "D110");
    assert_string_equal(nk_finding(NK_FINDING_FORCE_PTX)->code, "D201");
    assert_string_equal(nk_finding(NK_FINDING_USER_SITE)->code, "D304");
    assert_string_equal(nk_finding(NK_FINDING_CPU_BUILD)->code, "D402");
    assert_string_equal(nk_finding(NK_FINDING_PAIR)->code, "D407");
    assert_string_equal(nk_finding(NK_FINDING_LIBRARY_MISSING)->code, "D501");
    assert_string_equal(nk_finding(NK_FINDING_REFUSED)->code, "D601");
    assert_string_equal(nk_finding(NK_FINDING_COMPILER)->code, "D704");
    assert_string_equal(nk_finding(NK_FINDING_COVER_NONE)->code, "D602");
}

static void explain_knows_every_code(void **state)
{
    (void)state;
    for (int i = 0; i < NK_FINDING_COUNT; i++) {
        struct nk_explained explained;
        const char *code = nk_finding((enum nk_finding_name)i)->code;
        assert_true(nk_explain(code, &explained));
        assert_string_equal(explained.kind, "finding");
        assert_non_null(strstr(explained.title.data, code));
        nk_explained_free(&explained);
    }
}

static void explain_lists_them(void **state)
{
    (void)state;
    struct nk_explained explained;
    assert_true(nk_explain("findings", &explained));
    assert_int_equal(explained.count, 1);
    for (int i = 0; i < NK_FINDING_COUNT; i++)
        assert_non_null(strstr(explained.row[0].text.data, nk_finding((enum nk_finding_name)i)->code));
    nk_explained_free(&explained);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_languages_put_in_the_same),
        cmocka_unit_test(each_says_what_it_means_and_what_not_and_how_to_verify),
        cmocka_unit_test(no_text_ends_with_a_full_stop),
        cmocka_unit_test(codes_rise),
        cmocka_unit_test(codes_keep_their_meaning),
        cmocka_unit_test(explain_knows_every_code),
        cmocka_unit_test(explain_lists_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
