// test_advice_texts.c - the catalogue is complete in both languages, and the reader's language is found.
#define _GNU_SOURCE
#include "advice.h"

static const char *key(enum nk_text text)
{
    static const char *const keys[] = {
#define NK_TEXT(key, english, chinese) #key,
#include "advice/texts.def"
#undef NK_TEXT
    };
    return keys[text];
}

static void every_text_is_there_in_both_languages(void **state)
{
    (void)state;
    for (int t = 0; t < NK_TEXT_COUNT; t++)
        for (int l = 0; l < NK_LANGUAGES; l++)
            if (!*nk_text_raw((enum nk_language)l, (enum nk_text)t)) fail_msg("%s is empty", key((enum nk_text)t));
}

static void both_languages_put_in_the_same_values(void **state)
{
    (void)state;
    for (int t = 0; t < NK_TEXT_COUNT; t++)
        for (char mark[] = "{1}"; mark[1] <= '4'; mark[1]++)
            if (!strstr(nk_text_raw(NK_ENGLISH, (enum nk_text)t), mark) !=
                !strstr(nk_text_raw(NK_CHINESE, (enum nk_text)t), mark))
                fail_msg("%s: %s stands in one language only", key((enum nk_text)t), mark);
}

static void english_is_ascii_and_chinese_is_not(void **state)
{
    (void)state;
    for (int t = 0; t < NK_TEXT_COUNT; t++) {
        bool wide[2] = {false, false};
        for (int l = 0; l < 2; l++)
            for (const char *c = nk_text_raw((enum nk_language)l, (enum nk_text)t); *c; c++)
                wide[l] |= (*c & 0x80) != 0;
        if (wide[0] || !wide[1]) fail_msg("%s: is this its language?", key((enum nk_text)t));
    }
}

static void commands_and_names_are_the_same_in_both_languages(void **state)
{
    (void)state;
    static const char *const words[] = {"CUDA_DISABLE_PTX_JIT=1",        "CUDA_FORCE_PTX_JIT=1",
                                        "CUDA_VISIBLE_DEVICES",          "CMAKE_CUDA_ARCHITECTURES",
                                        "libnvidia-ptxjitcompiler.so.1", "--compress-mode=speed"};
    for (int t = 0; t < NK_TEXT_COUNT; t++)
        for (size_t i = 0; i < COUNT(words); i++)
            if (!strstr(nk_text_raw(NK_ENGLISH, (enum nk_text)t), words[i]) !=
                !strstr(nk_text_raw(NK_CHINESE, (enum nk_text)t), words[i]))
                fail_msg("%s: %s stands in one language only", key((enum nk_text)t), words[i]);
}

static enum nk_language with(const char *own, const char *all, const char *messages, const char *lang)
{
    setenv("NOKERNEL_LANG", own, 1);
    setenv("LC_ALL", all, 1);
    setenv("LC_MESSAGES", messages, 1);
    setenv("LANG", lang, 1);
    return nk_text_language();
}

static void the_own_setting_comes_before_the_locale(void **state)
{
    (void)state;
    assert_int_equal(with("zh", "en_US.UTF-8", "", ""), NK_CHINESE);
    assert_int_equal(with("en", "zh_CN.UTF-8", "zh_CN", "zh_CN"), NK_ENGLISH);
}

static void of_the_locale_the_first_variable_that_is_set_decides(void **state)
{
    (void)state;
    assert_int_equal(with("", "", "", "zh_CN.UTF-8"), NK_CHINESE);
    assert_int_equal(with("", "", "zh_CN.UTF-8", "en_US.UTF-8"), NK_CHINESE);
    assert_int_equal(with("", "C", "zh_CN.UTF-8", "zh_CN.UTF-8"), NK_ENGLISH);
    assert_int_equal(with("", "", "", ""), NK_ENGLISH);
    assert_int_equal(with("", "", "", "de_DE.UTF-8"), NK_ENGLISH);
}

static void advice_in_chinese_has_the_commands_of_the_english_one(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("torch", "2.4.1+cu121", 120, 13000);
    struct nk_advice chinese;
    says(&about, "torch 2.7.0 or newer");
    nk_advise(&about, NK_CHINESE, &chinese);
    assert_int_equal(chinese.count, given.count);
    for (size_t i = 0; i < given.count; i++) {
        assert_string_equal(chinese.repair[i].command.data, given.repair[i].command.data);
        assert_string_not_equal(chinese.repair[i].text.data, given.repair[i].text.data);
    }
    nk_advice_free(&chinese);
}

int main(void)
{
#define T(name) cmocka_unit_test(name)
    const struct CMUnitTest tests[] = {
        T(every_text_is_there_in_both_languages),
        T(both_languages_put_in_the_same_values),
        T(english_is_ascii_and_chinese_is_not),
        T(commands_and_names_are_the_same_in_both_languages),
        T(the_own_setting_comes_before_the_locale),
        T(of_the_locale_the_first_variable_that_is_set_decides),
        T(advice_in_chinese_has_the_commands_of_the_english_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
