// gather.h - finds recordings and JSON reports among files, folders, archives and standard input, and merges them.
//
// What a file is, its first bytes say: a recording, JSON documents one after another, or an archive or compressed file
// of such (whatever libarchive reads: zip, tar, gzip, zstd, ...; archives in archives too). Links in folders are not
// followed. Files are read by as many threads as there are processors; what is told comes in the order of the files.
#ifndef NK_MERGE_GATHER_H
#define NK_MERGE_GATHER_H

#include "merge/merge.h"

// Start from {.merge = ...}; the members below are the answer.
struct nk_merge_gather {
    struct nk_merge *merge;
    void (*tell)(void *user, const char *line);                // a sentence about something that could not be read
    void (*progress)(void *user, uint64_t files, uint64_t of); // or NULL
    void *user;                                                // for both; called in the calling thread only
    uint64_t problems;                                         // told
    uint64_t foreign; // files of other kinds in folders and archives: left without a word
    bool failed;      // memory was short: the merge is of no use
};

// Each path: a file, a folder, or "-" for standard input. A file of another kind is a problem when it was named itself.
void nk_merge_gather(struct nk_merge_gather *gather, const char *const *paths, size_t count);

#endif
