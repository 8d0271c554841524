// test_report_launches.c - graphs and trails: what the report says about them, and records that lie or are of old
// writers.
#define _GNU_SOURCE
#include "report_says.h"

#include "report/json.h"

static uint32_t kernel_a, kernel_b;

static void begin(void)
{
    make_begin();
    make_process(7, "/opt/app", "x");
    make_gpu(0, 80, "");
    uint32_t library = make_library("/opt/libk.so", "kpack", "1.2");
    uint32_t container = make_container(library, NK_ORIGIN_LIBRARY, 1, "80");
    kernel_a = make_kernel("first", container, 3);
    kernel_b = make_kernel("second", container, 2);
}

static void make_graph(uint32_t id, uint32_t n, uint32_t claimed)
{
    struct nk_rec_graph_kernel list[2] = {{kernel_a, 2}, {kernel_b, 1}};
    struct nk_rec_graph graph = {.id = id, .nodes = 3, .n = claimed};
    nk_writer_add(&maker, NK_REC_GRAPH, &graph, sizeof graph, list, n * sizeof *list);
}

static void make_trail(struct nk_rec_trail trail, const struct nk_rec_trail_launch *list, uint32_t n)
{
    if (!trail.n) trail.n = n;
    nk_writer_add(&maker, NK_REC_TRAIL, &trail, sizeof trail, list, n * sizeof *list);
}

static const struct nk_rec_trail_launch launches[] = {{.number = 1, .kernel = 1, .thread = 9},
                                                      {.number = 2, .kernel = 2, .thread = 9},
                                                      {.number = 3, .kernel = 1, .thread = 9}};

static uint32_t make_late(uint32_t kernel, uint32_t graph)
{
    return make_failure(
        (struct nk_rec_failure){
            .kind = NK_FAILED_WAIT, .result = 700, .kernel = kernel, .graph = graph, .pinned = NK_PINNED_TRAIL},
        "cuStreamSynchronize", 1);
}

static char *ended(void)
{
    make_exit(1);
    make_end();
    return report();
}

static void a_graph_is_listed_with_its_kernels_and_their_package(void **state)
{
    (void)state;
    begin();
    make_graph(1, 2, 2);
    make_failure((struct nk_rec_failure){.kind = NK_FAILED_GRAPH, .result = 719, .graph = 1}, "cuGraphLaunch", 1);
    char *text = ended();
    says(text,
         "  FAILED  a graph of 3 kernel nodes\n          cuGraphLaunch returned 719 CUDA_ERROR_LAUNCH_FAILED, once\n"
         "    graph first, 2 nodes in kpack 1.2, libk.so\n          second in kpack 1.2, libk.so\n");
    free(text);
}

static void the_first_launch_that_had_not_ended_is_marked(void **state)
{
    (void)state;
    begin();
    uint32_t failure = make_late(kernel_b, 0);
    make_trail((struct nk_rec_trail){.failure = failure, .stream = 0x5508, .launched = 40, .complete = 1}, launches, 3);
    char *text = ended();
    says(text, "    trail stream 0x5508: 40 launches, the first 1 known to have ended\n"
               "          1  first in kpack 1.2, libk.so  (had ended)\n"
               "          2  second in kpack 1.2, libk.so  <- suspect\n"
               "          3  first in kpack 1.2, libk.so\n"
               "          and 37 later ones\n");
    says(text, "the suspect is the first launch that is not known to have ended");
    free(text);
}

static void launches_up_to_the_next_marker_are_all_suspects(void **state)
{
    (void)state;
    begin();
    uint32_t failure = make_late(0, 0);
    make_trail(
        (struct nk_rec_trail){.failure = failure, .stream = 0x5508, .launched = 40, .complete = 1, .suspects = 2},
        launches, 3);
    char *text = ended();
    says(text, "          1  first in kpack 1.2, libk.so  (had ended)\n"
               "          2  second in kpack 1.2, libk.so  <- suspect\n"
               "          3  first in kpack 1.2, libk.so  <- suspect\n"
               "          and 37 later ones\n");
    says(text, "the suspects are the launches up to the next marker");
    says(text, "one of 2 launches failed, which one is not known");
    free(text);
}

static void many_suspects_are_listed_by_their_kernels(void **state)
{
    (void)state;
    struct nk_rec_trail_launch list[12];
    begin();
    uint32_t failure = make_late(0, 0);
    for (uint64_t i = 0; i < 12; i++)
        list[i] = (struct nk_rec_trail_launch){.number = 4 + i, .kernel = i % 3 ? kernel_a : kernel_b};
    make_trail(
        (struct nk_rec_trail){.failure = failure, .stream = 0x5508, .launched = 40, .complete = 4, .suspects = 20},
        list, 12);
    char *text = ended();
    says(text, "    trail stream 0x5508: 40 launches, the first 4 known to have ended\n"
               "          first in kpack 1.2, libk.so, 8 of the suspects\n"
               "          second in kpack 1.2, libk.so, 3 of the suspects\n"
               "          and 9 more suspects\n"
               "          and 16 later ones\n");
    keeps_quiet_about(text, "<- suspect");
    free(text);
}

static void streams_without_open_launches_are_counted(void **state)
{
    (void)state;
    begin();
    uint32_t failure = make_late(0, 0);
    for (uint64_t stream = 0x10; stream < 0x13; stream++)
        make_trail((struct nk_rec_trail){.failure = failure, .stream = stream, .launched = 3, .complete = 3}, launches,
                   1);
    char *text = ended();
    says(text, "3 other streams: all launches had ended");
    says(text, "every launch that was seen had ended");
    keeps_quiet_about(text, "suspect");
    free(text);
}

static void forgotten_launches_leave_no_suspect(void **state)
{
    (void)state;
    begin();
    uint32_t failure = make_late(0, 0);
    struct nk_rec_trail_launch late[] = {{.number = 12, .kernel = kernel_a}};
    make_trail((struct nk_rec_trail){.failure = failure, .launched = 12, .complete = 1, .lost = 10}, late, 1);
    char *text = ended();
    says(text, "the default stream: 12 launches, the first 1 known to have ended");
    says(text, "the next 10, the suspect among them, are no longer known");
    keeps_quiet_about(text, "<- suspect");
    free(text);
}

static void events_and_stopped_markers_are_told(void **state)
{
    (void)state;
    begin();
    uint32_t failure = make_late(0, 0);
    make_trail((struct nk_rec_trail){.failure = failure,
                                     .thread = 9,
                                     .launched = 3,
                                     .flags = NK_TRAIL_EVENTS | NK_TRAIL_OFF | NK_TRAIL_GONE,
                                     .stopped = 999},
               launches, 1);
    char *text = ended();
    says(text, "the default stream of thread 9 (destroyed since)");
    says(text, "no marker could be set in this stream any more (999)");
    says(text, "was last asked at");
    free(text);
}

static void records_that_lie_are_left_out(void **state)
{
    (void)state;
    begin();
    make_graph(2, 2, 2);  // not the next id
    make_graph(1, 1, 99); // more kernels than it holds
    uint32_t failure = make_late(0, 1);
    make_trail((struct nk_rec_trail){.failure = failure + 1, .launched = 3}, launches, 3); // of no failure
    make_trail((struct nk_rec_trail){.failure = 0, .launched = 3}, launches, 3);
    make_trail((struct nk_rec_trail){.failure = failure, .launched = 3, .n = 1u << 30}, launches, 3);
    struct nk_rec_trail_launch wild[] = {{.number = UINT64_MAX, .kernel = 77, .graph = 77}};
    make_trail((struct nk_rec_trail){.failure = failure, .launched = 1, .complete = UINT64_MAX, .lost = UINT64_MAX},
               wild, 1);
    char *text = ended();
    says(text, "5 damaged records were left out");
    free(text);
}

static void a_recording_of_before_graphs_is_read(void **state)
{
    (void)state;
    begin();
    struct nk_rec_failure f = {.id = ++made_failures, .kind = NK_FAILED_LAUNCH, .result = 700, .kernel = kernel_a};
    f.api = text("cuLaunchKernel");
    f.graph = 12345; // is not written
    nk_writer_add(&maker, NK_REC_FAILURE, &f, offsetof(struct nk_rec_failure, graph), NULL, 0);
    char *text = ended();
    says(text, "  FAILED  first\n          cuLaunchKernel returned 700");
    keeps_quiet_about(text, "graph");
    free(text);
}

static void json_lists_streams_and_launches(void **state)
{
    (void)state;
    struct nk_buf out = {0};
    struct nk_err err = {0};
    const char *path = made;
    begin();
    make_graph(1, 2, 2);
    uint32_t failure = make_late(kernel_b, 1);
    make_trail((struct nk_rec_trail){.failure = failure, .stream = 0x5508, .launched = 40, .complete = 1, .lost = 2},
               launches, 3);
    make_end();
    assert_int_equal(nk_report_json(&path, 1, &(struct nk_text_options){0}, &out, &err), 0);
    says(out.data, "\"pinned\": \"trail\"");
    says(out.data, "\"kernel_nodes\": 3");
    says(out.data, "\"stream\": \"0x5508\"");
    says(out.data, "\"not_listed\": 35"); // 40 launches: 1 ended, 2 forgotten, 2 listed
    says(out.data, "\"markers\": \"memory\"");
    unlink(made);
    nk_buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_graph_is_listed_with_its_kernels_and_their_package),
        cmocka_unit_test(the_first_launch_that_had_not_ended_is_marked),
        cmocka_unit_test(launches_up_to_the_next_marker_are_all_suspects),
        cmocka_unit_test(many_suspects_are_listed_by_their_kernels),
        cmocka_unit_test(streams_without_open_launches_are_counted),
        cmocka_unit_test(forgotten_launches_leave_no_suspect),
        cmocka_unit_test(events_and_stopped_markers_are_told),
        cmocka_unit_test(records_that_lie_are_left_out),
        cmocka_unit_test(a_recording_of_before_graphs_is_read),
        cmocka_unit_test(json_lists_streams_and_launches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
