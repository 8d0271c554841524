// plugin.c - a plug-in with a runtime and kernels a and b: plugin_run launches both.
#include "app.h"

#ifdef SAYS_WHEN_IT_ENDS // as a runtime in it has its own handlers for the end of the process
#include <stdio.h>
#include <stdlib.h>
static void gone(void) { fputs("plug-in gone\n", stderr); }
__attribute__((constructor)) static void arrive(void) { atexit(gone); }
#endif

__attribute__((visibility("default"))) int plugin_run(void)
{
    float *data = memory();
    say("plug-in a", launch_a(data));
    return say("plug-in b", launch_b(data));
}
