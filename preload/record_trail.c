// record_trail.c - an error of earlier work came back: which launches it can have been.
#include "core.h"

#include "trail.h"

// Launches of a stream that are not known to have ended: those that can have failed, and some that came later.
enum { MOST_SUSPECTS = 256, MOST_LISTED = 32 };

bool nk_core_is_late(int result) { return nk_result_is_sticky(result) && !nk_core.blocks && nk_pin != NK_PIN_LAUNCH; }

// The streams as they were when the error came back. They are looked at once: another thread may go on, and what the
// report names has to be what it lists. Under the recording's lock.
static struct seen {
    struct nk_trail_stream stream;
    unsigned cursor;
} seen[NK_TRAIL_STREAMS];
static unsigned seen_count;

// What all launches have in common that can have failed: one kernel, or one graph. False when there is no such thing,
// or when some of them are no longer known.
static bool in_common(struct nk_trail_launch *common)
{
    *common = (struct nk_trail_launch){0};
    for (unsigned i = 0; i < seen_count; i++)
        for (uint64_t n = 1; n <= seen[i].stream.suspects; n++) {
            struct nk_trail_launch launch = nk_trail_launch_of(seen[i].cursor, seen[i].stream.complete + n);
            if (!launch.number) return false;
            if (common->number && (launch.kernel != common->kernel || launch.graph != common->graph)) return false;
            *common = launch;
        }
    return common->number != 0;
}

void nk_core_trail_suspect(struct nk_event *event)
{
    struct nk_trail_launch suspect;
    unsigned cursor = 0;
    event->pinned = NK_PINNED_TRAIL;
    for (seen_count = 0; nk_trail_next(event->context, &cursor, &seen[seen_count].stream); seen_count++)
        seen[seen_count].cursor = cursor;
    if (!in_common(&suspect)) return;
    event->kernel = suspect.kernel;
    event->graph = suspect.graph;
    if (suspect.graph && suspect.graph->count == 1) event->kernel = suspect.graph->kernel[0].kernel;
}

void nk_core_last_look(void)
{
    enum { MOST_TIME = 20000000 }; // nanoseconds: somebody waits for the end of the program
    unsigned cursor = 0;
    struct nk_trail_asked asked;
    uint64_t start = nk_core_time();
    while (nk_core_time() - start < MOST_TIME && nk_trail_ask(&cursor, &asked)) {
        int saved;
        if (asked.result == NK_CUDA_NOT_READY) {
            nk_core.end.streams++;
            nk_core.end.unfinished += asked.open;
        }
        if (!nk_result_is_sticky(asked.result) || !nk_enter(&saved)) continue;
        if (!nk_core_is_known(asked.result, asked.gpu))
            nk_core_fail(&(struct nk_event){.kind = NK_FAILED_WAIT,
                                            .api = NK_cuStreamQuery,
                                            .result = asked.result,
                                            .stream = asked.stream,
                                            .pinned = NK_PINNED_RETURNED,
                                            .gpu = asked.gpu,
                                            .context = asked.context,
                                            .at_end = true});
        nk_leave(saved);
    }
}

static void add_launch(struct nk_rec_trail *record, struct nk_rec_trail_launch *list, struct nk_trail_launch launch)
{
    nk_core_kernel(launch.kernel, record->gpu);
    nk_core_graph(launch.graph, record->gpu);
    list[record->n++] = (struct nk_rec_trail_launch){.number = launch.number,
                                                     .thread = launch.thread,
                                                     .kernel = launch.kernel ? launch.kernel->id : 0,
                                                     .graph = launch.graph ? launch.graph->id : 0};
}

static void add_stream(uint32_t failure, unsigned cursor, const struct nk_trail_stream *s)
{
    static struct nk_rec_trail_launch list[MOST_SUSPECTS + 1];
    uint32_t most = s->suspects < MOST_LISTED     ? MOST_LISTED
                    : s->suspects < MOST_SUSPECTS ? (uint32_t)s->suspects
                                                  : MOST_SUSPECTS;
    struct nk_rec_trail record = {.failure = failure,
                                  .gpu = s->gpu,
                                  .stream = (uintptr_t)s->handle,
                                  .thread = s->thread,
                                  .launched = s->launched,
                                  .complete = s->complete,
                                  .suspects = s->suspects < UINT32_MAX ? (uint32_t)s->suspects : UINT32_MAX};
    if (s->events) record.flags |= NK_TRAIL_EVENTS;
    if (s->gone) record.flags |= NK_TRAIL_GONE;
    if (s->stopped && !nk_result_is_sticky(s->stopped)) {
        record.flags |= NK_TRAIL_OFF;
        record.stopped = s->stopped;
    }
    struct nk_trail_launch last = s->complete ? nk_trail_launch_of(cursor, s->complete) : (struct nk_trail_launch){0};
    if (last.number) add_launch(&record, list, last), most++;
    for (uint64_t number = s->complete + 1; number <= s->launched && record.n < most; number++) {
        // The ring holds the last ones: what it does not hold comes first.
        if (number + NK_TRAIL_RING <= s->launched) {
            record.lost = s->launched - NK_TRAIL_RING - s->complete;
            number = s->complete + record.lost + 1;
        }
        struct nk_trail_launch launch = nk_trail_launch_of(cursor, number);
        if (launch.number) add_launch(&record, list, launch);
    }
    nk_writer_add(&nk_core.writer, NK_REC_TRAIL, &record, sizeof record, list, record.n * sizeof *list);
}

void nk_core_trail(uint32_t failure)
{
    for (unsigned i = 0; i < seen_count; i++) add_stream(failure, seen[i].cursor, &seen[i].stream);
}
