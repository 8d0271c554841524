// crew.h - threads that do jobs, each as many as it can; who finds none reads ahead for a job that is being done.
//
// An archive is read so: its members are the jobs. Inflating one member cannot be shared, but what it inflates to can
// be decoded by another thread meanwhile, and there are other members. With one thread all happens in the caller's.
#ifndef NK_SCAN_CREW_H
#define NK_SCAN_CREW_H

#include "scan/stream.h"

enum { NK_CREW_MOST = 8 }; // threads of a crew: each holds a window over a member, and memory has a bound

struct nk_crew;

struct nk_worker {
    struct nk_crew *crew;
    int number; // below NK_CREW_MOST
};

// What there is to do. `next` and `take` are called by one thread at a time, and call nothing of the crew.
struct nk_crew_jobs {
    void *(*next)(void *user); // the next job; NULL when that was all
    void (*work)(void *user, void *job, const struct nk_worker *worker);
    void (*take)(void *user, void *job); // what was done, in the order of the jobs
    void *user;
};

// Returns when every job was done and taken: 0, or -1 with a sentence when there is no memory to begin with.
int nk_crew_run(const struct nk_crew_jobs *jobs, int threads, struct nk_err *err);

// A piece of a job that any thread may do: whoever has nothing else to do, or has to wait. It lives until
// nk_crew_finish.
struct nk_task {
    void (*work)(void *user, int worker); // worker: the number of the one that does it
    void *user;
    struct nk_task *next; // from here on: the crew's
    bool begun, done;
};
// False when there is no other thread: then do it now.
bool nk_crew_offer(struct nk_crew *crew, struct nk_task *task);
// Returns when it was done: does it, if nobody has begun, and others while it waits.
void nk_crew_finish(const struct nk_worker *worker, struct nk_task *task);

// A stream that a job reads from, and that others may read ahead of it. `read` is called by one thread at a time, and
// by none when nk_ahead_stop has returned. `prepare` does what a later `read` would have to do: the job's thread calls
// it before it waits, while another may be in `read`; false when there is nothing to do now.
struct nk_stream {
    nk_stream_read read;
    bool (*prepare)(void *user); // or NULL
    void *user;
};
struct nk_ahead;
// NULL when memory is short: then read without.
struct nk_ahead *nk_ahead_start(const struct nk_worker *worker, const struct nk_stream *stream);
// As nk_stream_read; `ahead` is a struct nk_ahead. An error of `read` comes after all bytes that came before it.
int64_t nk_ahead_read(void *ahead, void *into, size_t size, struct nk_err *err);
void nk_ahead_stop(struct nk_ahead *ahead);

#endif
