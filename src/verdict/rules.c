// rules.c - the rules for one image.
//
// Sources: CUDA programming guide, "Compute capabilities" (binary compatibility, family- and architecture-specific
// targets) and the table of environment variables; Blackwell compatibility guide; nvlink and ptxas 13.0.88 and 13.5.37,
// which accept exactly these pairs (but see NK_ALONE). What changes with releases stands in arch.def.
#include "verdict/rules.h"
#include "driver/abi.h"
#include "verdict/arch.h"

static struct nk_rule rule(enum nk_runs runs, enum nk_reason reason) { return (struct nk_rule){runs, reason}; }

static struct nk_rule family(const struct nk_image *image, int sm, struct nk_rule member)
{
    switch (nk_arch_in_family(image->arch, sm)) {
    case 1:
        return member;
    case 0:
        return rule(NK_RUNS_NONE, NK_REASON_FAMILY);
    default:
        return rule(NK_RUNS_UNKNOWN, NK_REASON_UNKNOWN_FAMILY);
    }
}

static bool stands_alone(int sm)
{
    enum nk_kin kin = nk_arch_kin(sm);
    return kin == NK_KIN_TEGRA || kin == NK_KIN_ALONE;
}

// A cubin without suffix on another member of its generation.
static struct nk_rule same_major(int arch, const struct nk_target *target)
{
    int sm = target->sm;
    if (stands_alone(arch) || stands_alone(sm)) {
        int doubtful = nk_arch_alone_until(nk_arch_major(sm));
        if (arch < sm && doubtful && target->driver >= doubtful) return rule(NK_RUNS_UNKNOWN, NK_REASON_UNKNOWN_TEGRA);
        return rule(NK_RUNS_NONE, NK_REASON_TEGRA);
    }
    if (arch > sm) return rule(NK_RUNS_NONE, NK_REASON_NO_IMAGE);
    // An architecture newer than arch.def is taken at the guide's general rule; a stand-alone one would break it.
    return rule(NK_RUNS_NATIVE, NK_REASON_SAME_MAJOR);
}

static struct nk_rule cubin(const struct nk_image *image, const struct nk_target *target)
{
    int arch = image->arch, sm = target->sm;
    struct nk_rule same = rule(NK_RUNS_NATIVE, arch == sm ? NK_REASON_EXACT : NK_REASON_RENAMED);
    if (image->suffix == 'a') return nk_arch_same(arch, sm) ? same : rule(NK_RUNS_NONE, NK_REASON_ARCH_SPECIFIC);
    if (nk_arch_same(arch, sm)) return same;
    if (image->suffix == 'f') return family(image, sm, rule(NK_RUNS_NATIVE, NK_REASON_IN_FAMILY));
    if (nk_arch_major(arch) != nk_arch_major(sm)) return rule(NK_RUNS_NONE, NK_REASON_NO_IMAGE);
    return same_major(arch, target);
}

// Plain PTX goes to every GPU with the same or a higher number, Tegra or not.
static struct nk_rule ptx(const struct nk_image *image, int sm)
{
    struct nk_rule yes = rule(NK_RUNS_JIT, NK_REASON_PTX);
    if (nk_arch_same(image->arch, sm)) return yes;
    if (image->suffix == 'a') return rule(NK_RUNS_NONE, NK_REASON_ARCH_SPECIFIC);
    if (image->suffix == 'f') return family(image, sm, yes);
    return image->arch < sm ? yes : rule(NK_RUNS_NONE, NK_REASON_PTX_HIGHER_THAN_GPU);
}

struct nk_rule nk_rule_fits(const struct nk_image *image, const struct nk_target *target)
{
    bool code = image->kind == NK_KIND_CUBIN || image->kind == NK_KIND_PTX || image->kind == NK_KIND_PTX_LINK;
    if (image->kind == NK_KIND_LTO) return rule(NK_RUNS_NONE, NK_REASON_LTO_ONLY);
    if (!code) return rule(NK_RUNS_UNKNOWN, NK_REASON_UNKNOWN_KIND);
    if (target->sm <= 0) return rule(NK_RUNS_UNKNOWN, NK_REASON_UNKNOWN_GPU);
    bool suffix_known = !image->suffix || image->suffix == 'a' || image->suffix == 'f';
    if (!image->arch || !suffix_known) return rule(NK_RUNS_UNKNOWN, NK_REASON_UNKNOWN_ARCH);
    return image->kind == NK_KIND_CUBIN ? cubin(image, target) : ptx(image, target->sm);
}

// PTX is read by the driver's compiler, which knows PTX up to its own release.
static struct nk_rule compiles(const struct nk_image *image, const struct nk_target *target, struct nk_rule fits)
{
    if (target->disable_ptx_jit) return rule(NK_RUNS_NONE, NK_REASON_JIT_DISABLED);
    bool exact;
    int limit = target->driver ? nk_driver_ptx_limit(target->driver, &exact) : 0;
    if (limit && image->isa_major * 10 + image->isa_minor > limit)
        return exact ? rule(NK_RUNS_NONE, NK_REASON_PTX_TOO_NEW_ISA)
                     : rule(NK_RUNS_UNKNOWN, NK_REASON_UNKNOWN_PTX_LIMIT);
    if (image->kind == NK_KIND_PTX_LINK) return rule(NK_RUNS_UNKNOWN, NK_REASON_RELOCATABLE_PTX);
    return fits;
}

struct nk_rule nk_rule_loads(const struct nk_image *image, const struct nk_target *target, struct nk_rule fits)
{
    int driver = target->driver;
    if (driver && image->codec == NK_CODEC_ZSTD && driver < nk_driver_reads(NK_READS_ZSTD))
        return rule(NK_RUNS_NONE, NK_REASON_CODEC_NEWER_THAN_DRIVER);
    if (image->codec > NK_CODEC_ZSTD) return rule(NK_RUNS_UNKNOWN, NK_REASON_UNKNOWN_CODEC);
    if (image->flags & NK_IMAGE_DAMAGED) return rule(NK_RUNS_UNKNOWN, NK_REASON_DAMAGED);
    if (image->kind != NK_KIND_CUBIN) return compiles(image, target, fits);
    // From sm_100 on the first toolkit that knew the architecture wrote this ABI already.
    if (driver && image->flags & NK_IMAGE_ABI8 && image->arch < 100 && driver < nk_driver_reads(NK_READS_ABI8))
        return rule(NK_RUNS_UNKNOWN, NK_REASON_CUBIN_ABI_NEWER);
    return fits;
}

int nk_rule_result(enum nk_reason reason, const struct nk_image *image, const struct nk_target *target)
{
    switch (reason) {
    case NK_REASON_KERNEL_NOT_IN_IMAGE:
        return NK_CUDA_NOT_FOUND;
    case NK_REASON_CODEC_NEWER_THAN_DRIVER:
        return NK_CUDA_INVALID_IMAGE;
    // Drivers before CUDA 11 had no code of its own for this: uw-ipd/tmol#108 shows 218.
    case NK_REASON_PTX_TOO_NEW_ISA:
        return target->driver < 11000 ? NK_CUDA_INVALID_PTX : NK_CUDA_UNSUPPORTED_PTX_VERSION;
    case NK_REASON_JIT_DISABLED:
        return NK_CUDA_JIT_COMPILATION_DISABLED;
    // The driver believes the entry's header, and its compiler then meets the text: tensorflow/tensorflow#99592.
    case NK_REASON_ARCH_SPECIFIC:
    case NK_REASON_FAMILY:
        if (image && image->flags & NK_IMAGE_TARGET_LIED) return NK_CUDA_INVALID_PTX;
        return NK_CUDA_NO_BINARY_FOR_GPU;
    case NK_REASON_FORCE_PTX_NO_PTX:
    case NK_REASON_TEGRA:
    case NK_REASON_PTX_HIGHER_THAN_GPU:
    case NK_REASON_NO_IMAGE:
    case NK_REASON_LTO_ONLY:
        return NK_CUDA_NO_BINARY_FOR_GPU;
    default:
        return 0;
    }
}
