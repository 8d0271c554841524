// captures.c - captures launches into a graph, and launches the graph twice.
#include "app.h"

int cudaLaunchKernel(const void *host, dim3 grid, dim3 block, void **args, size_t shared, stream_t stream);
int cudaStreamBeginCapture(stream_t stream, int mode);
int cudaStreamEndCapture(stream_t stream, void **graph);
int cudaGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags);
int cudaGraphLaunch(void *exec, stream_t stream);

int main(int argc, char **argv)
{
    float *data = memory();
    void *args[] = {&data}, *graph = NULL, *exec = NULL;
    stream_t stream;
    cudaStreamCreate(&stream);
    say("begin", cudaStreamBeginCapture(stream, 0 /* global: any unsafe call elsewhere ends the capture */));
    for (int i = 1; i < argc; i++)
        say(argv[i], cudaLaunchKernel(kernel_named(argv[i]).host, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, stream));
    say("end", cudaStreamEndCapture(stream, &graph));
    if (say("instantiate", cudaGraphInstantiateWithFlags(&exec, graph, 0))) return 0;
    say("launch", cudaGraphLaunch(exec, stream));
    say("launch", cudaGraphLaunch(exec, stream));
    say("sync", cudaStreamSynchronize(stream));
    return 0;
}
