// keeps_errno.c - errno is the program's: no launch, no look-up and no failing one may change it.
#include "app.h"

int main(void)
{
    float *data = memory();
    launch_a(data);
    launch_b(data);
    cudaGetLastError();
    for (int i = 0; i < 3; i++) {
        errno = 77;
        say("a", launch_a(data));
        say("errno", errno);
        errno = 77;
        say("b", launch_b(data));
        say("errno", errno);
        errno = 77;
        say("last", cudaGetLastError());
        say("errno", errno);
    }
    return 0;
}
