// never_reads_error.c - b fails, nobody ever looks, the program ends with 0 and wrong numbers.
#include "app.h"

int main(void)
{
    float *data = memory();
    for (int i = 0; i < 3; i++) launch_b(data);
    cudaDeviceSynchronize();
    puts("done");
    return 0;
}
