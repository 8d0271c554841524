// capture.h - events, captures and graphs: what event.c, capture.c, graph.c and graph_exec.c share.
#ifndef SIM_CAPTURE_H
#define SIM_CAPTURE_H

#include "sim.h"

struct sim_node {
    _Atomic uint32_t kind;
    struct sim_graph *graph;
    struct sim_work work;
    unsigned char params[72];  // as given, for GetParams
    struct sim_node **depends; // nodes of the same graph that come before
    size_t depend_count;
    struct sim_node *next, *origin; // origin: in a clone, the node that it was made from
    bool reached;                   // scratch of a walk
    bool disabled;                  // cuGraphNodeSetEnabled
};
struct sim_graph {
    _Atomic uint32_t kind;
    struct sim_node *first, *last;
    size_t count;
    struct sim_graph *original;
};
struct sim_exec {
    _Atomic uint32_t kind;
    struct sim_graph *graph; // its own copy
    struct sim_context *context;
};
struct sim_event {
    _Atomic uint32_t kind;
    struct sim_context *context;
    unsigned flags;
    uint64_t recorded; // nanoseconds, 0 = never
    uint64_t due;      // when the kernels before it have ended
    bool stuck;        // never, because work before it failed
    struct sim_stream *stream;
    unsigned long long stream_id;
    unsigned long long capture; // id of the capture that it was last recorded in, or 0
    struct sim_node **tails;
    size_t tail_count;
};

struct sim_graph *sim_graph_new(void);
void sim_graph_free(struct sim_graph *graph);
struct sim_graph *sim_graph_copy(struct sim_graph *graph);
// Does every node of the graph come before, or is, one of these?
// The node of a copy that was made from `node`; NULL: none.
struct sim_node *sim_graph_twin(struct sim_graph *copy, const struct sim_node *node);
// A new node for the program: 0, or why not. `params` is kept for GetParams.
int sim_graph_add_node(CUgraphNode *out, CUgraph graph, const CUgraphNode *depends, size_t count,
                       const struct sim_work *work, const void *params, size_t size);
// What CUDA_KERNEL_NODE_PARAMS (its second version, with `kern` and `ctx`) say, tried on the device.
int sim_graph_kernel(const CUDA_KERNEL_NODE_PARAMS *params, bool second, struct sim_work *work);
// graph_node.c: a conditional node's bodies; copied with their graph, and freed with it.
struct sim_condition {
    unsigned count;
    unsigned value; // of the condition, as the handle's default says
    int type;       // 0 if, 1 while, 2 switch
    CUgraph bodies[8];
};
void *sim_condition_copy(const struct sim_condition *condition);
void sim_condition_free(struct sim_condition *condition);
struct sim_graph *sim_condition_chosen(const struct sim_condition *condition); // what a launch runs, or NULL
bool sim_graph_all_before(struct sim_graph *graph, struct sim_node *const *ends, size_t count);
struct sim_node *sim_graph_add(struct sim_graph *graph, const struct sim_work *work, struct sim_node *const *depends,
                               size_t count);

int sim_capture_record(struct sim_stream *stream, struct sim_event *event, unsigned flags, bool *captured);
int sim_capture_wait(struct sim_stream *stream, struct sim_event *event, unsigned flags);
int sim_capture_event_query(struct sim_event *event); // 0 or 907
void sim_capture_forget_event(struct sim_event *event);

#endif
