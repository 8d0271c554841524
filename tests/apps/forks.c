// forks.c - forks, and parent or child or both use CUDA: forks parent|child|both|neither|again
//
// "parent" uses CUDA before it forks a child that only exits; "both" forks first, then each launches on its own;
// "again" uses CUDA before it forks, and the child tries to as well, which CUDA refuses.
#include "app.h"

#include <sys/wait.h>

static void use(const char *who)
{
    float *data = memory();
    printf("%s ", who);
    say("b", launch_b(data));
}

int main(int argc, char **argv)
{
    const char *who = argc > 1 ? argv[1] : "both";
    int status = 0;
    if (!strcmp(who, "parent") || !strcmp(who, "again")) use("parent");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (strcmp(who, "parent") && strcmp(who, "neither")) use("child");
        exit(7);
    }
    waitpid(child, &status, 0);
    if (!strcmp(who, "both")) use("parent");
    say("child", WEXITSTATUS(status));
    return 0;
}
