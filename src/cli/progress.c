// progress.c - a line on a terminal that says how far long work is.
#define _GNU_SOURCE
#include "cli/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { BAR = 20, NARROW = 40, MOST = 300 };

static double since(const struct timespec *then, const struct timespec *now)
{
    return (double)(now->tv_sec - then->tv_sec) + (double)(now->tv_nsec - then->tv_nsec) / 1e9;
}

void nk_progress_start(struct nk_progress *progress, int fd)
{
    const char *term = getenv("TERM");
    *progress = (struct nk_progress){.fd = fd, .on = isatty(fd) && term && *term && strcmp(term, "dumb")};
    if (progress->on) clock_gettime(CLOCK_MONOTONIC, &progress->begun);
}

static int columns(int fd)
{
    struct winsize size = {0};
    if (ioctl(fd, TIOCGWINSZ, &size) || size.ws_col < NARROW) return 80;
    return size.ws_col < MOST ? size.ws_col : MOST;
}

static void draw(struct nk_progress *progress, const char *what, uint64_t done, uint64_t all)
{
    char line[MOST + 64];
    int room = columns(progress->fd) - 1, n = snprintf(line, sizeof line, "\r\033[K");
    if (all) {
        int percent = (int)(100.0 * (double)(done < all ? done : all) / (double)all), full = percent * BAR / 100;
        n += snprintf(line + n, sizeof line - (size_t)n, "[%.*s%.*s] %3d %% of %llu MB  ", full, "####################",
                      BAR - full, "....................", percent, (unsigned long long)((all + 999999) / 1000000));
    }
    // The end of a path says more than its beginning.
    size_t size = strlen(what), left = room + 4 > n ? (size_t)(room + 4 - n) : 0;
    if (size > left) what += size - left;
    for (; *what && n < (int)sizeof line - 1; what++) line[n++] = (unsigned char)*what < ' ' ? '?' : *what;
    if (write(progress->fd, line, (size_t)n) < 0) progress->on = false;
    progress->shown = true;
}

void nk_progress_tell(struct nk_progress *progress, const char *what, uint64_t done, uint64_t all)
{
    struct timespec now;
    if (!progress->on) return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (since(&progress->begun, &now) < 0.5 || since(&progress->drawn, &now) < 0.1) return;
    progress->drawn = now;
    draw(progress, what, done, all);
}

void nk_progress_end(struct nk_progress *progress)
{
    if (progress->shown && write(progress->fd, "\r\033[K", 4) < 0) progress->on = false;
    progress->on = progress->shown = false;
}
