// driver_reuses_handles.c - loads a module, launches its kernel and unloads it, for each pair of arguments in turn,
// from one and the same buffer: handles and addresses come back with another meaning. driver_reuses_handles FILE KERNEL
// ...
#include "driver.h"

#define X(name, symbol, version, parameters) int symbol parameters;
DRIVER_FUNCTIONS(X)
#undef X

int main(int argc, char **argv)
{
    handle module, function, first = NULL;
#define X(name, symbol, version, parameters) driver.name = symbol;
    DRIVER_FUNCTIONS(X)
#undef X
    handle stream = open_device();
    for (int i = 1; i + 1 < argc; i += 2) {
        if (report("load", cuModuleLoadData(&module, whole_file(argv[i])))) continue;
        if (report(argv[i + 1], cuModuleGetFunction(&function, module, argv[i + 1])) == 0) launch(function, stream);
        if (!first)
            first = function;
        else
            printf("handle %s\n", first == function ? "again" : "new");
        report("unload", cuModuleUnload(module));
    }
    return 0;
}
