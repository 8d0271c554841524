// asks_for_driver.c - asks whether a CUDA driver is in the process, which is not: no one may answer yes.
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>

static void say(const char *what, const void *found) { printf("%s %s\n", what, found ? "found" : "absent"); }

int main(void)
{
    const char *error;
    say("default cuInit", dlsym(RTLD_DEFAULT, "cuInit"));
    error = dlerror();
    printf("dlerror %s\n", error ? "says why" : "is silent");
    say("self cuLaunchKernel", dlsym(dlopen(NULL, RTLD_NOW), "cuLaunchKernel"));
    say("default cudaLaunchKernel", dlsym(RTLD_DEFAULT, "cudaLaunchKernel"));
    say("next cuInit", dlsym(RTLD_NEXT, "cuInit"));
    say("default puts", dlsym(RTLD_DEFAULT, "puts"));
    errno = 77;
    say("default cuda", dlsym(RTLD_DEFAULT, "cuda"));
    printf("errno %d\n", errno);
    return 0;
}
