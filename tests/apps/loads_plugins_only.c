// loads_plugins_only.c - launches b, with more libraries in the process that carry GPU code and are never called:
// loads_plugins_only PATH...
#include "app.h"

#include <dlfcn.h>

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!dlopen(argv[i], RTLD_NOW | RTLD_LOCAL)) printf("%s\n", dlerror());
    say("b", launch_b(memory()));
    return 0;
}
