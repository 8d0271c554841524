// ahead.h - a stream that is read ahead by a thread of its own, so that inflating and decoding share the time.
#ifndef NK_SCAN_AHEAD_H
#define NK_SCAN_AHEAD_H

#include "scan/stream.h"

struct nk_ahead;

// Starts to read. NULL when there is no memory or no thread for it: then read without. Until nk_ahead_stop returns,
// `read` is called by that thread alone.
struct nk_ahead *nk_ahead_start(nk_stream_read read, void *user);
// As nk_stream_read; `ahead` is a struct nk_ahead. An error of `read` comes after all bytes that came before it.
int64_t nk_ahead_read(void *ahead, void *into, size_t size, struct nk_err *err);
void nk_ahead_stop(struct nk_ahead *ahead);

#endif
