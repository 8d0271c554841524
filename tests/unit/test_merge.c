// test_merge.c - merging is a join: any order, any grouping, any repetition gives the same bytes, and the right sums.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "merge/read.h"
#include "merge/show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IDS = 9, MANY = 24, FACTS = MANY + 8, REPORTS = 14, ROUNDS = 200 };

static uint64_t seed;

static unsigned dice(unsigned sides)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % sides;
}

// Fact number n: packages, kernels and architectures that share texts, names with everything that must be escaped.
static struct nk_fact one_of_many(unsigned n)
{
    static const char *const packages[] = {"torch", "torch", "", "faiss-gpu"};
    static const char *const versions[] = {"2.1.2+cu121", "2.15.0", "", "1.7"};
    static const char *const kernels[] = {"_Z4fillPf", "_Z4copyPf\"\\", "caf\303\251|`", "", "k,\"x\"", "_Z1kIfEvv"};
    struct nk_fact fact = {.sm = n % 3 ? 120 : 0, .seen = (enum nk_seen)(n % NK_SEEN_COUNT)};
    fact.rules = (enum nk_runs)(n % (NK_RUNS_UNKNOWN + 1));
    fact.memory = n % 5 == 0;
    fact.contradiction = n % 7 == 0;
    fact.text[NK_FACT_PACKAGE] = packages[n % 4];
    fact.text[NK_FACT_VERSION] = versions[n % 4];
    fact.text[NK_FACT_LIBRARY] = n % 2 ? "torch/lib/libtorch_cuda.so" : "";
    fact.text[NK_FACT_KERNEL] = kernels[n % 6];
    fact.text[NK_FACT_ONE_OF] = n % 6 == 3 ? "_Z1av\n_Z1bv" : "";
    fact.text[NK_FACT_HAS] = n % 2 ? "sm_80, sm_90" : "";
    fact.text[NK_FACT_REASON] = n % 2 ? "no-image" : "";
    if (fact.seen == NK_SEEN_GPU) { // of a GPU this is all
        fact.rules = NK_RUNS_UNKNOWN;
        fact.memory = fact.contradiction = false;
        fact.text[NK_FACT_PACKAGE] = fact.text[NK_FACT_ONE_OF] = fact.text[NK_FACT_HAS] = "";
        fact.text[NK_FACT_REASON] = "";
    }
    return fact;
}

// The last ones differ from one of the others in one member alone.
static struct nk_fact fact_of(unsigned n)
{
    struct nk_fact fact = one_of_many(n < MANY ? n : 1);
    if (n == MANY) fact.memory = !fact.memory;
    if (n == MANY + 1) fact.contradiction = !fact.contradiction;
    if (n == MANY + 2) fact.rules = NK_RUNS_HOLLOW;
    if (n == MANY + 3) fact.text[NK_FACT_HAS] = "sm_80";
    if (n == MANY + 4) fact.text[NK_FACT_REASON] = "family";
    if (n == MANY + 5) fact.text[NK_FACT_LIBRARY] = "torch/lib/libother.so";
    if (n == MANY + 6) fact.text[NK_FACT_VERSION] = "2.2.0";
    if (n == MANY + 7) fact.sm = 121;
    return fact;
}

struct made {
    uint64_t id;
    uint64_t count[FACTS]; // 0: not in it
};

static void make(struct made *all)
{
    for (int i = 0; i < REPORTS; i++) {
        all[i] = (struct made){.id = 0x1234567890abcdefu * (dice(IDS) + 1)};
        for (unsigned n = dice(12); n; n--) {
            uint64_t huge = dice(20) ? 0 : INT64_MAX - dice(3);
            all[i].count[dice(FACTS)] = huge ? huge : dice(1000) + 1u;
        }
    }
}

static void add(struct nk_merge *m, const struct made *one)
{
    struct nk_merge_report report = {.id = one->id};
    for (unsigned i = FACTS; i--;) {
        struct nk_fact fact = fact_of(i);
        if (one->count[i]) nk_merge_report_add(&report, &fact, one->count[i]);
    }
    assert_int_equal(nk_merge_add(m, &report), 0);
    nk_merge_report_free(&report);
}

static char *json_of(struct nk_merge *m)
{
    static const struct nk_merge_filter all;
    struct nk_merge_view view;
    struct nk_buf out = {0};
    assert_int_equal(nk_merge_view(&view, m, &all), 0);
    nk_merge_write_json(&out, &view);
    assert_false(out.failed);
    nk_merge_view_free(&view);
    return out.data;
}

// `json` goes into the merge as a file would.
static void read_in(struct nk_merge *m, const char *json)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct nk_merge_in in = {m, &lock, false};
    struct nk_err err;
    int foreign;
    if (nk_merge_json(&in, nk_bytes(json, strlen(json)), "x", &foreign, &err) != 1) fail_msg("%s\n%s", err.text, json);
    assert_false(in.failed);
}

// The merge of those with that mark, as JSON.
static char *merged(const struct made *all, const unsigned char *mark, unsigned which)
{
    struct nk_merge m = {0};
    for (int i = 0; i < REPORTS; i++)
        if (mark[i] & which) add(&m, &all[i]);
    char *json = json_of(&m);
    nk_merge_free(&m);
    return json;
}

static char *both(const char *a, const char *b)
{
    struct nk_merge m = {0};
    read_in(&m, a);
    read_in(&m, b);
    char *json = json_of(&m);
    nk_merge_free(&m);
    return json;
}

static void same(const char *what, unsigned round, char *got, const char *expected)
{
    if (strcmp(got, expected)) fail_msg("round %u, %s:\n%s\n--- expected\n%s", round, what, got, expected);
    free(got);
}

static void merges_of_merges_are_the_merge_of_all_to_the_byte(void **state)
{
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct made all[REPORTS];
        unsigned char mark[REPORTS];
        seed = round;
        make(all);
        for (int i = 0; i < REPORTS; i++) mark[i] = (unsigned char)(1 + dice(7)); // parts overlap
        char *whole = merged(all, mark, 7), *a = merged(all, mark, 1), *b = merged(all, mark, 2);
        char *c = merged(all, mark, 4), *ab = both(a, b), *bc = both(b, c);
        same("(a b) c", round, both(ab, c), whole);
        same("a (b c)", round, both(a, bc), whole);
        same("c (b a)", round, both(c, ab), whole);
        same("(a b) (b c)", round, both(ab, bc), whole);
        same("all twice", round, both(whole, whole), whole);
        same("b with a", round, both(b, a), ab);
        free(whole), free(a), free(b), free(c), free(ab), free(bc);
    }
}

// The counts again, by the plainest means: tables of all ids and facts.
static void sums_are_those_of_each_report_once_with_its_largest_counts(void **state)
{
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct made all[REPORTS];
        struct nk_merge m = {0};
        struct nk_merge_view view;
        static const struct nk_merge_filter none;
        seed = round + 1000000;
        make(all);
        for (int i = 0; i < REPORTS; i++) add(&m, &all[i]);
        assert_int_equal(nk_merge_view(&view, &m, &none), 0);
        for (unsigned f = 0; f < FACTS; f++) {
            struct nk_fact fact = fact_of(f);
            uint64_t reports = 0, launches = 0;
            for (int i = 0; i < REPORTS; i++) { // the first of each id stands for all of it
                uint64_t most = 0;
                int before = 0;
                for (int k = 0; k < i; k++) before |= all[k].id == all[i].id;
                for (int k = 0; !before && k < REPORTS; k++)
                    if (all[k].id == all[i].id && all[k].count[f] > most) most = all[k].count[f];
                reports += most > 0;
                launches = most > INT64_MAX - launches ? INT64_MAX : launches + most;
            }
            uint64_t found = 0, counted = 0;
            for (size_t r = 0; r < view.row_count + view.gpu_count; r++) {
                const struct nk_merge_row *row = &view.rows[r];
                bool alike = row->key->sm == fact.sm && row->key->seen == fact.seen && row->key->rules == fact.rules &&
                             row->key->memory == fact.memory && row->key->contradiction == fact.contradiction;
                for (int t = 0; t < NK_FACT_TEXTS; t++)
                    alike = alike && !strcmp(nk_merge_row_text(&view, row, (enum nk_fact_text)t), fact.text[t]);
                if (alike) found = row->reports, counted = row->launches;
            }
            if (found != reports || counted != launches)
                fail_msg("round %u, fact %u: %llu reports, %llu launches; expected %llu, %llu", round, f,
                         (unsigned long long)found, (unsigned long long)counted, (unsigned long long)reports,
                         (unsigned long long)launches);
        }
        nk_merge_view_free(&view);
        nk_merge_free(&m);
    }
}

static void facts_of_one_report_that_are_alike_are_summed_and_no_sum_overflows(void **state)
{
    (void)state;
    struct nk_merge m = {0};
    struct nk_merge_report report = {.id = 7};
    struct nk_fact fact = fact_of(1);
    uint64_t value = 0;
    uint32_t at = 0, key = 0;
    nk_merge_report_add(&report, &fact, 5);
    nk_merge_report_add(&report, &fact, 6);
    assert_int_equal(nk_merge_add(&m, &report), 0);
    assert_true(nk_merge_each(&m.reports[0], &at, &key, &value));
    assert_int_equal(value, 11);
    nk_merge_report_add(&report, &fact, UINT64_MAX);
    assert_int_equal(nk_merge_add(&m, &report), 0);
    at = 0;
    assert_true(nk_merge_each(&m.reports[0], &at, &key, &value));
    assert_true(value == INT64_MAX);
    nk_merge_report_free(&report);
    nk_merge_free(&m);
}

static void of_a_path_only_what_is_inside_the_installation_is_kept(void **state)
{
    (void)state;
    assert_string_equal(nk_merge_path("/home/anna/v/lib/python3.11/site-packages/torch/lib/x.so"), "torch/lib/x.so");
    assert_string_equal(nk_merge_path("~/site-packages/b/dist-packages/c/x.so"), "c/x.so");
    assert_string_equal(nk_merge_path("/home/anna/secret project/x.so"), "x.so");
    assert_string_equal(nk_merge_path("/v/site-packages//torch/x.so"), "torch/x.so");
    assert_string_equal(nk_merge_path("/v/site-packages/~orch/x.so"), "~orch/x.so"); // what pip leaves behind
    assert_string_equal(nk_merge_path("/v/site-packages/~/a/x.so"), "x.so");
    assert_string_equal(nk_merge_path("x.so"), "x.so");
    assert_string_equal(nk_merge_path(""), "");
}

static void texts_come_out_without_control_characters_and_as_utf8(void **state)
{
    (void)state;
    struct nk_merge m = {0};
    struct nk_merge_report report = {.id = 7};
    struct nk_fact fact = fact_of(1);
    fact.text[NK_FACT_KERNEL] = "a\033[31m\nb\302\233\177";
    fact.text[NK_FACT_ONE_OF] = "a\nb\r";
    fact.text[NK_FACT_PACKAGE] = "caf\351";
    nk_merge_report_add(&report, &fact, 1);
    assert_int_equal(nk_merge_add(&m, &report), 0);
    assert_string_equal(nk_merge_text(&m, m.keys[0].text[NK_FACT_KERNEL]), "a?[31m?b\?\?\?");
    assert_string_equal(nk_merge_text(&m, m.keys[0].text[NK_FACT_ONE_OF]), "a\nb?");
    assert_string_equal(nk_merge_text(&m, m.keys[0].text[NK_FACT_PACKAGE]), "caf?");
    nk_merge_report_free(&report);
    nk_merge_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges_of_merges_are_the_merge_of_all_to_the_byte),
        cmocka_unit_test(sums_are_those_of_each_report_once_with_its_largest_counts),
        cmocka_unit_test(facts_of_one_report_that_are_alike_are_summed_and_no_sum_overflows),
        cmocka_unit_test(of_a_path_only_what_is_inside_the_installation_is_kept),
        cmocka_unit_test(texts_come_out_without_control_characters_and_as_utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
