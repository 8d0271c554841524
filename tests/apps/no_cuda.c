// no_cuda.c - knows nothing of CUDA: nothing must happen to it, and no file may be made.
#include <stdio.h>

int main(void)
{
    puts("hello");
    return 3;
}
