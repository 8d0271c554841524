// module.c - modules and libraries: code that was given to the driver, and what of it a context uses.
#include "sim.h"
#include "module.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct sim_module *modules; // those that were loaded by themselves
static struct sim_library *libraries;

static void *copy_of(const void *code)
{
    size_t size = sim_code_size(code);
    // A wrapper points at its container: that is what is kept.
    const void *from = size && *(const uint32_t *)code == 0x466243b1 ? *(void *const *)((const char *)code + 8) : code;
    void *copy = size ? malloc(size + 16) : NULL;
    if (copy) memset((char *)memcpy(copy, from, size) + size, 0, 16);
    return copy;
}

int sim_module_load(const void *code, bool copy, struct sim_module **out)
{
    NEED_CONTEXT(context);
    if (!code) return BAD_VALUE;
    struct sim_module *module = sim_new(K_MODULE);
    if (!module) return NO_MEMORY;
    module->context = context;
    module->copy = copy ? copy_of(code) : NULL;
    sim_pick(module->copy ? module->copy : code, context->device, &module->pick);
    pthread_mutex_lock(&sim_lock);
    module->next = modules;
    modules = module;
    pthread_mutex_unlock(&sim_lock);
    *out = module;
    int result = module->pick.result;
    if (result != OK) sim_module_free(module);
    return result;
}

void sim_module_free(struct sim_module *module)
{
    pthread_mutex_lock(&sim_lock);
    struct sim_module **at = module->library ? &module->library->modules : &modules;
    while (*at && *at != module) at = &(*at)->next;
    if (*at) *at = module->next;
    for (struct sim_function *f = module->functions, *next; f; f = next) {
        next = f->next;
        free(f->name);
        sim_delete(f);
    }
    for (struct sim_global *g = module->globals, *next; g; g = next) {
        next = g->next;
        sim_memory_drop(g->address);
        free(g->name);
        free(g);
    }
    sim_names_free(&module->names);
    free(module->pick.owned);
    free(module->copy);
    sim_delete(module);
    pthread_mutex_unlock(&sim_lock);
}

void sim_modules_clear(struct sim_context *context)
{
    for (struct sim_module *m = modules, *next; m; m = next) {
        next = m->next;
        if (m->context == context) sim_module_free(m);
    }
    for (struct sim_library *l = libraries; l; l = l->next)
        for (struct sim_module *m = l->modules, *next; m; m = next) {
            next = m->next;
            if (m->context == context) sim_module_free(m);
        }
}

const struct sim_names *sim_module_names(struct sim_module *module)
{
    pthread_mutex_lock(&sim_lock);
    if (!module->named && module->pick.result == OK) sim_names_read(&module->pick.image, &module->names);
    module->named = true;
    pthread_mutex_unlock(&sim_lock);
    return &module->names;
}

static bool has(struct sim_module *module, const char *name, bool kernel)
{
    if (module->pick.result != OK) return true; // nobody can say
    const struct sim_names *names = sim_module_names(module);
    if (!names->known) return true;
    const struct sim_symbol *symbol = sim_names_find(names, name);
    return symbol && symbol->kernel == kernel;
}

int sim_module_function(struct sim_module *module, const char *name, struct sim_function **out)
{
    pthread_mutex_lock(&sim_lock);
    int result = OK;
    struct sim_function *f = module->functions;
    while (f && strcmp(f->name, name) != 0) f = f->next;
    if (!f && !has(module, name, true)) result = NOT_FOUND;
    if (!f && result == OK) {
        f = sim_new(K_FUNCTION);
        char *copy = strdup(name);
        if (f && copy) {
            f->name = copy;
            f->module = module;
            f->next = module->functions;
            module->functions = f;
        } else {
            result = NO_MEMORY;
        }
    }
    *out = f;
    pthread_mutex_unlock(&sim_lock);
    return result;
}

static struct sim_global *new_global(struct sim_module *module, const char *name)
{
    const struct sim_symbol *symbol = module->pick.result == OK ? sim_names_find(sim_module_names(module), name) : NULL;
    struct sim_global *g = calloc(1, sizeof *g);
    g->size = symbol && symbol->size ? symbol->size : 8;
    g->name = strdup(name);
    if (sim_memory_new(module->context, g->size, M_MANAGED, &g->address) != OK) return free(g->name), free(g), NULL;
    if (symbol && symbol->init) memcpy((void *)g->address, symbol->init, g->size);
    g->next = module->globals;
    module->globals = g;
    return g;
}

int sim_module_global(struct sim_module *module, const char *name, CUdeviceptr *address, size_t *size)
{
    if (module->pick.result != OK && (sim_set.places & AT_GLOBAL)) return module->pick.result;
    pthread_mutex_lock(&sim_lock);
    int result = OK;
    struct sim_global *g = module->globals;
    while (g && strcmp(g->name, name) != 0) g = g->next;
    if (!g && !has(module, name, false)) result = NOT_FOUND;
    if (!g && result == OK && !(g = new_global(module, name))) result = NO_MEMORY;
    if (g && address) *address = g->address;
    if (g && size) *size = g->size;
    pthread_mutex_unlock(&sim_lock);
    return result;
}

// ---- libraries
int sim_library_load(const void *code, bool preserved, struct sim_library **out)
{
    if (!code || !out) return BAD_VALUE;
    if (sim_code_size(code) == 0) return BAD_IMAGE;
    struct sim_context *context = sim_current();
    if ((sim_set.places & AT_LOAD) && sim_device_count) {
        // A library belongs to no device; without a context the first one stands for all.
        struct sim_pick pick;
        sim_pick(code, sim_is(context, K_CONTEXT) ? context->device : &sim_devices[0], &pick);
        free(pick.owned);
        if (pick.result != OK) return pick.result;
    }
    struct sim_library *library = sim_new(K_LIBRARY);
    if (!library) return NO_MEMORY;
    library->copy = preserved ? NULL : copy_of(code);
    library->code = library->copy ? library->copy : code;
    pthread_mutex_lock(&sim_lock);
    library->next = libraries;
    libraries = library;
    pthread_mutex_unlock(&sim_lock);
    *out = library;
    return OK;
}

void sim_library_free(struct sim_library *library)
{
    pthread_mutex_lock(&sim_lock);
    struct sim_library **at = &libraries;
    while (*at && *at != library) at = &(*at)->next;
    if (*at) *at = library->next;
    while (library->modules) sim_module_free(library->modules);
    for (struct sim_kernel *k = library->kernels, *next; k; k = next) {
        next = k->next;
        free(k->name);
        sim_delete(k);
    }
    free(library->copy);
    sim_delete(library);
    pthread_mutex_unlock(&sim_lock);
}

int sim_library_module(struct sim_library *library, struct sim_context *context, struct sim_module **out)
{
    pthread_mutex_lock(&sim_lock);
    int result = OK;
    struct sim_module *m = library->modules;
    while (m && m->context != context) m = m->next;
    if (!m && !(m = sim_new(K_MODULE))) result = NO_MEMORY;
    if (m && !m->context) {
        m->context = context;
        m->library = library;
        sim_pick(library->code, context->device, &m->pick);
        m->next = library->modules;
        library->modules = m;
    }
    *out = m;
    pthread_mutex_unlock(&sim_lock);
    return result;
}

// Without a context nobody can say which image is meant: any name is taken.
static bool library_has(struct sim_library *library, const char *name)
{
    struct sim_context *context = sim_current();
    struct sim_module *module;
    if (!sim_is(context, K_CONTEXT) || sim_library_module(library, context, &module) != OK) return true;
    return has(module, name, true);
}

int sim_library_kernel(struct sim_library *library, const char *name, struct sim_kernel **out)
{
    pthread_mutex_lock(&sim_lock);
    int result = OK;
    struct sim_kernel *k = library->kernels;
    while (k && strcmp(k->name, name) != 0) k = k->next;
    if (!k && !library_has(library, name)) result = NOT_FOUND;
    if (!k && result == OK) {
        k = sim_new(K_KERNEL);
        char *copy = strdup(name);
        if (k && copy) {
            k->name = copy;
            k->library = library;
            k->next = library->kernels;
            library->kernels = k;
        } else {
            result = NO_MEMORY;
        }
    }
    *out = k;
    pthread_mutex_unlock(&sim_lock);
    return result;
}

// ---- files
int sim_file_read(const char *path, void **content)
{
    FILE *file = path ? fopen(path, "rb") : NULL;
    if (!file) return NO_FILE;
    size_t size = 0, room = 0, got;
    char *text = NULL;
    do {
        char *more = realloc(text, (room += 1 << 16) + 16);
        if (!more) return free(text), fclose(file), NO_MEMORY;
        text = more;
        got = fread(text + size, 1, room - size, file);
        size += got;
    } while (got > 0);
    fclose(file);
    memset(text + size, 0, 16);
    *content = text;
    return OK;
}
