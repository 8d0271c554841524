// test_preload_budget.c - how often something may be done that takes time: with a clock of the test's own.
#include "../../preload/budget.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { COST = 1000 };

// Does it at once whenever it may, every `step` ticks from *clock to `end`: how often.
static unsigned done_until(struct nk_budget *budget, uint64_t *clock, uint64_t end, uint64_t step, uint64_t *last)
{
    unsigned times = 0;
    for (; *clock < end; *clock += step) {
        if (!nk_budget_allows(budget, *clock, *last)) continue;
        nk_budget_spend(budget, *clock, *clock + COST);
        *last = *clock += COST;
        times++;
    }
    return times;
}

static void what_is_done_seldom_is_always_allowed(void **state)
{
    (void)state;
    struct nk_budget budget = {0};
    uint64_t clock = 1, last = 0, pause = COST * NK_BUDGET_SHARE;
    assert_int_equal(done_until(&budget, &clock, 1001 * (pause + COST), pause, &last), 1001);
}

static void after_the_reserve_it_takes_its_share_of_the_time(void **state)
{
    (void)state;
    struct nk_budget budget = {0};
    uint64_t clock = 1, last = 0;
    unsigned first = done_until(&budget, &clock, 1000 * COST, 10, &last);
    assert_in_range(first, NK_BUDGET_RESERVE, NK_BUDGET_RESERVE + 20);
    unsigned more = done_until(&budget, &clock, 1001000 * (uint64_t)COST, 500, &last);
    assert_in_range(more, 9900, 10020); // one part in a hundred
}

static void a_pause_fills_the_reserve_again_and_no_more(void **state)
{
    (void)state;
    struct nk_budget budget = {0};
    uint64_t clock = 1, last = 0;
    done_until(&budget, &clock, 1000 * COST, 10, &last);
    clock += 100000000ull * COST;
    unsigned again = done_until(&budget, &clock, clock + 1000 * COST, 10, &last);
    assert_in_range(again, NK_BUDGET_RESERVE, NK_BUDGET_RESERVE + 20);
}

static void who_comes_seldom_does_not_starve_beside_who_comes_often(void **state)
{
    (void)state;
    struct nk_budget budget = {0};
    uint64_t clock = 1, often = 0, seldom = 0, rare = NK_BUDGET_RARE * COST * NK_BUDGET_SHARE;
    unsigned allowed = 0;
    for (int i = 0; i < 200; i++) {
        done_until(&budget, &clock, clock + rare + rare / 4, 10, &often);
        if (!nk_budget_allows(&budget, clock, seldom)) continue;
        allowed++;
        nk_budget_spend(&budget, clock, clock + COST);
        seldom = clock += COST;
    }
    assert_int_equal(allowed, 200);
}

static void many_who_come_seldom_get_no_more_than_the_share_together(void **state)
{
    (void)state;
    struct nk_budget budget = {0};
    uint64_t clock = 1, last[1000] = {0};
    unsigned times = 0;
    for (; clock < 200000ull * COST; clock += COST)
        for (int i = 0; i < 1000; i++)
            if (nk_budget_allows(&budget, clock, last[i])) {
                nk_budget_spend(&budget, clock, clock + COST);
                last[i] = clock += COST;
                times++;
            }
    assert_in_range(times, 2000, 2000 + 2 * NK_BUDGET_RESERVE + 100);
}

static void one_that_was_interrupted_does_not_stop_the_others(void **state)
{
    (void)state;
    struct nk_budget budget = {0};
    uint64_t clock = 1, last = 0;
    done_until(&budget, &clock, 100 * COST, 10, &last);
    nk_budget_spend(&budget, clock, clock + 1000000ull * COST);
    clock += 1000000ull * COST;
    assert_true(nk_budget_allows(&budget, clock, clock));
}

static void what_becomes_dearer_becomes_rarer(void **state)
{
    (void)state;
    struct nk_budget budget = {0};
    uint64_t clock = 1, cost = 50 * COST, start = 0;
    uint64_t last = 0;
    unsigned times = 0;
    done_until(&budget, &clock, 1000 * COST, 10, &last);
    for (; times < 2000; clock += 100) {
        if (!nk_budget_allows(&budget, clock, clock)) continue;
        if (times++ == 1000) start = clock;
        nk_budget_spend(&budget, clock, clock + cost);
        clock += cost;
    }
    assert_in_range((clock - start) / 1000, 99 * cost, 101 * cost);
}

// Another processor's counter may be far behind or ahead.
static void a_clock_that_jumps_holds_up_nothing_for_long(void **state)
{
    (void)state;
    struct nk_budget budget = {0};
    uint64_t clock = 1ull << 50, last = 0, back = 5;
    done_until(&budget, &clock, clock + 1000 * COST, 10, &last);
    unsigned times = done_until(&budget, &back, 1000000ull * COST, 500, &last);
    assert_in_range(times, 9000, 10000 + 2 * NK_BUDGET_RESERVE);
    nk_budget_spend(&budget, clock, clock - 1000); // it ended before it began
    assert_true(nk_budget_allows(&budget, clock, last));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_done_seldom_is_always_allowed),
        cmocka_unit_test(after_the_reserve_it_takes_its_share_of_the_time),
        cmocka_unit_test(a_pause_fills_the_reserve_again_and_no_more),
        cmocka_unit_test(who_comes_seldom_does_not_starve_beside_who_comes_often),
        cmocka_unit_test(many_who_come_seldom_get_no_more_than_the_share_together),
        cmocka_unit_test(one_that_was_interrupted_does_not_stop_the_others),
        cmocka_unit_test(what_becomes_dearer_becomes_rarer),
        cmocka_unit_test(a_clock_that_jumps_holds_up_nothing_for_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
