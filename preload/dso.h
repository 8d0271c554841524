// dso.h - which loaded object an address lies in.
#ifndef NK_PRELOAD_DSO_H
#define NK_PRELOAD_DSO_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct nk_dso {
    uintptr_t start, end; // of its mappings
    uintptr_t base;       // load base: what is added to the addresses in its file
    const char *path;     // as the loader knows it; "" for the program itself. Valid while the object is loaded
    struct link_map *map; // NULL where only dl_iterate_phdr could be asked
};

// False when the address lies in no object (heap, anonymous mapping, JIT code). Lock-free with glibc 2.35 and newer.
bool nk_dso_find(const void *address, struct nk_dso *out);

#endif
