// test_advice_knowledge.c - the tables have the form that the code expects, and do not contradict each other.
#define _GNU_SOURCE
#include "advice.h"
#include "driver/results.h"
#include "verdict/arch.h"

static const struct {
    const char *name, *columns, *keys;
    const struct nk_knowledge *table;
} tables[] = {
#define TABLE(table, NAME, columns, keys) {#table, columns, keys, &nk_known_##table},
    NK_KNOWLEDGE_LIST(TABLE)
#undef TABLE
};

static void every_heading_is_the_one_that_the_code_expects(void **state)
{
    (void)state;
    for (size_t t = 0; t < COUNT(tables); t++) {
        struct nk_buf heading = {0};
        for (int c = 0; c < tables[t].table->columns; c++)
            nk_buf_format(&heading, "%s%s", c ? " " : "", nk_known(tables[t].table, 0, c));
        assert_string_equal(heading.data, tables[t].columns);
        nk_buf_free(&heading);
    }
}

static void every_row_names_a_source_that_others_can_look_up(void **state)
{
    (void)state;
    for (size_t t = 0; t < COUNT(tables); t++)
        for (int row = 1; row < tables[t].table->rows; row++) {
            const char *source = nk_known(tables[t].table, row, tables[t].table->columns - 1);
            if (!*source || strstr(source, "stored") || strstr(source, "facts/"))
                fail_msg("%s, row %d: source \"%s\"", tables[t].name, row, source);
        }
}

static void every_list_of_architectures_holds_known_ones(void **state)
{
    (void)state;
    static const struct {
        const struct nk_knowledge *table;
        int column;
    } lists[] = {{&nk_known_torch_wheels, NK_WHEEL_SASS},   {&nk_known_torch_wheels, NK_WHEEL_PTX},
                 {&nk_known_torch_wheels, NK_WHEEL_LINALG}, {&nk_known_torch_wheels, NK_WHEEL_EXTRA},
                 {&nk_known_torch_domain, NK_DOMAIN_SASS},  {&nk_known_torch_domain, NK_DOMAIN_PTX},
                 {&nk_known_packages, NK_PACK_SASS},        {&nk_known_packages, NK_PACK_PTX},
                 {&nk_known_rebuild, NK_REBUILD_ARCHES}};
    for (size_t i = 0; i < COUNT(lists); i++)
        for (int row = 1; row < lists[i].table->rows; row++) {
            char copy[256], *rest = NULL;
            snprintf(copy, sizeof copy, "%s", nk_known(lists[i].table, row, lists[i].column));
            for (char *word = strtok_r(copy, ";", &rest); word; word = strtok_r(NULL, ";", &rest)) {
                struct nk_arch arch;
                if (nk_arch_parse(word, &arch, NULL) || nk_arch_kin(arch.sm) == NK_KIN_UNKNOWN)
                    fail_msg("row %d: %s", row, word);
            }
        }
}

static void no_wheel_stands_there_twice(void **state)
{
    (void)state;
    static const char *const machines[] = {"x86_64", "aarch64"};
    static struct nk_wheel wheels[NK_WHEELS_MOST];
    for (size_t m = 0; m < 2; m++) {
        size_t count = nk_wheels(wheels, machines[m]);
        assert_in_range(count, 20, NK_WHEELS_MOST - 20);
        for (size_t i = 1; i < count; i++)
            if (!strcmp(wheels[i].torch, wheels[i - 1].torch) && wheels[i].cuda == wheels[i - 1].cuda)
                fail_msg("torch %s %s on %s", wheels[i].torch, wheels[i].variant, machines[m]);
    }
}

static void every_wheel_was_built_by_a_toolkit_that_knows_its_architectures(void **state)
{
    (void)state;
    for (int row = 1; row < nk_known_torch_wheels.rows; row++) {
        char cuda[NK_NAME_TEXT], copy[256], *rest = NULL;
        nk_name_cuda(cuda, nk_version_cuda(nk_known(&nk_known_torch_wheels, row, NK_WHEEL_VARIANT)));
        snprintf(copy, sizeof copy, "%s", nk_known(&nk_known_torch_wheels, row, NK_WHEEL_SASS));
        for (char *word = strtok_r(copy, ";", &rest); word; word = strtok_r(NULL, ";", &rest)) {
            int sm = nk_known_row(&nk_known_sm_toolkit, NK_SM_SM, word);
            if (!sm) fail_msg("sm_%s has no row in sm_toolkit", word);
            const char *first = nk_known(&nk_known_sm_toolkit, sm, NK_SM_FIRST),
                       *last = nk_known(&nk_known_sm_toolkit, sm, NK_SM_LAST);
            if (nk_version_compare(cuda, first) < 0 || (*last && nk_version_compare(cuda, last) > 0))
                fail_msg("torch %s, CUDA %s: sm_%s", nk_known(&nk_known_torch_wheels, row, NK_WHEEL_TORCH), cuda, word);
        }
    }
}

static void every_toolkit_that_is_named_has_a_row(void **state)
{
    (void)state;
    for (int row = 1; row < nk_known_sm_toolkit.rows; row++) {
        const char *first = nk_known(&nk_known_sm_toolkit, row, NK_SM_FIRST),
                   *last = nk_known(&nk_known_sm_toolkit, row, NK_SM_LAST);
        if (nk_version_cuda(first) >= 8000)
            assert_int_not_equal(nk_known_row(&nk_known_cuda_versions, NK_CUDA_CUDA, first), 0);
        if (*last) assert_int_not_equal(nk_known_row(&nk_known_cuda_versions, NK_CUDA_CUDA, last), 0);
    }
}

static void toolkits_and_drivers_agree_with_the_rules_about_ptx(void **state)
{
    (void)state;
    for (int row = 1; row < nk_known_cuda_versions.rows; row++) {
        int cuda = nk_version_cuda(nk_known(&nk_known_cuda_versions, row, NK_CUDA_CUDA));
        int isa = nk_version_cuda(nk_known(&nk_known_cuda_versions, row, NK_CUDA_ISA));
        assert_int_equal(isa / 1000 * 10 + isa % 1000 / 10, nk_driver_ptx_limit(cuda, NULL));
    }
}

static void every_gpu_has_an_architecture_that_the_rules_know(void **state)
{
    (void)state;
    for (int row = 1; row < nk_known_gpus.rows; row++)
        if (nk_arch_kin(atoi(nk_known(&nk_known_gpus, row, NK_GPU_SM))) == NK_KIN_UNKNOWN)
            fail_msg("%s", nk_known(&nk_known_gpus, row, NK_GPU_NAME));
}

static void every_error_that_means_a_missing_image_is_explained(void **state)
{
    (void)state;
    static const char *const codes[] = {"98", "200", "209", "218", "221", "222", "223", "500"};
    for (size_t i = 0; i < COUNT(codes); i++) {
        assert_int_not_equal(nk_known_row(&nk_known_errors, NK_ERROR_CODE, codes[i]), 0);
        assert_true(nk_result_is_image(atoi(codes[i])));
    }
}

// Is the column one of those that tell rows apart?
static bool is_key(size_t t, int column)
{
    char keys[128];
    snprintf(keys, sizeof keys, " %s ", tables[t].keys);
    char name[64];
    snprintf(name, sizeof name, " %s ", nk_known(tables[t].table, 0, column));
    return strstr(keys, name);
}

static void no_two_rows_speak_of_the_same_thing(void **state)
{
    (void)state;
    for (size_t t = 0; t < COUNT(tables); t++)
        for (int a = 1; a < tables[t].table->rows; a++)
            for (int b = 1; b < a; b++) {
                bool same = true;
                for (int c = 0; c < tables[t].table->columns && same; c++)
                    same = !is_key(t, c) || !strcmp(nk_known(tables[t].table, a, c), nk_known(tables[t].table, b, c));
                if (same) fail_msg("%s, rows %d and %d: %s", tables[t].name, b, a, nk_known(tables[t].table, a, 0));
            }
}

// "measured on ..., 2026-11", "..., read 2026-11".
static void every_row_says_when_its_source_was_read_or_measured(void **state)
{
    (void)state;
    for (size_t t = 0; t < COUNT(tables); t++)
        for (int row = 1; row < tables[t].table->rows; row++) {
            const char *source = nk_known(tables[t].table, row, tables[t].table->columns - 1), *at = source;
            while ((at = strstr(at, "20")) && !(strspn(at, "0123456789") == 4 && at[4] == '-' && strspn(at + 5, "01") &&
                                                strspn(at + 5, "0123456789") == 2))
                at++;
            if (!at) fail_msg("%s, row %d: %s", tables[t].name, row, source);
        }
}

// What a toolkit's own row says of the oldest and newest architecture, against the rows of the architectures.
static void toolkits_and_architectures_agree_about_each_other(void **state)
{
    (void)state;
    for (int c = 1; c < nk_known_cuda_versions.rows; c++) {
        const char *cuda = nk_known(&nk_known_cuda_versions, c, NK_CUDA_CUDA);
        int min = atoi(nk_known(&nk_known_cuda_versions, c, NK_CUDA_MIN));
        int max = atoi(nk_known(&nk_known_cuda_versions, c, NK_CUDA_MAX));
        for (int row = 1; min && row < nk_known_sm_toolkit.rows; row++) {
            int sm = atoi(nk_known(&nk_known_sm_toolkit, row, NK_SM_SM));
            const char *first = nk_known(&nk_known_sm_toolkit, row, NK_SM_FIRST),
                       *last = nk_known(&nk_known_sm_toolkit, row, NK_SM_LAST);
            bool makes =
                (!*first || nk_version_compare(cuda, first) >= 0) && (!*last || nk_version_compare(cuda, last) <= 0);
            if (makes && (sm < min || sm > max)) fail_msg("CUDA %s: %d to %d, but it makes sm_%d", cuda, min, max, sm);
            if (!makes && (sm == min || sm == max)) fail_msg("CUDA %s does not make sm_%d", cuda, sm);
        }
    }
}

static void indexes_hold_the_builds_that_bear_their_names(void **state)
{
    (void)state;
    for (int row = 1; row < nk_known_torch_wheels.rows; row++) {
        const char *index = nk_known(&nk_known_torch_wheels, row, NK_WHEEL_INDEX);
        const char *variant = nk_known(&nk_known_torch_wheels, row, NK_WHEEL_VARIANT);
        if (*index && strcmp(index, variant)) fail_msg("row %d: %s in the index %s", row, variant, index);
        if (!*index && !*nk_known(&nk_known_torch_wheels, row, NK_WHEEL_PYPI))
            fail_msg("row %d is nowhere to be had", row);
    }
    for (int row = 1; row < nk_known_torch_domain.rows; row++)
        assert_int_not_equal(nk_known_row(&nk_known_torch_wheels, NK_WHEEL_VARIANT,
                                          nk_known(&nk_known_torch_domain, row, NK_DOMAIN_VARIANT)),
                             0);
}

static void every_release_was_built_by_a_toolkit_that_is_known(void **state)
{
    (void)state;
    for (int row = 1; row < nk_known_packages.rows; row++) {
        char cuda[NK_NAME_TEXT];
        const char *text = nk_known(&nk_known_packages, row, NK_PACK_CUDA);
        nk_name_cuda(cuda, nk_version_cuda(text));
        if (!nk_version_cuda(text) || strcmp(cuda, text)) fail_msg("row %d: CUDA \"%s\"", row, text);
    }
}

static void every_message_says_all_or_points_to_a_result(void **state)
{
    (void)state;
    for (int row = 1; row < nk_known_messages.rows; row++) {
        bool code = *nk_known(&nk_known_messages, row, NK_MESSAGE_CODE);
        for (int c = NK_MESSAGE_TITLE; c < NK_MESSAGE_SOURCE; c++)
            if (code == (*nk_known(&nk_known_messages, row, c) != 0)) fail_msg("row %d, column %d", row, c);
    }
}

// The placeholders of a text in order, as "sm toolkit ".
static const char *marks(const char *text)
{
    static const char *const known[] = {"{sm}",   "{number}", "{toolkit}",    "{isa}",
                                        "{cuda}", "{limit}",  "{limit_cuda}", "{driver}"};
    static char list[2][256];
    static int turn;
    char *out = list[turn ^= 1];
    *out = 0;
    for (size_t i = 0; i < COUNT(known); i++)
        for (const char *at = text; (at = strstr(at, known[i])); at++) strcat(out, known[i]);
    return out;
}

static void both_languages(const struct nk_knowledge *table, int row, int column)
{
    const char *english = nk_known(table, row, column), *chinese = nk_known(table, row, column + 1);
    bool wide[2] = {false, false};
    for (const char *c = english; *c; c++) wide[0] |= (*c & 0x80) != 0;
    for (const char *c = chinese; *c; c++) wide[1] |= (*c & 0x80) != 0;
    if (wide[0] || wide[1] != (*english != 0)) fail_msg("is this its language? %s: %s", english, chinese);
    assert_string_equal(marks(english), marks(chinese));
}

static void what_errors_and_messages_mean_is_said_in_both_languages(void **state)
{
    (void)state;
    for (int row = 1; row < nk_known_errors.rows; row++)
        for (int c = NK_ERROR_MEANS; c < NK_ERROR_SOURCE; c += 2) both_languages(&nk_known_errors, row, c);
    for (int row = 1; row < nk_known_messages.rows; row++)
        for (int c = NK_MESSAGE_TITLE; c < NK_MESSAGE_SOURCE; c += 2) both_languages(&nk_known_messages, row, c);
}

static void every_name_of_another_installer_leads_to_a_package_that_is_known(void **state)
{
    (void)state;
    for (int row = 1; row < nk_known_names.rows; row++) {
        const char *pip = nk_known(&nk_known_names, row, NK_NAMES_PIP);
        if (strcmp(pip, "torch") && !nk_known_row(&nk_known_packages, NK_PACK_NAME, pip)) fail_msg("%s", pip);
    }
}

static void versions_are_ordered_as_pip_orders_them(void **state)
{
    (void)state;
    static const char *const rising[] = {
        "1.13.1",       "2.0.0", "2.7.0.dev20250310+cu124", "2.7.0rc1", "2.7.0", "2.7.1", "2.9.1", "2.10.0",
        "2.10.0.post1", "2.15.0"};
    for (size_t i = 1; i < COUNT(rising); i++)
        if (strcmp(rising[i], "2.7.0rc1") && strcmp(rising[i], "2.10.0.post1"))
            assert_true(nk_version_compare(rising[i - 1], rising[i]) < 0);
    assert_int_equal(nk_version_compare("2.4.1+cu121", "2.4.1"), 0);
    assert_true(nk_version_compare("2.7.0rc1", "2.7.0") < 0);
    assert_int_equal(nk_version_compare("2.7", "2.7.0"), 0);
}

static void cuda_versions_are_read_from_names_of_indexes_and_from_numbers(void **state)
{
    (void)state;
    assert_int_equal(nk_version_cuda("cu128"), 12080);
    assert_int_equal(nk_version_cuda("cu102"), 10020);
    assert_int_equal(nk_version_cuda("13.0"), 13000);
    assert_int_equal(nk_version_cuda("cpu"), 0);
    assert_int_equal(nk_version_cuda(""), 0);
}

int main(void)
{
#define T(name) cmocka_unit_test(name)
    const struct CMUnitTest tests[] = {
        T(every_heading_is_the_one_that_the_code_expects),
        T(every_row_names_a_source_that_others_can_look_up),
        T(every_list_of_architectures_holds_known_ones),
        T(no_wheel_stands_there_twice),
        T(every_wheel_was_built_by_a_toolkit_that_knows_its_architectures),
        T(every_toolkit_that_is_named_has_a_row),
        T(toolkits_and_drivers_agree_with_the_rules_about_ptx),
        T(every_gpu_has_an_architecture_that_the_rules_know),
        T(every_error_that_means_a_missing_image_is_explained),
        T(no_two_rows_speak_of_the_same_thing),
        T(every_row_says_when_its_source_was_read_or_measured),
        T(toolkits_and_architectures_agree_about_each_other),
        T(indexes_hold_the_builds_that_bear_their_names),
        T(every_release_was_built_by_a_toolkit_that_is_known),
        T(every_message_says_all_or_points_to_a_result),
        T(what_errors_and_messages_mean_is_said_in_both_languages),
        T(every_name_of_another_installer_leads_to_a_package_that_is_known),
        T(versions_are_ordered_as_pip_orders_them),
        T(cuda_versions_are_read_from_names_of_indexes_and_from_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
