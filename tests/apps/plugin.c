// plugin.c - a plug-in with a runtime and kernels a and b: plugin_run launches both.
#include "app.h"

__attribute__((visibility("default"))) int plugin_run(void)
{
    float *data = memory();
    say("plug-in a", launch_a(data));
    return say("plug-in b", launch_b(data));
}
