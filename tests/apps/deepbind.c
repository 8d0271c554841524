// deepbind.c - opens a plug-in with RTLD_DEEPBIND: its own dependencies come before any preload, so its calls bypass us
// where the dynamic linker binds them; what the runtime asks dlsym for is seen all the same.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND) : NULL;
    int (*run)(void) = plugin ? (int (*)(void))dlsym(plugin, "plugin_run") : NULL;
    if (!run) return puts(dlerror()), 1;
    run();
    return 0;
}
