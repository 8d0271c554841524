// slots.h - the private load table of CUDA 11 runtimes.
#ifndef NK_PRELOAD_SLOTS_H
#define NK_PRELOAD_SLOTS_H

#include "driver/abi.h"

// Called with every table that cuGetExportTable hands out: puts our functions into the load slots of the one that 11.x
// runtimes load through. In place, because the runtime hashes the table's address; once.
void nk_slots_watch(const void *table, const CUuuid *id);

#endif
