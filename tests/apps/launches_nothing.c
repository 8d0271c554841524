// launches_nothing.c - does not look at what was refused and launches all the same, twice: launches_nothing FILE KERNEL
// The second time there is no load, when the first one worked, and no kernel either.
#include "driver.h"

#define X(name, symbol, version, parameters) int symbol parameters;
DRIVER_FUNCTIONS(X)
#undef X

int main(int argc, char **argv)
{
    handle module = NULL, function = NULL;
#define X(name, symbol, version, parameters) driver.name = symbol;
    DRIVER_FUNCTIONS(X)
#undef X
    handle stream = open_device();
    for (int i = 0; i < 2 && argc > 2; i++, function = NULL) {
        if (!module && !report("load", cuModuleLoadData(&module, whole_file(argv[1]))))
            cuModuleGetFunction(&function, module, argv[2]);
        launch(function, stream);
    }
    return 0;
}
