// contents.h - reads one file of any kind into a merge.
#ifndef NK_MERGE_CONTENTS_H
#define NK_MERGE_CONTENTS_H

#include "base/buf.h"
#include "merge/read.h"

struct nk_merge_contents {
    struct nk_merge_in in;
    struct nk_buf problems; // sentences, each with a line end
    uint64_t problem_count, foreign;
};

// Reads the file at `path` ("-": standard input). `named`: somebody asked for it, so that it must be one of ours.
void nk_merge_file(struct nk_merge_contents *contents, const char *path, bool named);

// Adds a sentence and a line end; control characters, of file names and of what was read, become '?'.
void nk_merge_complain(struct nk_buf *out, const char *sentence);

#endif
