// signals.c - a timer's signal handler launches b between the launches of a. Not within them: the runtime's own locks
// are not made for that, and such a program hangs by itself.
#include "app.h"

#include <signal.h>
#include <sys/time.h>

static float *data;
static volatile sig_atomic_t handled;

static void on_timer(int number)
{
    (void)number;
    static volatile sig_atomic_t busy;
    if (busy) return;
    busy = 1;
    launch_b(data);
    handled++;
    busy = 0;
}

int main(void)
{
    struct itimerval often = {{0, 200}, {0, 200}};
    data = memory();
    launch_a(data);
    signal(SIGALRM, on_timer);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 2000 || handled < 20; i++) {
        pthread_sigmask(SIG_BLOCK, &set, NULL);
        launch_a(data);
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    }
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    say("done", 0);
    return 0;
}
