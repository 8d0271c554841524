// exits_in_handler.c - b fails, then a signal handler ends the program with 5:
//   waiting        after a launch of a, which takes as long as the simulated driver was told
//   MICROSECONDS   so long after the first failure, in the middle of more failing launches of b
#include "app.h"

#include <signal.h>
#include <sys/time.h>

static void on_timer(int number)
{
    (void)number;
    exit(5);
}

int main(int argc, char **argv)
{
    int waiting = argc > 1 && !strcmp(argv[1], "waiting"), code;
    long after = waiting ? 300000 : atol(argv[argc > 1]);
    float *data = memory();
    code = launch_b(data);
    if (waiting) say("b", code);
    signal(SIGALRM, on_timer);
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, after}}, NULL);
    if (waiting) launch_a(data);
    for (;;)
        if (waiting)
            usleep(1000);
        else
            launch_b(data);
}
