// scratch.c - memory that one thing after another is written into.
#define _GNU_SOURCE
#include "base/scratch.h"
#include "base/err.h"

#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE (2u << 20)
#define LARGE     (1u << 20) // from so many bytes on it is mapped

static bool is_mapped(const struct nk_scratch *scratch) { return scratch->capacity >= LARGE; }

static bool reserve_large(struct nk_scratch *scratch, size_t size)
{
    if (!is_mapped(scratch)) nk_scratch_free(scratch);
    void *at = scratch->data ? mremap(scratch->data, scratch->capacity, size, MREMAP_MAYMOVE)
                             : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
        nk_scratch_free(scratch);
        return nk_got(NULL);
    }
    madvise(at, size, MADV_HUGEPAGE);
    *scratch = (struct nk_scratch){at, size};
    return true;
}

bool nk_scratch_reserve(struct nk_scratch *scratch, uint64_t size)
{
    if (size <= scratch->capacity) return true;
    if (size > SIZE_MAX / 2) return nk_got(NULL);
    if (size >= LARGE) return reserve_large(scratch, ((size_t)size + HUGE_PAGE - 1) & ~(size_t)(HUGE_PAGE - 1));
    free(scratch->data);
    scratch->data = nk_got(malloc((size_t)size));
    scratch->capacity = scratch->data ? (size_t)size : 0;
    return scratch->data;
}

void nk_scratch_free(struct nk_scratch *scratch)
{
    if (is_mapped(scratch))
        munmap(scratch->data, scratch->capacity);
    else
        free(scratch->data);
    *scratch = (struct nk_scratch){0};
}
