// launches.c - launches the kernels that the arguments name ("a b b"), one after the other, and says each result.
#include "app.h"

int main(int argc, char **argv)
{
    float *data = memory();
    for (int i = 1; i < argc; i++) say(argv[i], kernel_named(argv[i]).launch(data));
    say("last", cudaGetLastError());
    say("sync", cudaDeviceSynchronize());
    say("free", cudaFree(data));
    return 0;
}
