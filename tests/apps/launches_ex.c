// launches_ex.c - launches kernels by cudaLaunchKernelExC, on a stream of its own.
#include "app.h"

struct config {
    dim3 grid, block;
    size_t shared;
    stream_t stream;
    void *attributes;
    unsigned count;
};
int cudaLaunchKernelExC(const struct config *config, const void *host, void **args);

int main(int argc, char **argv)
{
    float *data = memory();
    void *args[] = {&data};
    struct config config = {{1, 1, 1}, {1, 1, 1}, 0, NULL, NULL, 0};
    say("stream", cudaStreamCreate(&config.stream));
    for (int i = 1; i < argc; i++) say(argv[i], cudaLaunchKernelExC(&config, kernel_named(argv[i]).host, args));
    say("sync", cudaStreamSynchronize(config.stream));
    return 0;
}
