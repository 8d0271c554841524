// test_recording_writer.c - what the writer promises to the process that it runs in.
#define _GNU_SOURCE
#include "recording/writer.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static char folder[] = "/tmp/nk-writer-XXXXXX", path[64];
static struct nk_writer w;

static int begin(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "%s/r.nkr", folder);
    return nk_writer_open(&w, path, NULL);
}

static int end(void **state)
{
    (void)state;
    nk_writer_close(&w);
    return unlink(path);
}

static uint64_t in_file(uint64_t offset)
{
    struct nk_file file;
    uint64_t value = ~(uint64_t)0;
    assert_int_equal(nk_file_open(&file, path, NULL), 0);
    assert_true(nk_bytes_u64(file.bytes, offset, &value));
    nk_file_close(&file);
    return value;
}

static void a_new_file_holds_the_header_and_is_private(void **state)
{
    (void)state;
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, sizeof(struct nk_file_header));
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_memory_equal(&(uint64_t){in_file(0)}, NK_RECORDING_MAGIC, 8);
}

static void an_existing_file_is_refused_and_left_alone(void **state)
{
    (void)state;
    struct nk_writer other;
    struct nk_err err = {0};
    assert_int_equal(nk_writer_open(&other, path, &err), -1);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(access(path, F_OK), 0);
}

static void the_same_text_gets_the_same_id_and_is_written_once(void **state)
{
    (void)state;
    uint32_t a = nk_writer_text(&w, "kernel");
    uint64_t size = w.end;
    assert_int_equal(a, 1);
    assert_int_equal(nk_writer_text_n(&w, "kernels", 6), 1);
    assert_int_equal(w.end, size);
    assert_int_equal(nk_writer_text(&w, "other"), 2);
    assert_int_equal(nk_writer_text(&w, ""), 0);
    assert_int_equal(nk_writer_text(&w, NULL), 0);
}

static void a_record_is_padded_to_a_multiple_of_8(void **state)
{
    (void)state;
    struct nk_rec_names names = {.container = 1, .n = 1, .total = 1};
    uint32_t id = 7;
    nk_writer_add(&w, NK_REC_NAMES, &names, sizeof names, &id, sizeof id);
    assert_int_equal(w.end, 16 + 8 + 16 + 8);
    assert_int_equal(in_file(16), 32 | (uint64_t)NK_REC_NAMES << 32 | (uint64_t)16 << 48);
    assert_int_equal(in_file(40), 7);
}

static void counters_are_seen_in_the_file_at_once(void **state)
{
    (void)state;
    uint32_t first, second;
    uint64_t *a = nk_writer_counter(&w, &first), *b = nk_writer_counter(&w, &second);
    assert_int_equal(first, 0);
    assert_int_equal(second, 1);
    assert_int_equal(*a, 0);
    *a = 5;
    *b = 6;
    assert_true(w.block[0].shared);
    assert_int_equal(w.block[0].offset % (uint64_t)sysconf(_SC_PAGESIZE), 0);
    assert_int_equal(in_file(w.block[0].offset), 5);
    assert_int_equal(in_file(w.block[0].offset + 8), 6);
}

static void the_disk_blocks_of_counters_are_allocated_before_they_are_mapped(void **state)
{
    (void)state;
    uint32_t id;
    nk_writer_counter(&w, &id);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_true((uint64_t)st.st_blocks * 512 >= w.block[0].size);
}

static void more_counters_than_a_block_holds_go_on_in_the_next(void **state)
{
    (void)state;
    uint32_t id = 0;
    uint64_t *last = NULL;
    for (uint32_t i = 0; i < 20000; i++) {
        uint64_t *counter = nk_writer_counter(&w, &id);
        assert_int_equal(id, i);
        assert_ptr_not_equal(counter, last);
        *(last = counter) = i;
    }
    assert_int_equal(w.blocks, 3);
    assert_int_equal(in_file(w.block[2].offset + 8 * (19999 - 4096 - 8192)), 19999);
}

static void a_forked_child_that_forgets_cannot_change_its_parents_counters(void **state)
{
    (void)state;
    uint32_t id;
    uint64_t *counter = nk_writer_counter(&w, &id);
    *counter = 3;
    pid_t child = fork();
    if (!child) {
        nk_writer_forget(&w);
        uint64_t seen = *counter;
        *counter = 99;
        _exit(seen == 0 && *counter == 99 && w.fd == -1 ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    assert_int_equal(*counter, 3);
    assert_int_equal(in_file(w.block[0].offset), 3);
}

static void a_child_that_forgot_can_open_a_file_of_its_own(void **state)
{
    (void)state;
    char other[80];
    snprintf(other, sizeof other, "%s/child.nkr", folder);
    nk_writer_text(&w, "parent");
    uint64_t size = w.end;
    pid_t child = fork();
    if (!child) {
        nk_writer_forget(&w);
        if (nk_writer_open(&w, other, NULL)) _exit(1);
        _exit(nk_writer_text(&w, "child") == 1 && nk_writer_text(&w, "parent") == 2 ? 0 : 2);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, size);
    assert_int_equal(unlink(other), 0);
}

static void counters_outlive_the_close(void **state)
{
    (void)state;
    uint32_t id;
    uint64_t *counter = nk_writer_counter(&w, &id), offset = w.block[0].offset;
    nk_writer_close(&w);
    *counter = 11;
    assert_int_equal(in_file(offset), 11);
}

// Where a shared mapping would be a danger, ordinary memory is copied to the file when the process ends.
static void counters_in_ordinary_memory_reach_the_file_with_the_exit_record(void **state)
{
    (void)state;
    uint32_t id;
    nk_writer_counter(&w, &id);
    uint64_t ordinary[4096] = {21}, *mapped = w.block[0].at;
    w.block[0].at = ordinary;
    w.block[0].shared = false;
    struct nk_rec_exit record = {.how = NK_EXIT_EXIT};
    nk_writer_add(&w, NK_REC_EXIT, &record, sizeof record, NULL, 0);
    w.block[0].at = mapped;
    w.block[0].shared = true;
    assert_int_equal(in_file(w.block[0].offset), 21);
}

static void a_reached_size_limit_stops_the_recording_and_sends_no_signal(void **state)
{
    (void)state;
    pid_t child = fork();
    if (!child) {
        struct rlimit limit = {w.end + 8, w.end + 8};
        setrlimit(RLIMIT_FSIZE, &limit);
        errno = 42;
        bool refused = nk_writer_text(&w, "more than eight bytes") == 0;
        _exit(refused && errno == 42 && w.fd == -1 && strstr(w.lost.text, "ulimit -f") ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

static void a_full_disk_stops_the_recording_with_a_sentence(void **state)
{
    (void)state;
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    struct stat st;
    assert_true(full >= 0 && !fstat(full, &st));
    int own = w.fd;
    w.fd = full;
    w.device = st.st_dev;
    w.inode = st.st_ino;
    assert_int_equal(nk_writer_text(&w, "text"), 0);
    assert_non_null(strstr(w.lost.text, strerror(ENOSPC)));
    uint32_t id;
    uint64_t *counter = nk_writer_counter(&w, &id);
    assert_non_null(counter);
    *counter = 1; // ordinary memory
    assert_false(w.block[0].shared);
    close(own);
}

static void a_descriptor_that_the_program_reused_is_never_written_to(void **state)
{
    (void)state;
    char other[80];
    snprintf(other, sizeof other, "%s/other", folder);
    int fd = open(other, O_RDWR | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(dup2(fd, w.fd), w.fd); // as after closefrom(3) and an open() of the program's own
    int reused = w.fd;
    assert_int_equal(nk_writer_text(&w, "text"), 0);
    struct stat st;
    assert_int_equal(fstat(reused, &st), 0); // and it was not closed either
    assert_int_equal(st.st_size, 0);
    assert_int_equal(w.fd, -1);
    close(reused);
    close(fd);
    unlink(other);
}

static void the_low_descriptor_numbers_stay_the_programs(void **state)
{
    (void)state;
    int next = open("/dev/null", O_RDONLY);
    assert_true(next < w.fd);
    close(next);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        T(a_new_file_holds_the_header_and_is_private),
        T(an_existing_file_is_refused_and_left_alone),
        T(the_same_text_gets_the_same_id_and_is_written_once),
        T(a_record_is_padded_to_a_multiple_of_8),
        T(counters_are_seen_in_the_file_at_once),
        T(the_disk_blocks_of_counters_are_allocated_before_they_are_mapped),
        T(more_counters_than_a_block_holds_go_on_in_the_next),
        T(a_forked_child_that_forgets_cannot_change_its_parents_counters),
        T(a_child_that_forgot_can_open_a_file_of_its_own),
        T(counters_outlive_the_close),
        T(counters_in_ordinary_memory_reach_the_file_with_the_exit_record),
        T(a_reached_size_limit_stops_the_recording_and_sends_no_signal),
        T(a_full_disk_stops_the_recording_with_a_sentence),
        T(a_descriptor_that_the_program_reused_is_never_written_to),
        T(the_low_descriptor_numbers_stay_the_programs),
    };
    if (!mkdtemp(folder)) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return failed;
}
