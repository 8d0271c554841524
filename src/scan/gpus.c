// gpus.c - the GPUs that --gpu asks about.
#define _GNU_SOURCE
#include "scan/gpus.h"
#include "verdict/arch.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NEWEST_ISA = 200 }; // above every PTX version there is

// CUDA version of a driver by its number: 12020 of 535. 0 when it is older than every one that is known.
static int of_branch(int number)
{
    int newest = 0;
    for (int isa = 10; isa < NEWEST_ISA; isa++) {
        int branch = 0, cuda = nk_driver_for_ptx(isa, &branch);
        if (cuda && branch && branch <= number && cuda > newest) newest = cuda;
    }
    return newest;
}

static int driver_version(const char *text, int *out)
{
    char *end;
    long major = strtol(text, &end, 10), minor = 0;
    if (end == text || major <= 0 || major > 99999) return -1;
    if (*end == '.' && isdigit((unsigned char)end[1])) minor = strtol(end + 1, &end, 10);
    while (*end == '.' || isdigit((unsigned char)*end)) end++; // 580.65.06
    if (*end) return -1;
    if (major >= 1000)
        *out = (int)major;
    else if (major >= 100)
        *out = of_branch((int)major);
    else
        *out = minor > 99 ? 0 : (int)(major * 1000 + minor * 10);
    return *out ? 0 : -1;
}

static int add(struct nk_scan_gpus *gpus, int sm, int driver, const char *text, struct nk_err *err)
{
    for (size_t i = 0; i < gpus->count; i++)
        if (gpus->gpu[i].target.sm == sm && gpus->gpu[i].target.driver == driver) return 0;
    if (gpus->count == NK_SCAN_GPUS) return nk_fail(err, NK_ERR_LIMIT, "at most %d GPUs were expected", NK_SCAN_GPUS);
    struct nk_scan_gpu *gpu = &gpus->gpu[gpus->count++];
    gpu->target = (struct nk_target){.sm = sm, .driver = driver};
    snprintf(gpu->text, sizeof gpu->text, "sm_%d%s%s", sm, text ? "@" : "", text ? text : "");
    return 0;
}

static int parse_one(char *word, struct nk_scan_gpus *gpus, struct nk_err *err)
{
    struct nk_arch arch;
    int driver = 0;
    char *at = strchr(word, '@');
    if (at) *at++ = 0;
    if (at && (strlen(at) > 16 || driver_version(at, &driver)))
        return nk_fail(err, NK_ERR_USAGE,
                       "%s@%s: a CUDA version like 12.4 or a driver like 535 was expected after the @", word, at);
    if (!strcmp(word, "all")) {
        int result = 0;
        for (int sm = 0; !result && (sm = nk_arch_next(sm));) result = add(gpus, sm, driver, at, err);
        return result;
    }
    if (nk_arch_parse(word, &arch, err)) return -1;
    return add(gpus, arch.sm, driver, at, err); // a suffix says for what code was made; a GPU has none
}

int nk_scan_gpus_parse(const char *text, struct nk_scan_gpus *gpus, struct nk_err *err)
{
    int result = 0;
    char *copy = strdup(text), *rest = copy, *word;
    if (!copy) return nk_fail(err, NK_ERR_MEMORY, "not enough memory");
    while (!result && (word = strsep(&rest, ","))) result = parse_one(word, gpus, err);
    free(copy);
    return result;
}
