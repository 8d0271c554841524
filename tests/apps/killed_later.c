// killed_later.c - launches a for some time, then b once, and is killed: killed_later HOW MILLISECONDS
//   waits    and waits for its stream after each launch
//   looks    and looks into its memory after each launch
//   goes-on  and does nothing else
#include "app.h"

#include <signal.h>
#include <time.h>

int cudaStreamSynchronize(void *stream);
int cudaMemcpy(void *to, const void *from, size_t size, int kind);

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "goes-on";
    double end = now() + (argc > 2 ? atof(argv[2]) : 1000);
    float *data = memory(), value;
    while (now() < end) {
        launch_a(data);
        if (!strcmp(how, "waits")) cudaStreamSynchronize(NULL);
        if (!strcmp(how, "looks")) cudaMemcpy(&value, data, sizeof value, 2);
        usleep(10000);
    }
    launch_b(data);
    raise(SIGKILL);
    return 0;
}
