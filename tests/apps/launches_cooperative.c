// launches_cooperative.c - launches kernels by cudaLaunchCooperativeKernel.
#include "app.h"

int cudaLaunchCooperativeKernel(const void *host, dim3 grid, dim3 block, void **args, size_t shared, stream_t stream);

int main(int argc, char **argv)
{
    float *data = memory();
    void *args[] = {&data};
    for (int i = 1; i < argc; i++)
        say(argv[i],
            cudaLaunchCooperativeKernel(kernel_named(argv[i]).host, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, NULL));
    return 0;
}
