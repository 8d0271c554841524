// replay.c - runs a fuzz target on files (all files of a folder), without a fuzzer.
//
//     replay FILE-OR-FOLDER...      each file as it is
//     replay -n COUNT FILE...       and COUNT damaged copies of each: cut short, bits turned over, bytes set to
//     extremes
#define _GNU_SOURCE
#include "fuzz.h"

#include "base/file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

static unsigned long damaged_copies; // of each file in one round
static unsigned long runs;

// xorshift: the same copies in every run, so that a failure can be repeated.
static uint64_t next_random(void)
{
    static uint64_t state = 0x9e3779b97f4a7c15u;
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

// A copy of its own size on the heap: a sanitizer then knows where it ends.
static void run(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy) return;
    if (size) memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    runs++;
}

static void run_damaged(const uint8_t *data, size_t size)
{
    static const uint8_t extremes[] = {0x00, 0xff, 0x7f, 0x80, 0x01};
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy || !size) {
        free(copy);
        return;
    }
    memcpy(copy, data, size);
    // Mostly near the start, where the headers are.
    size_t near = next_random() % 2 && size > 512 ? 512 : size;
    for (uint64_t n = next_random() % 4 + 1; n; n--) {
        size_t at = (size_t)(next_random() % near);
        if (next_random() % 2)
            copy[at] = extremes[next_random() % sizeof extremes];
        else
            copy[at] ^= (uint8_t)(1u << next_random() % 8);
    }
    run(copy, next_random() % 4 ? size : (size_t)(next_random() % size));
    free(copy);
}

static int replay(const char *path)
{
    struct stat st;
    struct nk_file file;
    struct nk_err err;
    if (!stat(path, &st) && S_ISDIR(st.st_mode)) {
        struct dirent **names;
        int count = scandir(path, &names, NULL, alphasort), result = 0;
        for (int i = 0; i < count; i++) {
            char inner[4096];
            int length = snprintf(inner, sizeof inner, "%s/%s", path, names[i]->d_name);
            if (names[i]->d_name[0] != '.' && length < (int)sizeof inner) result |= replay(inner);
            free(names[i]);
        }
        if (count >= 0) free(names);
        return result;
    }
    if (nk_file_open(&file, path, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    run(file.bytes.data, file.bytes.size);
    for (unsigned long i = 0; i < damaged_copies; i++) run_damaged(file.bytes.data, file.bytes.size);
    nk_file_close(&file);
    return 0;
}

int main(int argc, char **argv)
{
    static const uint8_t zeros[4096];
    int result = 0;
    long seconds = 0;
    for (int i = 1; i < argc; i++) {
        if (!strncmp(argv[i], "-max_total_time=", 16)) seconds = strtol(argv[i] + 16, NULL, 10);
        if (argv[i][0] != '-') result |= replay(argv[i]);
    }
    damaged_copies = 100;
    for (time_t end = time(NULL) + seconds; time(NULL) < end && !result;) {
        for (int n = 0; n < 100; n++) run_damaged(zeros, sizeof zeros);
        for (int i = 1; i < argc; i++)
            if (argv[i][0] != '-') result |= replay(argv[i]);
    }
    printf("%lu runs\n", runs);
    return result;
}
