// recordings.h - where recordings lie, and which of them are meant.
#ifndef NK_CLI_RECORDINGS_H
#define NK_CLI_RECORDINGS_H

#include "base/err.h"

#include <stddef.h>

// A list of paths; it owns them.
struct nk_recordings {
    char **path;
    size_t count, room;
};

// The folder of recordings: NOKERNEL_DIR, else $XDG_STATE_HOME/nokernel, else ~/.local/state/nokernel. 0, or -1 with a
// sentence when none of them is set or the path is too long.
int nk_recordings_folder(char *out, size_t size, struct nk_err *err);
// Adds a path as it is. 0, or -1 when memory is short.
int nk_recordings_add(struct nk_recordings *list, const char *path);
// Adds every *.nkr in a folder and in the folders below it, the processes in the order in which they started. 0 (also
// when there is none), or -1 with a sentence.
int nk_recordings_add_folder(struct nk_recordings *list, const char *folder, struct nk_err *err);
// Adds the `most` files *.nkr that were changed last, in a folder and in those below it, the newest last. Nothing is
// opened. A folder that cannot be read holds none.
void nk_recordings_add_newest(struct nk_recordings *list, const char *folder, size_t most);
// Adds the newest recording, or all of the `nokernel run` that it belongs to. 0, or -1 with a sentence when there is
// none.
int nk_recordings_add_last(struct nk_recordings *list, struct nk_err *err);
void nk_recordings_free(struct nk_recordings *list);

#endif
