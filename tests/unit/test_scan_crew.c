// test_scan_crew.c - jobs done by several threads, and streams that are read ahead meanwhile.
#include "test_image_maker.h"

#include "scan/crew.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { JOBS = 10000 }; // more than may wait to be taken

// ---- jobs

struct counted {
    int number, done;
};

struct list {
    struct counted jobs[JOBS];
    int begun, taken;
    atomic_int workers; // bits
};

static void *next_number(void *user)
{
    struct list *list = user;
    return list->begun < JOBS ? &list->jobs[list->begun++] : NULL;
}

static void do_number(void *user, void *job, const struct nk_worker *worker)
{
    struct list *list = user;
    struct counted *counted = job;
    assert_int_equal(counted->done++, 0);
    atomic_fetch_or(&list->workers, 1 << worker->number);
    if (!counted->number) usleep(20000); // the first keeps all others waiting
}

static void take_number(void *user, void *job)
{
    struct list *list = user;
    const struct counted *counted = job;
    assert_int_equal(counted->number, list->taken++);
    assert_int_equal(counted->done, 1);
}

static void jobs_are_done_once_and_taken_in_their_order_by_any_number_of_threads(void **state)
{
    (void)state;
    for (int threads = 0; threads < 20; threads++) {
        struct list *list = calloc(1, sizeof *list);
        for (int i = 0; i < JOBS; i++) list->jobs[i].number = i;
        const struct nk_crew_jobs jobs = {next_number, do_number, take_number, list};
        assert_int_equal(nk_crew_run(&jobs, threads, NULL), 0);
        assert_int_equal(list->taken, JOBS);
        assert_true(list->workers < 1 << NK_CREW_MOST);
        if (threads <= 1) assert_int_equal(list->workers, 1);
        free(list);
    }
}

// ---- streams

struct numbers {
    uint32_t next, end;
    bool fails;
    bool turns;  // the other thread begins, and goes on when the job's has prepared something
    int job;     // 1: to be begun
    size_t read; // numbers that the job reads at most
    atomic_bool busy;
    atomic_bool helped; // a thread read that is not the job's
    atomic_int prepared;
    pthread_t reader;
};

static int64_t give_numbers(void *user, void *into, size_t size, struct nk_err *err)
{
    struct numbers *n = user;
    assert_false(atomic_exchange(&n->busy, true)); // one at a time
    if (!pthread_equal(pthread_self(), n->reader)) n->helped = true;
    for (int i = 0; n->turns && n->helped && !n->prepared && i < 100000; i++) usleep(100);
    size_t count = size / 4 < n->end - n->next ? size / 4 : n->end - n->next;
    if (count > 1000) count = 1000;
    for (size_t i = 0; i < count; i++, n->next++) memcpy((char *)into + 4 * i, &n->next, 4);
    bool bad = !count && n->fails;
    atomic_store(&n->busy, false);
    return bad ? nk_fail(err, NK_ERR_BAD_INPUT, "the end is bad") : (int64_t)count * 4;
}

// By the job's thread alone, and never without end.
static bool prepare_numbers(void *user)
{
    struct numbers *n = user;
    assert_true(pthread_equal(pthread_self(), n->reader));
    return n->prepared++ % 2;
}

static void *next_stream(void *user)
{
    struct numbers *n = user;
    return n->job-- > 0 ? n : NULL;
}

static void read_numbers(void *user, void *job, const struct nk_worker *worker)
{
    struct numbers *n = job;
    struct nk_err err = {0};
    (void)user;
    n->reader = pthread_self();
    struct nk_ahead *ahead = nk_ahead_start(worker, &(struct nk_stream){give_numbers, prepare_numbers, n});
    uint32_t some[777], expected = 0;
    int64_t got = 1;
    assert_non_null(ahead);
    while (n->turns && !n->helped) usleep(100);
    while (expected < n->read && (got = nk_ahead_read(ahead, some, sizeof some, &err)) > 0)
        for (int64_t i = 0; i < got / 4; i++) assert_int_equal(some[i], expected++);
    if (n->read > n->end) {
        assert_int_equal(expected, n->end);
        assert_int_equal(got, n->fails ? -1 : 0);
        if (n->fails) assert_says(&err, "the end is bad");
        assert_int_equal(nk_ahead_read(ahead, some, sizeof some, &err), got);
    }
    nk_ahead_stop(ahead);
    n->end = n->next; // who read on would meet the end
}

static void take_nothing(void *user, void *job) { (void)user, (void)job; }

static void run(struct numbers *n, int threads)
{
    const struct nk_crew_jobs jobs = {next_stream, read_numbers, take_nothing, n};
    assert_int_equal(nk_crew_run(&jobs, threads, NULL), 0);
}

static void a_stream_is_the_same_up_to_its_error_whoever_reads_it(void **state)
{
    (void)state;
    for (int threads = 1; threads < 4; threads++)
        for (int fails = 0; fails < 2; fails++) {
            struct numbers numbers = {.end = 2000000, .fails = fails, .job = 1, .read = SIZE_MAX};
            run(&numbers, threads);
            if (threads == 1) assert_false(numbers.helped);
        }
}

static void a_thread_without_a_job_reads_ahead(void **state)
{
    (void)state;
    struct numbers numbers = {.end = 20000000, .job = 1, .read = SIZE_MAX};
    run(&numbers, 2);
    assert_true(numbers.helped);
}

static void who_would_wait_for_bytes_prepares_what_reading_them_needs(void **state)
{
    (void)state;
    struct numbers numbers = {.end = 100000, .turns = true, .job = 1, .read = SIZE_MAX};
    run(&numbers, 2);
    assert_true(numbers.prepared > 0);
}

static void reading_ahead_may_be_stopped_at_any_time(void **state)
{
    (void)state;
    for (size_t read = 1; read < 200000; read = read * 3 + 1) {
        struct numbers numbers = {.end = 50000000, .job = 1, .read = read};
        run(&numbers, 2);
        assert_true(numbers.next < 50000000);
    }
}

// ---- tasks

enum { TASKS = 3000 };

struct tasked {
    struct nk_task tasks[TASKS];
    atomic_int done[TASKS];
    atomic_int workers; // bits
    int jobs, offered;
};

struct one {
    struct tasked *all;
    int number;
};

static struct one ones[TASKS];

static void do_one(void *user, int worker)
{
    const struct one *one = user;
    atomic_fetch_add(&one->all->done[one->number], 1);
    atomic_fetch_or(&one->all->workers, 1 << worker);
    if (one->number % 100 == 0) usleep(1000);
}

static void *next_tasked(void *user)
{
    struct tasked *tasked = user;
    return tasked->jobs-- > 0 ? tasked : NULL;
}

static void offer_tasks(void *user, void *job, const struct nk_worker *worker)
{
    struct tasked *tasked = job;
    (void)user;
    for (int i = 0; i < TASKS; i++) {
        ones[i] = (struct one){tasked, i};
        tasked->tasks[i] = (struct nk_task){.work = do_one, .user = &ones[i]};
        if (nk_crew_offer(worker->crew, &tasked->tasks[i])) tasked->offered++;
        if (i >= 50 && tasked->offered) nk_crew_finish(worker, &tasked->tasks[i - 50]);
        if (i >= 50 && tasked->offered) assert_int_equal(tasked->done[i - 50], 1);
    }
    for (int i = TASKS - 50; tasked->offered && i < TASKS; i++) nk_crew_finish(worker, &tasked->tasks[i]);
}

static void a_task_is_done_once_by_whoever_has_time(void **state)
{
    (void)state;
    for (int threads = 1; threads < 5; threads++) {
        struct tasked tasked = {.jobs = 1};
        const struct nk_crew_jobs jobs = {next_tasked, offer_tasks, take_nothing, &tasked};
        assert_int_equal(nk_crew_run(&jobs, threads, NULL), 0);
        assert_int_equal(tasked.offered, threads > 1 ? TASKS : 0); // alone: done by who offers
        for (int i = 0; i < TASKS; i++) assert_int_equal(tasked.done[i], threads > 1);
        if (threads > 1) assert_true(tasked.workers & (tasked.workers - 1)); // more than one worker
    }
}

// The first task ends when the second was done.
struct pair {
    struct nk_task first, second;
    atomic_bool begun, done;
    bool missed;
    int jobs;
};

static void do_first(void *user, int worker)
{
    struct pair *pair = user;
    (void)worker;
    pair->begun = true;
    for (int i = 0; !pair->done && i < 100000; i++) usleep(100);
    pair->missed = !pair->done;
}

static void do_second(void *user, int worker) { ((struct pair *)user)->done = worker >= 0; }

static void *next_pair(void *user)
{
    struct pair *pair = user;
    return pair->jobs-- > 0 ? pair : NULL;
}

static void offer_pair(void *user, void *job, const struct nk_worker *worker)
{
    struct pair *pair = job;
    (void)user;
    pair->first = (struct nk_task){.work = do_first, .user = pair};
    pair->second = (struct nk_task){.work = do_second, .user = pair};
    assert_true(nk_crew_offer(worker->crew, &pair->first));
    while (!pair->begun) usleep(100);
    assert_true(nk_crew_offer(worker->crew, &pair->second));
    nk_crew_finish(worker, &pair->first);
    nk_crew_finish(worker, &pair->second);
}

static void who_waits_for_a_task_does_another_one(void **state)
{
    (void)state;
    struct pair pair = {.jobs = 1};
    assert_int_equal(nk_crew_run(&(struct nk_crew_jobs){next_pair, offer_pair, take_nothing, &pair}, 2, NULL), 0);
    assert_false(pair.missed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_are_done_once_and_taken_in_their_order_by_any_number_of_threads),
        cmocka_unit_test(a_stream_is_the_same_up_to_its_error_whoever_reads_it),
        cmocka_unit_test(a_thread_without_a_job_reads_ahead),
        cmocka_unit_test(who_would_wait_for_bytes_prepares_what_reading_them_needs),
        cmocka_unit_test(reading_ahead_may_be_stopped_at_any_time),
        cmocka_unit_test(a_task_is_done_once_by_whoever_has_time),
        cmocka_unit_test(who_waits_for_a_task_does_another_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
