// lookup.c - cuGetProcAddress.
#include "sim.h"

#include <string.h>

enum { FOUND = 0, NO_SUCH_SYMBOL = 1, VERSION_TOO_LOW = 2 }; // CUdriverProcAddressQueryResult
enum { LEGACY_STREAM = 1, PER_THREAD_STREAM = 2 };           // CUdriverProcAddress_flags

static size_t first_of(const char *name)
{
    size_t low = 0, high = sim_function_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (strcmp(sim_functions[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// The newest version that both the caller and the driver know; with flag 2 the per-thread variant where there is one.
static const struct sim_row *choose(const char *name, int version, uint64_t flags, int *status)
{
    const struct sim_row *plain = NULL, *own = NULL;
    *status = NO_SUCH_SYMBOL;
    for (size_t i = first_of(name); i < sim_function_count && strcmp(sim_functions[i].name, name) == 0; i++) {
        const struct sim_row *s = &sim_functions[i];
        if (s->since > sim_set.driver || sim_listed(sim_set.lacks, name) || sim_listed(sim_set.lacks, s->exported))
            continue;
        if (*status == NO_SUCH_SYMBOL) *status = VERSION_TOO_LOW;
        if (s->since > version) continue;
        *(s->per_thread ? &own : &plain) = s;
        *status = FOUND;
    }
    if ((flags & PER_THREAD_STREAM) && own) return own;
    if (!plain) *status = *status == FOUND ? VERSION_TOO_LOW : *status;
    return plain;
}

static int find(const char *name, void **function, int version, uint64_t flags, int *status)
{
    int ignored;
    if (!status) status = &ignored;
    if (!name || !function || flags > (LEGACY_STREAM | PER_THREAD_STREAM)) return BAD_VALUE;
    const struct sim_row *s = choose(name, version, flags, status);
    *function = !s ? NULL : sim_set.distinct ? (void *)s->far : (void *)s->function;
    return s ? OK : NOT_FOUND;
}

API_EARLY(cuGetProcAddress, const char *, name, void **, function, int, version, uint64_t, flags)
{
    return find(name, function, version, flags, NULL);
}

API_EARLY(cuGetProcAddress_v2, const char *, name, void **, function, int, version, uint64_t, flags, int *, status)
{
    return find(name, function, version, flags, status);
}
