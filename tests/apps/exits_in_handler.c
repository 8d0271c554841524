// exits_in_handler.c - b fails, a is launched, which takes as long as the simulated driver was told, and meanwhile a
// signal handler ends the program with 5.
#include "app.h"

#include <signal.h>
#include <sys/time.h>

static void on_timer(int number)
{
    (void)number;
    exit(5);
}

int main(void)
{
    float *data = memory();
    say("b", launch_b(data));
    signal(SIGALRM, on_timer);
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 300000}}, NULL);
    launch_a(data);
    for (;;) usleep(1000);
}
