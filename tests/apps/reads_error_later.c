// reads_error_later.c - b fails and nobody looks; the error is read after a good launch of a, and blamed on that.
#include "app.h"

int main(void)
{
    float *data = memory();
    launch_b(data);
    launch_a(data);
    say("sync", cudaDeviceSynchronize());
    say("a", cudaGetLastError());
    return 0;
}
