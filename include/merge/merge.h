// merge.h - many reports as one: which kernels of which packages did what on which GPUs.
//
// A merge is a set of reports (one report: one recording, so one process), each with what it saw: facts with counts.
// Adding is a join: in whatever order reports are added, and however they were merged before, the state is the same.
// The same report twice is one report; of two readings of it (one while the program still ran) the larger counts stay.
// For this a merge keeps every report apart: about four bytes a report and fact, and each text once.
//
// Of a machine only what its GPUs and their driver are called is taken in: no path above a package, no home, no user,
// no host, no arguments. Control characters in texts become '?'. A merge owns all its memory. One thread at a time.
#ifndef NK_MERGE_MERGE_H
#define NK_MERGE_MERGE_H

#include "base/table.h"
#include "verdict/judge.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What became of a kernel's launches.
enum nk_seen {
    NK_SEEN_MISSING, // refused: there was no image for the GPU that could be used
    NK_SEEN_HOLLOW,  // launched, and did nothing: its body is empty for this GPU
    NK_SEEN_JIT,     // launched; the driver had compiled PTX
    NK_SEEN_RAN,     // launched, though by the rules it cannot run there
    NK_SEEN_UNKNOWN, // launched; how is not known
    NK_SEEN_NATIVE,  // launched; its own code fitted
    NK_SEEN_GPU,     // no kernel: a GPU that was in use
    NK_SEEN_COUNT,
};

enum nk_fact_text {
    NK_FACT_PACKAGE, // as pip, conda or dpkg calls it
    NK_FACT_VERSION, // of the package; of a GPU: of its driver
    NK_FACT_LIBRARY, // from the package on: torch/lib/libtorch_cuda.so; of a GPU: the CUDA version of its driver
    NK_FACT_KERNEL,  // mangled; of a GPU: its name
    NK_FACT_ONE_OF,  // where the kernel is not known: those that it may have been, one a line
    NK_FACT_HAS,     // images that hold it: "sm_80, compute_90@8.0"
    NK_FACT_REASON,  // key of the reason by the rules
    NK_FACT_TEXTS,
};

// Texts are "" where they are not known, never NULL.
struct nk_fact {
    const char *text[NK_FACT_TEXTS];
    uint32_t sm; // 120; 0 not known
    enum nk_seen seen;
    enum nk_runs rules; // what the rules say
    bool memory;        // the code was in memory, and `library` is the one that loaded it
    bool contradiction; // the driver did not do what the rules say
};

// A report on its way into a merge. It borrows the texts.
struct nk_merge_report {
    uint64_t id; // which recording it is about
    struct nk_merge_item {
        struct nk_fact fact;
        uint64_t count; // launches, or GPUs
    } * item;
    size_t count, room;
    bool failed; // memory was short
};

void nk_merge_report_add(struct nk_merge_report *report, const struct nk_fact *fact, uint64_t count);
// Forgets the items, keeps the memory.
void nk_merge_report_clear(struct nk_merge_report *report);
void nk_merge_report_free(struct nk_merge_report *report);

// A fact as a merge keeps it: numbers of texts (nk_merge_text).
struct nk_merge_key {
    uint32_t text[NK_FACT_TEXTS];
    uint32_t sm;
    uint8_t seen, rules, memory, contradiction;
};

struct nk_merge {
    char **texts; // by number; 0 is ""
    struct nk_merge_key *keys;
    struct nk_merge_known {
        uint64_t id;
        uint8_t *packed; // pairs (key, count), see nk_merge_each
        uint32_t size;
    } * reports;
    size_t text_count, text_room, key_count, key_room, report_count, report_room;
    struct nk_table by_text, by_key, by_id; // hash: 1 + number of the first with that hash
    uint32_t *next_text, *next_key;         // 1 + number of another one with the same hash
};

// Start from `struct nk_merge m = {0};`. Facts of one report that are alike are summed (up to INT64_MAX, which no sum
// exceeds). 0, or -1 when memory is short: the merge is then of no use.
int nk_merge_add(struct nk_merge *merge, const struct nk_merge_report *report);
const char *nk_merge_text(const struct nk_merge *merge, uint32_t number);
// Walks the facts of a report: *at starts at 0. False at the end.
bool nk_merge_each(const struct nk_merge_known *report, uint32_t *at, uint32_t *key, uint64_t *count);
void nk_merge_free(struct nk_merge *merge);

// The sum, or INT64_MAX.
uint64_t nk_merge_sum(uint64_t a, uint64_t b);
// "missing", "hollow", "jit", "ran", "unknown", "native"; "gpu".
const char *nk_seen_word(enum nk_seen seen);
// The part of a path that says nothing about the machine: from site-packages or dist-packages on, else the file's name.
const char *nk_merge_path(const char *path);

#endif
