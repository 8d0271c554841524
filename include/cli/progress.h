// progress.h - a line on a terminal that says how far long work is.
#ifndef NK_CLI_PROGRESS_H
#define NK_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

// Start from nk_progress_start; end with nk_progress_end, which wipes the line.
struct nk_progress {
    int fd;
    bool on, shown;
    struct timespec begun, drawn;
};

// Silent unless `fd` is a terminal that can wipe a line.
void nk_progress_start(struct nk_progress *progress, int fd);
// What is being done, and how much of it (all 0: not known). Cheap: draws at most ten times a second, and nothing
// before half a second has gone by.
void nk_progress_tell(struct nk_progress *progress, const char *what, uint64_t done, uint64_t all);
void nk_progress_end(struct nk_progress *progress);

#endif
