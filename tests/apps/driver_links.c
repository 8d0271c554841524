// driver_links.c - gives inputs to the driver's linker, loads what comes out and launches a kernel of it:
// driver_links data|file|freed TYPE FILE KERNEL [FILE...]. TYPE is a CUjitInputType: 0 cubin, 1 PTX, 2 fat binary.
// "freed": each input is freed as soon as it was added. All memory is of the heap, as a compiler at run time has it.
#include "driver.h"

#include <unistd.h>

#define X(name, symbol, version, parameters) int symbol parameters;
DRIVER_FUNCTIONS(X)
#undef X
int cuLinkCreate_v2(unsigned count, int *options, void **values, handle *link);
int cuLinkAddData_v2(handle link, int type, void *data, size_t size, const char *name, unsigned count, int *options,
                     void **values);
int cuLinkAddFile_v2(handle link, int type, const char *path, unsigned count, int *options, void **values);
int cuLinkComplete(handle link, void **cubin, size_t *size);
int cuLinkDestroy(handle link);

static int add(const char *how, handle link, int type, const char *path)
{
    if (!strcmp(how, "file")) return cuLinkAddFile_v2(link, type, path, 0, NULL, NULL);
    FILE *file = fopen(path, "rb");
    char *bytes = malloc(1 << 20);
    size_t size = file ? fread(bytes, 1, 1 << 20, file) : 0;
    bytes = realloc(bytes, size); // no NUL behind it, and nothing else either
    int code = cuLinkAddData_v2(link, type, bytes, size, path, 0, NULL, NULL);
    if (!strcmp(how, "freed")) free(memset(bytes, 'x', size));
    if (file) fclose(file);
    return code;
}

int main(int argc, char **argv)
{
    handle link = NULL, module = NULL, function = NULL;
    void *cubin = NULL;
    size_t size = 0;
    if (argc < 5) return 2;
#define X(name, symbol, version, parameters) driver.name = symbol;
    DRIVER_FUNCTIONS(X)
#undef X
    handle stream = open_device();
    if (report("create", cuLinkCreate_v2(0, NULL, NULL, &link))) return 0;
    for (int i = 3; i < argc; i += i == 3 ? 2 : 1)
        if (report("add", add(argv[1], link, atoi(argv[2]), argv[i]))) return 0;
    if (report("complete", cuLinkComplete(link, &cubin, &size))) return 0;
    if (!report("load", cuModuleLoadData(&module, cubin)) &&
        !report(argv[4], cuModuleGetFunction(&function, module, argv[4])))
        launch(function, stream);
    report("destroy", cuLinkDestroy(link));
    return 0;
}
