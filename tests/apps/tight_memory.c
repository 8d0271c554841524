// tight_memory.c - launches a, then lets the process have only so many KB of address space more, and launches b.
#include "app.h"

#include <sys/resource.h>

int main(int argc, char **argv)
{
    unsigned long pages = 0;
    float *data = memory();
    say("a", launch_a(data));
    FILE *file = fopen("/proc/self/statm", "r");
    if (argc < 2 || !file || fscanf(file, "%lu", &pages) != 1) return 2;
    fclose(file);
    struct rlimit limit = {pages * (unsigned long)getpagesize() + strtoul(argv[1], NULL, 10) * 1024, RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &limit);
    say("b", launch_b(data));
    say("last", cudaGetLastError());
    return 0;
}
