// embeds_python.c - a program that opens Python late and for itself alone (RTLD_LOCAL), and closes it again.
//     embeds_python IMAGE LIBPYTHON
// Each time IMAGE (with the kernel k000000) is loaded in vain under another name: k000001 before Python is there,
// k000002 out of a Python function, k000003 when Python has ended, k000004 when its library is closed.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

struct method { // PyMethodDef
    const char *name;
    void *(*function)(void *self, void *arguments);
    int flags;
    const char *doc;
};

static char image[1 << 16];
static size_t size;
static int (*load_data)(void **module, const void *image);

static void load(char number)
{
    for (size_t i = 0; i + 7 < size; i++)
        if (!memcmp(image + i, "k00000", 6)) image[i + 6] = number;
    void *module;
    printf("%c: %d\n", number, load_data(&module, image));
}

static void *python;
static void *called(void *self, void *arguments)
{
    (void)self, (void)arguments;
    load('2');
    void *nothing = dlsym(python, "_Py_NoneStruct");
    ((void (*)(void *))dlsym(python, "Py_IncRef"))(nothing);
    return nothing;
}

int main(int argc, char **argv)
{
    FILE *file = argc > 2 ? fopen(argv[1], "rb") : NULL;
    if (!file) return 2;
    size = fread(image, 1, sizeof image, file);
    fclose(file);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *context;
    ((int (*)(unsigned))dlsym(driver, "cuInit"))(0);
    ((int (*)(void **, int))dlsym(driver, "cuDevicePrimaryCtxRetain"))(&context, 0);
    ((int (*)(void *))dlsym(driver, "cuCtxSetCurrent"))(context);
    load_data = (int (*)(void **, const void *))dlsym(driver, "cuModuleLoadData");
    load('1');

    static struct method method = {"load", called, 4 /* METH_NOARGS */, NULL};
    python = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    if (!python) return puts(dlerror()), 3;
    ((void (*)(void))dlsym(python, "Py_Initialize"))();
    void *module = ((void *(*)(const char *))dlsym(python, "PyImport_AddModule"))("__main__");
    void *function =
        ((void *(*)(struct method *, void *, void *))dlsym(python, "PyCFunction_NewEx"))(&method, NULL, NULL);
    ((int (*)(void *, const char *, void *))dlsym(python, "PyObject_SetAttrString"))(module, "load", function);
    ((int (*)(const char *, void *))dlsym(python, "PyRun_SimpleStringFlags"))("def f():\n    load()\n\nf()\n", NULL);
    ((int (*)(void))dlsym(python, "Py_FinalizeEx"))();
    load('3');
    dlclose(python);
    load('4');
    return 0;
}
