// arch.c - names of architectures, and what is known about them.
#include "verdict/arch.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct {
    int sm;
    enum nk_kin kin;
    int same;
} sms[] = {
#define NK_SM(sm, kin, same, source) {sm, NK_KIN_##kin, same},
#include "verdict/arch.def"
#undef NK_SM
};

static const struct {
    int major, cuda;
} alone[] = {
#define NK_ALONE(major, cuda, source) {major, cuda},
#include "verdict/arch.def"
#undef NK_ALONE
};

static const struct {
    int target, sm;
} families[] = {
#define NK_FAMILY(target, sm, source) {target, sm},
#include "verdict/arch.def"
#undef NK_FAMILY
};

static const struct {
    int cuda, isa, branch;
} drivers[] = {
#define NK_DRIVER_PTX(cuda, isa, branch, source) {cuda, isa, branch},
#include "verdict/arch.def"
#undef NK_DRIVER_PTX
};

static const int reads[] = {
#define NK_DRIVER_READS(what, cuda, source) cuda,
#include "verdict/arch.def"
#undef NK_DRIVER_READS
};

enum { OLDEST = 20, NEWEST = 999 }; // what a reader of names accepts: wide enough for years to come

// Decimal digits at *text, at most `limit` of them, or -1 when there are none or more.
static int digits(const char **text, int limit)
{
    int value = 0, n = 0;
    for (; isdigit((unsigned char)**text); (*text)++, n++) {
        if (n == limit) return -1;
        value = value * 10 + (**text - '0');
    }
    return n ? value : -1;
}

static bool skip(const char **text, const char *prefix)
{
    size_t size = strlen(prefix);
    if (strncasecmp(*text, prefix, size)) return false;
    *text += size;
    return true;
}

// "90", "120", or with a dot "9.0", "12.1".
static int number(const char **text)
{
    int major = digits(text, 3);
    if (major < 0 || **text != '.') return major;
    (*text)++;
    int minor = digits(text, 1);
    return minor < 0 ? -1 : major * 10 + minor;
}

int nk_arch_parse(const char *text, struct nk_arch *out, struct nk_err *err)
{
    const char *at = text;
    struct nk_arch arch = {0};
    arch.virtual = skip(&at, "compute_") || skip(&at, "compute");
    if (!arch.virtual && !skip(&at, "sm_")) skip(&at, "sm");
    arch.sm = number(&at);
    char suffix = (char)tolower((unsigned char)*at);
    if (suffix == 'a' || suffix == 'f') {
        arch.suffix = suffix;
        at++;
    }
    if (*at || arch.sm < OLDEST || arch.sm > NEWEST)
        return nk_fail(err, NK_ERR_USAGE,
                       "\"%.40s\": an architecture was expected, such as sm_90, sm_120a, compute_90 or 12.0", text);
    *out = arch;
    return 0;
}

const char *nk_arch_text(char out[NK_ARCH_TEXT], struct nk_arch arch)
{
    char suffix[2] = {arch.suffix, 0};
    snprintf(out, NK_ARCH_TEXT, "%s_%d%s", arch.virtual ? "compute" : "sm", arch.sm, suffix);
    return out;
}

enum nk_kin nk_arch_kin(int sm)
{
    for (size_t i = 0; i < COUNT(sms); i++)
        if (sms[i].sm == sm) return sms[i].kin;
    return NK_KIN_UNKNOWN;
}

bool nk_arch_same(int a, int b)
{
    if (a == b) return true;
    for (size_t i = 0; i < COUNT(sms); i++)
        if (sms[i].sm == a) return sms[i].same == b;
    return false;
}

int nk_arch_alone_until(int major)
{
    for (size_t i = 0; i < COUNT(alone); i++)
        if (alone[i].major == major) return alone[i].cuda;
    return 0;
}

int nk_arch_major(int sm) { return sm / 10; }

int nk_arch_in_family(int target, int sm)
{
    if (target == sm) return 1;
    for (size_t i = 0; i < COUNT(families); i++)
        if (families[i].target == target && families[i].sm == sm) return 1;
    // A family never reaches downwards or into another generation, whatever else a later release may add.
    if (nk_arch_major(target) != nk_arch_major(sm) || sm < target) return 0;
    return nk_arch_kin(target) == NK_KIN_UNKNOWN || nk_arch_kin(sm) == NK_KIN_UNKNOWN ? -1 : 0;
}

int nk_arch_next(int sm)
{
    for (size_t i = 0; i < COUNT(sms); i++)
        if (sms[i].sm > sm) return sms[i].sm;
    return 0;
}

int nk_driver_ptx_limit(int cuda, bool *exact)
{
    int limit = 0;
    for (size_t i = 0; i < COUNT(drivers) && drivers[i].cuda <= cuda; i++) limit = drivers[i].isa;
    if (exact) *exact = cuda / 10 <= drivers[COUNT(drivers) - 1].cuda / 10;
    return limit;
}

int nk_driver_for_ptx(int isa, int *branch)
{
    for (size_t i = 0; i < COUNT(drivers); i++)
        if (drivers[i].isa >= isa) {
            if (branch) *branch = drivers[i].branch;
            return drivers[i].cuda;
        }
    return 0;
}

int nk_driver_reads(enum nk_reads what) { return reads[what]; }
