// small_stack.c - launches a and b in a thread with a stack of N KB, most of it in use already: small_stack N. The
// thread makes the very first call of CUDA too when a second argument is given.
#include "app.h"

#include <pthread.h>

static float *data;

static void *work(void *unused)
{
    if (!data) data = memory();
    for (int i = 0; i < 2; i++) {
        say("a", launch_a(data));
        say("b", launch_b(data));
        say("last", cudaGetLastError());
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_attr_t small;
    pthread_t thread;
    if (argc < 3) data = memory();
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, (size_t)atoi(argv[1]) * 1024);
    if (pthread_create(&thread, &small, work, NULL)) return 9;
    pthread_join(thread, NULL);
    return 0;
}
