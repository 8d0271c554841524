// threads.c - N threads launch a and b at the same time from the first call on: threads N TIMES
#include "app.h"

#include <pthread.h>
#include <stdatomic.h>

static int times;
static atomic_int good, bad;

static void *work(void *unused)
{
    void *data = NULL;
    cudaMalloc(&data, 256);
    for (int i = 0; i < times; i++) {
        good += launch_a(data) == 0;
        bad += launch_b(data) != 0;
        cudaGetLastError();
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread[64];
    int count = argc > 1 ? atoi(argv[1]) : 4;
    times = argc > 2 ? atoi(argv[2]) : 100;
    for (int i = 0; i < count; i++) pthread_create(&thread[i], NULL, work, NULL);
    for (int i = 0; i < count; i++) pthread_join(thread[i], NULL);
    say("good", good);
    say("bad", bad);
    return 0;
}
