// asks_first.c - asks whether b can run here and launches a when it cannot, as libraries do that dispatch.
#include "app.h"

int cudaFuncGetAttributes(void *attributes, const void *host);

int main(void)
{
    char attributes[1024];
    float *data = memory();
    if (say("b", cudaFuncGetAttributes(attributes, host_b))) {
        cudaGetLastError();
        say("a", launch_a(data));
    } else
        say("b", launch_b(data));
    return 0;
}
