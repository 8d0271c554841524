// begins_capture_meanwhile.c - a long kernel is launched on the default stream; another thread captures a stream that
// waits for that one a little later, which is allowed once the launch has returned.
#include "graph.h"

#include <pthread.h>

static stream_t captured;

static void *capture(void *unused)
{
    graph_t graph = NULL;
    (void)unused;
    usleep(100000);
    say("begin", cudaStreamBeginCapture(captured, RELAXED));
    usleep(300000);
    say("a", launch_on("a", captured));
    say("end", cudaStreamEndCapture(captured, &graph));
    return NULL;
}

int main(void)
{
    pthread_t thread;
    data = memory();
    cudaStreamCreate(&captured);
    say("warm", launch_on("a", captured));
    pthread_create(&thread, NULL, capture, NULL);
    int code = launch_on("b", NULL);
    pthread_join(thread, NULL);
    say("b", code);
    return 0;
}
