// captures_beside.c - one thread captures a stream, in the mode in which an unsafe call of any thread ends the capture;
// another launches on a stream of its own meanwhile, which is allowed.
#include "app.h"

#include <pthread.h>

int cudaLaunchKernel(const void *host, dim3 grid, dim3 block, void **args, size_t shared, stream_t stream);
int cudaStreamBeginCapture(stream_t stream, int mode);
int cudaStreamCreateWithFlags(stream_t *stream, unsigned flags);
int cudaStreamEndCapture(stream_t stream, void **graph);

static float *data;

static int launch(const void *host, stream_t stream)
{
    void *args[] = {&data};
    return cudaLaunchKernel(host, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, stream);
}

static void *work(void *stream)
{
    for (int i = 0; i < 3; i++) say("beside", launch(host_b, stream));
    return NULL;
}

int main(void)
{
    stream_t captured, other;
    void *graph = NULL;
    pthread_t thread;
    data = memory();
    cudaStreamCreateWithFlags(&captured, 1 /* does not wait for the default stream */);
    cudaStreamCreateWithFlags(&other, 1);
    say("warm", launch(host_a, other)); // first launches load code, which a capture may forbid
    say("warm", launch(host_b, other));
    say("begin", cudaStreamBeginCapture(captured, 0 /* global */));
    say("a", launch(host_a, captured));
    pthread_create(&thread, NULL, work, other);
    pthread_join(thread, NULL);
    say("end", cudaStreamEndCapture(captured, &graph));
    return 0;
}
