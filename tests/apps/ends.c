// ends.c - b fails, then the program ends in the way the argument names; what had failed must not be lost.
#include "app.h"

#include <signal.h>
#include <pthread.h>

static void *leave(void *how)
{
    (void)how;
    exit(5);
}

static void end(const char *how)
{
    pthread_t thread;
    if (!strcmp(how, "exit")) exit(5);
    if (!strcmp(how, "_exit")) _exit(5);
    if (!strcmp(how, "_Exit")) _Exit(5);
    if (!strcmp(how, "quick_exit")) quick_exit(5);
    if (!strcmp(how, "abort")) abort();
    if (!strcmp(how, "kill")) raise(SIGKILL);
    if (!strcmp(how, "term")) raise(SIGTERM);
    if (!strcmp(how, "segv")) raise(SIGSEGV);
    if (!strcmp(how, "thread")) {
        pthread_create(&thread, NULL, leave, NULL);
        pthread_join(thread, NULL);
    }
    if (!strcmp(how, "exec")) execl("/bin/echo", "echo", "another program", (char *)NULL);
}

int main(int argc, char **argv)
{
    float *data = memory();
    say("a", launch_a(data));
    say("b", launch_b(data));
    if (argc > 1) end(argv[1]);
    return 5;
}
