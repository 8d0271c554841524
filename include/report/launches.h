// launches.h - what else is to be said about a failure of a graph, and of launches that were not waited for.
#ifndef NK_REPORT_LAUNCHES_H
#define NK_REPORT_LAUNCHES_H

#include "report/page.h"
#include "report/words.h"

// "a graph of 3 kernel nodes"
void nk_words_graph(struct nk_buf *out, const struct nk_run_graph *graph);
// Rows about the kernels of a failure's graph; nothing when it is of no graph.
void nk_row_graph(struct nk_page *page, struct nk_run *run, const struct nk_run_failure *failure);
// Rows about the launches that had not ended, stream by stream, and what does not follow from them. Nothing when the
// failure was pinned in another way.
void nk_row_trail(struct nk_page *page, struct nk_run *run, const struct nk_run_failure *failure);

// How many launches of a stream are not known to have ended.
uint64_t nk_trail_open(const struct nk_run_trail *trail);
// How many of those it can have been that failed, if it was one of this stream: the first ones.
uint64_t nk_trail_suspects(const struct nk_run_trail *trail);

#endif
