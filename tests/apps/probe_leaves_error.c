// probe_leaves_error.c - a library asks for b's attributes, swallows the refusal but leaves it behind: the program
// reads it after a good launch of a, and blames that.
#include "app.h"

int cudaFuncGetAttributes(void *attributes, const void *host);

int main(void)
{
    char attributes[1024];
    float *data = memory();
    cudaFuncGetAttributes(attributes, host_b);
    launch_a(data);
    say("a", cudaGetLastError());
    return 0;
}
