// many_streams.c - launches a, b, a on each of its streams, in turn, from as many threads when asked; then waits for
// all:
//   many_streams streams N      N streams of its own, and the default one
//   many_streams threads N      N threads with a stream each
//   many_streams own N          N threads, each on its own default stream (cudaStreamPerThread)
#include "graph.h"

#include <pthread.h>
#include <stdlib.h>

#define PER_THREAD ((stream_t)2)

static stream_t streams[64];
static int codes[64][3], syncs[64];

static void *work(void *number)
{
    int i = (int)(long)number;
    for (int k = 0; k < 3; k++) codes[i][k] = launch_on(k == 1 ? "b" : "a", streams[i]);
    syncs[i] = cudaStreamSynchronize(streams[i]);
    return NULL;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "streams";
    int count = argc > 2 ? atoi(argv[2]) : 4;
    pthread_t threads[64];
    data = memory();
    for (int i = 0; i < count; i++)
        if (!strcmp(how, "own"))
            streams[i] = PER_THREAD;
        else
            cudaStreamCreateWithFlags(&streams[i], NON_BLOCKING);
    if (!strcmp(how, "streams")) {
        streams[count++] = NULL;
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < count; i++) codes[i][k] = launch_on(k == 1 ? "b" : "a", streams[i]);
        for (int i = 0; i < count; i++) syncs[i] = cudaStreamSynchronize(streams[i]);
    } else {
        for (int i = 0; i < count; i++) pthread_create(&threads[i], NULL, work, (void *)(long)i);
        for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < count; i++)
        printf("%d: %d %d %d sync %d\n", i, codes[i][0], codes[i][1], codes[i][2], syncs[i]);
    return 0;
}
