// probe.c - the child process of a probe.
#include "probe/probe.h"

#include <sys/wait.h>

static void run(void *shared, void *probe) { nk_probe_run(((struct nk_probe *)probe)->ordinal, shared); }

int nk_probe_start(struct nk_probe *probe, int ordinal, int seconds, struct nk_err *err)
{
    // Until a step says otherwise, the process was ended in it.
    static const struct nk_probe_result initial = {.end = NK_PROBE_DIED};
    probe->ordinal = ordinal;
    return nk_child_start(&probe->child, &initial, sizeof initial, seconds, run, probe, err);
}

void nk_probe_finish(struct nk_probe *probe, struct nk_probe_result *out)
{
    int status;
    bool in_time = nk_child_finish(&probe->child, &status);
    *out = *(const struct nk_probe_result *)probe->child.shared;
    out->log[sizeof out->log - 1] = 0;
    if (out->end == NK_PROBE_DIED) {
        out->end = in_time ? NK_PROBE_DIED : NK_PROBE_HANGS;
        out->result = in_time && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    }
    nk_child_free(&probe->child);
}
