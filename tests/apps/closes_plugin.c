// closes_plugin.c - opens each plug-in that the arguments name, calls it, closes it, and says whether it is gone:
// addresses of code, of fat binaries and of handles come back with another meaning.
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        void *plugin = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        int (*run)(void) = plugin ? (int (*)(void))dlsym(plugin, "plugin_run") : NULL;
        if (!run) return puts(dlerror()), 1;
        run();
        dlclose(plugin);
        puts(dlopen(argv[i], RTLD_NOW | RTLD_NOLOAD) ? "still there" : "gone");
    }
    return 0;
}
