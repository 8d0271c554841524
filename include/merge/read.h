// read.h - what a merge takes in: recordings, and the JSON of `nokernel report` and of `nokernel merge`.
//
// A recording and the JSON report of it say the same, to the bit. Safe to call from several threads, each with its own
// `struct nk_merge_in`; only nk_merge_in's own functions touch the merge, under its lock.
#ifndef NK_MERGE_READ_H
#define NK_MERGE_READ_H

#include "base/bytes.h"
#include "base/err.h"
#include "merge/merge.h"

#include <jansson.h>
#include <pthread.h>

// The merge that all threads add to. `failed`: memory was short.
struct nk_merge_in {
    struct nk_merge *merge;
    pthread_mutex_t *lock;
    bool failed;
};

// A recording. 0, or -1 with a sentence that begins with `name`; `path` is opened, `name` is what it is called.
int nk_merge_recording(struct nk_merge_in *in, const char *path, const char *name, struct nk_err *err);
// JSON documents, one after another (JSON lines too). Returns how many were of ours and whole; those before a broken
// one are taken in. -1 with a sentence that begins with `name` when one cannot be read, or claims to be ours and is
// not. *foreign is how many were JSON of somebody else.
int nk_merge_json(struct nk_merge_in *in, struct nk_bytes text, const char *name, int *foreign, struct nk_err *err);

// For the two above: hands a report to the merge.
void nk_merge_hand_over(struct nk_merge_in *in, const struct nk_merge_report *report);
// A parsed document of schema nokernel-merge/1 (from_merge.c). 0, or -1 with a sentence without a name.
int nk_merge_merged(struct nk_merge_in *in, const json_t *root, struct nk_err *err);
// What became of the launches of a kernel that were not refused: `against`: though by the rules it does not run.
enum nk_seen nk_merge_seen(enum nk_runs runs, bool against);

#endif
