// two_gpus.c - launches the kernels that the arguments name on each GPU in turn, and says which result came from which.
#include "app.h"

int main(int argc, char **argv)
{
    int count = 0;
    say("gpus", (cudaGetDeviceCount(&count), count));
    for (int gpu = 0; gpu < count; gpu++) {
        say("gpu", (cudaSetDevice(gpu), gpu));
        float *data = memory();
        for (int i = 1; i < argc; i++) say(argv[i], kernel_named(argv[i]).launch(data));
    }
    return 0;
}
