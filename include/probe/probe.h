// probe.h - does a GPU work at all? Moves memory, then launches a kernel of ours, through the driver alone.
//
// Each GPU is probed in a child process: a driver that hangs, crashes or ends the process takes nothing with it. The
// kernel is PTX of an old version for an old architecture, so that every driver compiles it for every GPU.
#ifndef NK_PROBE_PROBE_H
#define NK_PROBE_PROBE_H

#include "base/child.h"

#include <stdint.h>

enum nk_probe_step {
#define NK_STEP(name, key, half, what) NK_STEP_##name,
#include "probe/steps.def"
#undef NK_STEP
    NK_STEP_COUNT
};
enum nk_probe_half { NK_PROBE_MEMORY, NK_PROBE_LAUNCH };

enum nk_probe_end {
    NK_PROBE_WORKS,
    NK_PROBE_REFUSED, // `step` returned `result`
    NK_PROBE_WRONG,   // numbers are not what they should be: see `at`, `wanted`, `got`
    NK_PROBE_HANGS,   // `step` did not come back in time
    NK_PROBE_DIED,    // the process was ended in `step`, by signal `result` (0: it ended itself)
};

struct nk_probe_result {
    enum nk_probe_step step; // the last one that was begun
    enum nk_probe_end end;
    int result;               // of the driver; of OPEN 0
    uint32_t wrong;           // how many of the numbers are wrong
    uint32_t at, wanted, got; // the first that is
    char log[1024];           // what the driver's compiler said, "" for nothing
};

struct nk_probe {
    int ordinal;
    struct nk_child child; // which shares a nk_probe_result
};

enum { NK_PROBE_BYTES = 4 << 20 }; // that are moved

// Starts the probe of a GPU, as the driver numbers it under CUDA_VISIBLE_DEVICES. 0, or -1 with a sentence when no
// process can be started.
int nk_probe_start(struct nk_probe *probe, int ordinal, int seconds, struct nk_err *err);
// Waits for its end, or for the end of its time, and fills *out.
void nk_probe_finish(struct nk_probe *probe, struct nk_probe_result *out);

// Static texts: of a step its key in JSON and what is called; the half that it belongs to.
const char *nk_probe_key(enum nk_probe_step step);
const char *nk_probe_call(enum nk_probe_step step);
enum nk_probe_half nk_probe_half(enum nk_probe_step step);

// ---- shared by the files of the room

// The kernel: NAME(in, out, count) sets out[i] = nk_probe_number(in[i], i).
extern const char nk_probe_ptx[];
#define NK_PROBE_KERNEL "nokernel_probe"
uint32_t nk_probe_number(uint32_t in, uint32_t i);
// All steps, in the child. Fills *out as it goes along.
void nk_probe_run(int ordinal, struct nk_probe_result *out);

#endif
