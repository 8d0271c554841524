// opens_plugin.c - opens each plug-in that the arguments name with RTLD_LOCAL, as Python opens its extensions, and
// calls it: opens_plugin PATH... A program that is linked with a runtime and kernels of its own launches a first.
#include <dlfcn.h>
#include <stdio.h>

#ifdef OWN_KERNELS
#include "app.h"
#endif

int main(int argc, char **argv)
{
#ifdef OWN_KERNELS
    say("own a", launch_a(memory()));
#endif
    for (int i = 1; i < argc; i++) {
        void *plugin = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        int (*run)(void) = plugin ? (int (*)(void))dlsym(plugin, "plugin_run") : NULL;
        if (!run) {
            printf("%s\n", dlerror());
            return 1;
        }
        run();
    }
    return 0;
}
