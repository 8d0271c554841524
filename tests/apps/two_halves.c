// two_halves.c - opens two libraries as Python opens its extensions and calls them in turn:
// two_halves FIRST SECOND STEP... where a step is "1:launch b", "2:read", ... (see half.c). "say" before a step says
// its result, "thread" runs it in a thread of its own: "1:launch b" "thread 2:sync" "say 2:read".
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

typedef int (*run_fn)(const char *);
static run_fn half[2];
static int result;

static void *step(void *text)
{
    const char *at = text;
    result = half[at[0] - '1'](at + 2);
    return NULL;
}

int main(int argc, char **argv)
{
    for (int i = 0; i < 2 && argc > 2; i++) {
        void *library = dlopen(argv[1 + i], RTLD_NOW | RTLD_LOCAL);
        if (!library || !(*(void **)&half[i] = dlsym(library, "half_run"))) return puts(dlerror()), 1;
    }
    for (int i = 3; i < argc; i++) {
        char *text = strpbrk(argv[i], "12");
        if (!strncmp(argv[i], "thread", 6)) {
            pthread_t thread;
            pthread_create(&thread, NULL, step, text);
            pthread_join(thread, NULL);
        } else
            step(text);
        if (strstr(argv[i], "say")) printf("%s %d\n", text, result);
    }
    return 0;
}
