// process.h - the life of the process around us.
#ifndef NK_PRELOAD_PROCESS_H
#define NK_PRELOAD_PROCESS_H

// Called once, with the recording's lock held, when the first CUDA call is seen: watches fork and the ways out. Before
// that nothing of ours has run.
void nk_process_watch(void);
// Called when a runtime looks for the driver: one that comes later ends earlier, and the report shall come before that.
void nk_process_watch_again(void);

#endif
