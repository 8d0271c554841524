// driver_linked.c - linked with -lcuda: the dynamic linker binds its calls, nobody asks dlsym.
#include "driver.h"

#define X(name, symbol, version, parameters) int symbol parameters;
DRIVER_FUNCTIONS(X)
#undef X

int main(int argc, char **argv)
{
#define X(name, symbol, version, parameters) driver.name = symbol;
    DRIVER_FUNCTIONS(X)
#undef X
    return argc < 3 ? 2 : use_driver(argv + 1);
}
