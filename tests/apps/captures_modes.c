// captures_modes.c - captures in the mode MODE (0 global, 1 thread-local, 2 relaxed) what is launched, while much else
// is launched: captures_modes WHO MODE
//   own      this thread launches on another stream in the middle of its capture
//   other    another thread launches on a stream of its own, and on its default stream
//   legacy   a stream is captured that does not wait for the default stream, on which this thread launches
//   forked   the stream of another launch joins the capture by an event, and leaves it again
#include "graph.h"

#include <pthread.h>
#include <stdlib.h>

static stream_t captured, other;

static void *launch_beside(void *unused)
{
    (void)unused;
    for (int i = 0; i < 3; i++) say("beside", launch_on("b", other));
    say("default", launch_on("a", NULL));
    return NULL;
}

static void in_another_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, launch_beside, NULL);
    pthread_join(thread, NULL);
}

static void fork_and_join(void)
{
    event_t out, back;
    cudaEventCreateWithFlags(&out, 2);
    cudaEventCreateWithFlags(&back, 2);
    cudaEventRecord(out, captured);
    say("join", cudaStreamWaitEvent(other, out, 0));
    say("forked", launch_on("b", other));
    cudaEventRecord(back, other);
    say("leave", cudaStreamWaitEvent(captured, back, 0));
}

int main(int argc, char **argv)
{
    const char *who = argc > 1 ? argv[1] : "own";
    graph_t graph = NULL;
    exec_t exec = NULL;
    data = memory();
    cudaStreamCreateWithFlags(&captured, NON_BLOCKING);
    cudaStreamCreateWithFlags(&other, NON_BLOCKING);
    say("warm", launch_on("a", other)); // first launches load code, which a capture may forbid
    say("warm", launch_on("b", other));
    say("begin", cudaStreamBeginCapture(captured, argc > 2 ? atoi(argv[2]) : GLOBAL));
    say("a", launch_on("a", captured));
    if (!strcmp(who, "own")) say("beside", launch_on("b", other));
    if (!strcmp(who, "other")) in_another_thread();
    if (!strcmp(who, "legacy")) say("default", launch_on("b", NULL));
    if (!strcmp(who, "forked")) fork_and_join();
    say("a", launch_on("a", captured));
    if (say("end", cudaStreamEndCapture(captured, &graph))) return 0;
    say("instantiate", cudaGraphInstantiateWithFlags(&exec, graph, 0));
    say("launch", cudaGraphLaunch(exec, captured));
    say("sync", cudaDeviceSynchronize());
    return 0;
}
