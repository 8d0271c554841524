// test_base_child.c - work in a child process: what it leaves, however it ends.
#define _GNU_SOURCE
#include "base/child.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct seen {
    int steps, streams;
};

static void count(void *shared, void *user)
{
    struct seen *seen = shared;
    seen->steps += *(int *)user;
}

static void hang(void *shared, void *user)
{
    (void)user;
    ((struct seen *)shared)->steps++;
    for (;;) pause();
}

static void crash(void *shared, void *user)
{
    (void)user;
    ((struct seen *)shared)->steps++;
    signal(SIGABRT, SIG_DFL);
    kill(getpid(), SIGABRT);
    pause();
}

static void leave(void *shared, void *user)
{
    (void)user;
    struct seen *seen = shared;
    for (int fd = 0; fd < 3; fd++) {
        char path[64] = "", name[32] = "/proc/self/fd/0";
        name[14] = (char)('0' + fd);
        seen->streams += readlink(name, path, sizeof path - 1) > 0 && !strcmp(path, "/dev/null");
    }
    _exit(7);
}

static struct seen after(void (*work)(void *, void *), int seconds, bool in_time, int *status)
{
    static const struct seen initial = {.steps = 10};
    struct nk_child child;
    struct nk_err err;
    int more = 5;
    assert_int_equal(nk_child_start(&child, &initial, sizeof initial, seconds, work, &more, &err), 0);
    assert_int_equal(nk_child_finish(&child, status), in_time);
    assert_int_equal(waitpid(child.pid, NULL, WNOHANG), -1); // nothing of it is left
    struct seen seen = *(struct seen *)child.shared;
    nk_child_free(&child);
    nk_child_free(&child);
    return seen;
}

static void what_it_did_is_there_and_it_ends_well(void **state)
{
    (void)state;
    int status;
    assert_int_equal(after(count, 60, true, &status).steps, 15);
    assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
}

static void one_that_hangs_is_killed_and_leaves_what_it_did(void **state)
{
    (void)state;
    int status;
    assert_int_equal(after(hang, 1, false, &status).steps, 11);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void one_that_crashes_leaves_what_it_did_and_its_signal(void **state)
{
    (void)state;
    int status;
    assert_int_equal(after(crash, 60, true, &status).steps, 11);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void its_streams_lead_nowhere_and_its_own_status_is_told(void **state)
{
    (void)state;
    int status;
    assert_int_equal(after(leave, 60, true, &status).streams, 3);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void one_that_was_never_started_can_be_finished(void **state)
{
    (void)state;
    struct nk_child child = {.pipe = -1};
    int status = 1;
    assert_true(nk_child_finish(&child, &status));
    assert_int_equal(status, 0);
    nk_child_free(&child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_it_did_is_there_and_it_ends_well),
        cmocka_unit_test(one_that_hangs_is_killed_and_leaves_what_it_did),
        cmocka_unit_test(one_that_crashes_leaves_what_it_did_and_its_signal),
        cmocka_unit_test(its_streams_lead_nowhere_and_its_own_status_is_told),
        cmocka_unit_test(one_that_was_never_started_can_be_finished),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
