// module.h - what module.c hands to module_api.c and function.c.
#ifndef SIM_MODULE_H
#define SIM_MODULE_H

#include "sim.h"

struct sim_global {
    char *name;
    uintptr_t address;
    size_t size;
    struct sim_global *next;
};

const struct sim_names *sim_module_names(struct sim_module *module);
int sim_module_global(struct sim_module *module, const char *name, CUdeviceptr *address, size_t *size);
int sim_library_load(const void *code, bool preserved, struct sim_library **library);
void sim_library_free(struct sim_library *library);
int sim_library_kernel(struct sim_library *library, const char *name, struct sim_kernel **kernel);
int sim_file_read(const char *path, void **content); // the caller frees it; 16 NULs follow

#endif
