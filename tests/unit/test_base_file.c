// test_base_file.c - mapped files, and what is no file.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEST(name) static void name(void **state)
#define T(name)    cmocka_unit_test_setup_teardown(name, make_file, remove_file)

static char path[64];

static int make_file(void **state)
{
    (void)state;
    strcpy(path, "/tmp/nk-file-XXXXXX");
    int fd = mkstemp(path);
    if (fd < 0) return -1;
    if (write(fd, "abc", 3) != 3) return -1;
    return close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    remove(path);
    return 0;
}

static void refused(const char *name, enum nk_err_code code, const char *word)
{
    struct nk_file file;
    struct nk_err err = {0};
    assert_int_equal(nk_file_open(&file, name, &err), -1);
    assert_int_equal(err.code, code);
    assert_non_null(strstr(err.text, name));
    assert_non_null(strstr(err.text, word));
    assert_int_equal(file.bytes.size, 0);
    nk_file_close(&file);
}

TEST(a_file_is_mapped_whole)
{
    (void)state;
    struct nk_file file;
    assert_int_equal(nk_file_open(&file, path, NULL), 0);
    assert_true(nk_bytes_equal(file.bytes, nk_bytes("abc", 3)));
    nk_file_close(&file);
}

TEST(a_file_is_known_by_device_inode_and_time)
{
    (void)state;
    struct nk_file file;
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(nk_file_open(&file, path, NULL), 0);
    assert_int_equal(file.device, st.st_dev);
    assert_int_equal(file.inode, st.st_ino);
    assert_int_equal(file.modified, st.st_mtime);
    nk_file_close(&file);
}

TEST(an_empty_file_is_an_empty_view)
{
    (void)state;
    struct nk_file file;
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(nk_file_open(&file, path, NULL), 0);
    assert_int_equal(file.bytes.size, 0);
    nk_file_close(&file);
}

TEST(a_closed_file_can_be_closed_again)
{
    (void)state;
    struct nk_file file;
    assert_int_equal(nk_file_open(&file, path, NULL), 0);
    nk_file_close(&file);
    nk_file_close(&file);
    assert_null(file.bytes.data);
}

TEST(a_file_stays_readable_after_it_was_removed)
{
    (void)state;
    struct nk_file file;
    assert_int_equal(nk_file_open(&file, path, NULL), 0);
    assert_int_equal(remove(path), 0);
    assert_true(nk_bytes_equal(file.bytes, nk_bytes("abc", 3)));
    nk_file_close(&file);
}

TEST(a_file_that_was_read_stays_what_it_was_when_it_is_cut)
{
    (void)state;
    struct nk_file file;
    assert_int_equal(nk_file_read(&file, path, NULL), 0);
    assert_int_equal(truncate(path, 0), 0);
    assert_true(nk_bytes_equal(file.bytes, nk_bytes("abc", 3)));
    nk_file_close(&file);
    assert_int_equal(nk_file_read(&file, path, NULL), 0);
    assert_int_equal(file.bytes.size, 0);
    nk_file_close(&file);
    assert_int_equal(nk_file_read(&file, "/nonexistent/file", NULL), -1);
}

TEST(a_file_that_does_not_exist_is_refused_by_name)
{
    (void)state;
    refused("/nonexistent/file", NK_ERR_SYSTEM, strerror(ENOENT));
}

TEST(a_folder_is_refused)
{
    (void)state;
    refused("/tmp", NK_ERR_BAD_INPUT, "regular file");
}

TEST(a_device_is_refused)
{
    (void)state;
    refused("/dev/zero", NK_ERR_BAD_INPUT, "regular file");
}

TEST(a_pipe_that_nobody_writes_to_is_refused_without_waiting)
{
    (void)state;
    assert_int_equal(remove(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    alarm(10); // a test that hangs is a test that fails
    refused(path, NK_ERR_BAD_INPUT, "regular file");
    alarm(0);
}

TEST(an_error_without_a_place_for_its_sentence_is_still_an_error)
{
    (void)state;
    struct nk_file file;
    assert_int_equal(nk_file_open(&file, "/nonexistent/file", NULL), -1);
}

TEST(no_descriptor_stays_open)
{
    (void)state;
    struct nk_file file;
    int before = dup(0);
    close(before);
    assert_int_equal(nk_file_open(&file, path, NULL), 0);
    int after = dup(0);
    close(after);
    assert_int_equal(before, after);
    nk_file_close(&file);
}

static const struct CMUnitTest tests[] = {
    T(a_file_is_mapped_whole),
    T(a_file_is_known_by_device_inode_and_time),
    T(an_empty_file_is_an_empty_view),
    T(a_closed_file_can_be_closed_again),
    T(a_file_stays_readable_after_it_was_removed),
    T(a_file_that_was_read_stays_what_it_was_when_it_is_cut),
    T(a_file_that_does_not_exist_is_refused_by_name),
    T(a_folder_is_refused),
    T(a_device_is_refused),
    T(a_pipe_that_nobody_writes_to_is_refused_without_waiting),
    T(an_error_without_a_place_for_its_sentence_is_still_an_error),
    T(no_descriptor_stays_open),
};

int main(void) { return cmocka_run_group_tests(tests, NULL, NULL); }
