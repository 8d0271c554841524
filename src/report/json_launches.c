// json_launches.c - the members "graph" and "trail" of a failure in the JSON report.
#include "report/json_parts.h"
#include "report/launches.h"

// Name and place of a kernel; NULL is one that is not known.
static json_t *kernel_object(const struct nk_json_at *at, const struct nk_run_kernel *kernel)
{
    const char *name = kernel ? nk_run_text(at->run, kernel->name) : "";
    json_t *object = json_pack("{s:o, s:o}", "kernel", nk_json_or_null(name), "demangled", nk_json_demangled(name));
    nk_json_add_place(at, object, kernel ? kernel->container : NULL);
    return object;
}

json_t *nk_json_graph(const struct nk_json_at *at, const struct nk_run_graph *graph)
{
    if (!graph) return json_null();
    json_t *kernels = json_array();
    for (uint32_t i = 0; i < graph->count; i++) {
        json_t *object = kernel_object(at, graph->kernels[i].kernel);
        json_object_set_new(object, "nodes", json_integer(graph->kernels[i].nodes));
        json_array_append_new(kernels, object);
    }
    return json_pack("{s:I, s:o}", "kernel_nodes", (json_int_t)graph->nodes, "kernels", kernels);
}

static json_t *launches(const struct nk_json_at *at, const struct nk_run_trail *trail)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < trail->r.n; i++) {
        const struct nk_run_launch *l = &trail->launches[i];
        json_t *object = kernel_object(at, l->kernel);
        json_object_set_new(object, "number", nk_json_number(l->number));
        json_object_set_new(object, "ended", json_boolean(l->number <= trail->r.complete));
        json_object_set_new(
            object, "suspect",
            json_boolean(l->number > trail->r.complete && l->number - trail->r.complete <= nk_trail_suspects(trail)));
        json_object_set_new(object, "thread", nk_json_number(l->thread));
        json_object_set_new(object, "graph", nk_json_graph(at, l->graph));
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *stream(const struct nk_json_at *at, const struct nk_run_trail *t)
{
    bool stopped = t->r.flags & NK_TRAIL_OFF;
    uint64_t known = t->r.lost, open = nk_trail_open(t);
    for (uint32_t i = 0; i < t->r.n; i++) known += t->launches[i].number > t->r.complete;
    return json_pack("{s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:o}", "stream",
                     json_sprintf("%#llx", (unsigned long long)t->r.stream), "thread",
                     t->r.thread ? nk_json_number(t->r.thread) : json_null(), "gpu", nk_json_ordinal(t->gpu),
                     "destroyed", (t->r.flags & NK_TRAIL_GONE) != 0, "launched", nk_json_number(t->r.launched), "ended",
                     nk_json_number(t->r.complete), "suspects", nk_json_number(nk_trail_suspects(t)), "forgotten",
                     nk_json_number(t->r.lost), "launches", launches(at, t), "not_listed",
                     nk_json_number(open > known ? open - known : 0), "markers",
                     stopped                        ? "stopped"
                     : t->r.flags & NK_TRAIL_EVENTS ? "events"
                                                    : "memory",
                     "stopped_by", stopped ? json_integer(t->r.stopped) : json_null());
}

json_t *nk_json_trail(const struct nk_json_at *at, const struct nk_run_failure *f)
{
    if (f->r.pinned != NK_PINNED_TRAIL) return json_null();
    json_t *list = json_array();
    for (size_t i = 0; i < at->run->trail_count; i++)
        if (at->run->trails[i].r.failure == f->r.id) json_array_append_new(list, stream(at, &at->run->trails[i]));
    return list;
}
