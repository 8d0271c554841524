// dso.c - which loaded object an address lies in.
//
// dladdr is never used: it also searches the object's symbols, 0.3 to 0.7 ms a call in libtorch_cuda.so (measured).
#define _GNU_SOURCE
#include "dso.h"

#include <dlfcn.h>
#include <string.h>

#if !__GLIBC_PREREQ(2, 35)
struct dl_find_object { // as <dlfcn.h> has it from then on
    unsigned long long dlfo_flags;
    void *dlfo_map_start, *dlfo_map_end;
    struct link_map *dlfo_link_map;
    void *dlfo_eh_frame;
    unsigned long long dlfo_reserved[7];
};
#endif

// glibc 2.35. Weak, so that the library loads on older systems.
extern int nk_dl_find_object(void *address, struct dl_find_object *result) __asm__("_dl_find_object")
    __attribute__((weak));

struct search {
    uintptr_t address;
    struct nk_dso *out;
};

static int visit(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    struct search *search = data;
    uintptr_t start = UINTPTR_MAX, end = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD) continue;
        uintptr_t from = info->dlpi_addr + segment->p_vaddr;
        if (from < start) start = from;
        if (from + segment->p_memsz > end) end = from + segment->p_memsz;
    }
    if (search->address < start || search->address >= end) return 0;
    *search->out = (struct nk_dso){start, end, info->dlpi_addr, info->dlpi_name ? info->dlpi_name : "", NULL};
    return 1;
}

bool nk_dso_find(const void *address, struct nk_dso *out)
{
    if (!nk_dl_find_object) {
        struct search search = {(uintptr_t)address, out};
        return dl_iterate_phdr(visit, &search) == 1;
    }
    struct dl_find_object found;
    if (nk_dl_find_object((void *)(uintptr_t)address, &found)) return false;
    struct link_map *map = found.dlfo_link_map;
    *out = (struct nk_dso){(uintptr_t)found.dlfo_map_start, (uintptr_t)found.dlfo_map_end, map->l_addr,
                           map->l_name ? map->l_name : "", map};
    return true;
}
