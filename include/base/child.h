// child.h - work in a child process, which may hang, crash or end itself without harm to ours.
//
// What the child does stands in memory that both see, so that a child that was ended leaves what it had done so far.
#ifndef NK_BASE_CHILD_H
#define NK_BASE_CHILD_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct nk_child {
    pid_t pid;
    int pipe; // the child holds the other end until it ends
    double deadline;
    void *shared; // NULL: it was never started
    size_t size;
};

// Starts `work(shared, user)` in a child: shared is memory of `size` bytes, a copy of `initial` at first. The child has
// /dev/null for its standard streams, ends with its parent, and with status 0 when `work` returns. 0, or -1 with a
// sentence (memory, pipe or process); *child can be given to the functions below in both cases.
int nk_child_start(struct nk_child *child, const void *initial, size_t size, int seconds,
                   void (*work)(void *shared, void *user), void *user, struct nk_err *err);
// Waits for its end: true, and *status is that of waitpid. After so many seconds it is killed: false.
bool nk_child_finish(struct nk_child *child, int *status);
// Gives the memory back.
void nk_child_free(struct nk_child *child);

#endif
