// trail_dense.c - launches that follow each other closely: trail_dense HOW COUNT [NAME...]
//   stream   COUNT launches of the kernels NAME in turn, in one stream
//   wait W   the same with one kernel, then the wait W (stream, query, device), then b, in the default stream
//   threads  the same in 4 threads, each in a stream of its own
//   beside   for COUNT ms, and every 20 ms one of b in another stream; then COUNT more, and memory is filled
//   churn    COUNT streams: one launch, destroyed; then b in a new one
//   again    COUNT streams: two launches, destroyed; then a, a, b, a, a in a new one
// It says how many microseconds the launches took.
#include "graph.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

int cudaMemsetAsync(void *pointer, int value, size_t size, stream_t stream);

static stream_t streams[4];
static long count;
static char **names;
static int name_count;

static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void *launch_all(void *stream)
{
    int code = 0;
    for (long i = 0; i < count; i++) code |= launch_on(names[i % name_count], stream);
    if (code) say("launch", code);
    return NULL;
}

static void wait_for(const char *how)
{
    launch_all(NULL);
    if (!strcmp(how, "stream")) say("wait", cudaStreamSynchronize(NULL));
    if (!strcmp(how, "query")) say("wait", cudaStreamQuery(NULL));
    if (!strcmp(how, "device")) say("wait", cudaDeviceSynchronize());
    say("b", launch_on("b", NULL));
}

static void in_threads(void)
{
    pthread_t thread[4];
    for (int i = 0; i < 4; i++) pthread_create(&thread[i], NULL, launch_all, streams[i]);
    for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
}

static void beside(void)
{
    long start = now(), next = start;
    for (long t = start; t < start + count * 1000; t = now()) {
        for (int i = 0; i < 100; i++) launch_on("a", streams[0]);
        if (t < next) continue;
        launch_on("b", streams[1]);
        next += 20000;
    }
    launch_all(streams[0]);
    say("fill", cudaMemsetAsync(data, 0, 4, streams[0]));
}

static void churn(void)
{
    stream_t stream;
    for (long i = 0; i < count; i++)
        if (cudaStreamCreateWithFlags(&stream, NON_BLOCKING) | launch_on("a", stream) | cudaStreamDestroy(stream))
            say("stream", 1);
    cudaStreamCreateWithFlags(&stream, NON_BLOCKING);
    say("b", launch_on("b", stream));
}

static void again(void)
{
    static const char *const last[] = {"a", "a", "b", "a", "a"};
    stream_t stream;
    for (long i = 0; i < count; i++) {
        cudaStreamCreateWithFlags(&stream, NON_BLOCKING);
        if (launch_on("a", stream) | launch_on("a", stream) | cudaStreamDestroy(stream)) say("stream", 1);
    }
    cudaStreamCreateWithFlags(&stream, NON_BLOCKING);
    for (int i = 0; i < 5; i++) say(last[i], launch_on(last[i], stream));
}

int main(int argc, char **argv)
{
    static char *one[] = {"a"};
    const char *how = argv[1];
    bool waits = !strcmp(how, "wait");
    count = atol(argv[waits ? 3 : 2]);
    names = argc > 3 && !waits ? argv + 3 : one;
    name_count = argc > 3 && !waits ? argc - 3 : 1;
    data = memory();
    for (int i = 0; i < 4; i++) cudaStreamCreateWithFlags(&streams[i], NON_BLOCKING);
    long start = now();
    if (!strcmp(how, "stream")) launch_all(streams[0]);
    if (waits) wait_for(argv[2]);
    if (!strcmp(how, "threads")) in_threads();
    if (!strcmp(how, "beside")) beside();
    if (!strcmp(how, "churn")) churn();
    if (!strcmp(how, "again")) again();
    printf("took %ld\n", now() - start);
    say("sync", cudaDeviceSynchronize());
    return 0;
}
