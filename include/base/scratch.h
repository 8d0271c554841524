// scratch.h - memory that one thing after another is written into, each over the one before.
//
// A large one is in huge pages where the system has them: of an image of 14 MB that is decoded into new memory, every
// page would cost a fault, a tenth of the time. It keeps its pages when it grows. One owner.
#ifndef NK_BASE_SCRATCH_H
#define NK_BASE_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Start from {0}.
struct nk_scratch {
    uint8_t *data;
    size_t capacity;
};

// Makes room for `size` bytes at `data`, which may move; what was there is lost. False when memory is short: then there
// is room for nothing.
bool nk_scratch_reserve(struct nk_scratch *scratch, uint64_t size);
void nk_scratch_free(struct nk_scratch *scratch);

#endif
