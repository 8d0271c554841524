// calls_from_static.c - a launch of b below a function that the program exports and below one that it does not.
#include "app.h"

__attribute__((noinline)) static int not_exported(float *data)
{
    int code = launch_b(data);
    __asm__ volatile("" ::: "memory"); // no tail call: the frame stays
    return code + 1;
}

__attribute__((noinline, visibility("default"))) int exported(float *data)
{
    int code = not_exported(data);
    __asm__ volatile("" ::: "memory");
    return code - 1;
}

int main(void)
{
    say("b", exported(memory()));
    return 0;
}
