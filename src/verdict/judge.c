// judge.c - may these images run there? The choice among the images of a container, and the kernel in the chosen one.
//
// How the driver chooses among several images that fit is not documented. Assumed: a cubin before PTX; of cubins the
// one for exactly this GPU, 'a' before 'f' before plain, else the highest below it; of PTX the highest. That PyTorch's
// fp8 kernels work, which are empty in its sm_86, sm_90 and sm_120 images and real in those for sm_89, sm_90a and
// sm_121a, speaks for it. Where another image that fits would give another answer, `disagree` says so.
#include "verdict/judge.h"
#include "recording/event.h"
#include "verdict/arch.h"
#include "verdict/rules.h"

#include <stdlib.h>

struct question {
    const struct nk_image *images;
    size_t count;
    const unsigned char *holds;
    const struct nk_target *target;
};

static struct nk_verdict answer(const struct question *q, struct nk_rule rule, int image)
{
    const struct nk_image *about = image < 0 ? NULL : &q->images[image];
    int expected = rule.runs == NK_RUNS_NONE ? nk_rule_result(rule.reason, about, q->target) : 0;
    return (struct nk_verdict){rule.runs, rule.reason, image, expected, false};
}

static enum nk_hold hold(const struct question *q, size_t i)
{
    if (q->holds) return q->holds[i] <= NK_HOLD_UNKNOWN ? q->holds[i] : NK_HOLD_UNKNOWN;
    return q->images[i].kernels ? NK_HOLD_PRESENT : NK_HOLD_ABSENT;
}

// Nothing but images that were read and have no kernel in them: what nvcc's device linker leaves in most programs.
static bool empty(const struct question *q)
{
    for (size_t i = 0; i < q->count; i++) {
        const struct nk_image *image = &q->images[i];
        bool read = image->kind == NK_KIND_CUBIN || image->kind == NK_KIND_PTX || image->kind == NK_KIND_PTX_LINK;
        if (!read || image->kernels || (q->holds && q->holds[i] != NK_HOLD_ABSENT)) return false;
    }
    return true;
}

// How well an image that fits suits: the higher the better. Another name of the GPU counts as its number.
static int suits(const struct nk_image *image, int sm)
{
    int arch = nk_arch_same(image->arch, sm) ? sm : image->arch;
    return arch * 4 + (image->suffix == 'a' ? 2 : image->suffix == 'f' ? 1 : 0);
}

// The image that the driver would take among those that fit as `runs`, or -1.
static int best(const struct question *q, enum nk_runs runs)
{
    int found = -1;
    if (runs == NK_RUNS_NATIVE && q->target->force_ptx_jit) return -1;
    for (size_t i = 0; i < q->count; i++) {
        if (nk_rule_fits(&q->images[i], q->target).runs != runs) continue;
        if (found < 0 || suits(&q->images[i], q->target->sm) > suits(&q->images[found], q->target->sm)) found = (int)i;
    }
    return found;
}

// What happens when the driver takes image i, which fits.
static struct nk_verdict taken(const struct question *q, int i)
{
    const struct nk_image *image = &q->images[i];
    struct nk_rule rule = nk_rule_loads(image, q->target, nk_rule_fits(image, q->target));
    if (rule.runs != NK_RUNS_NATIVE && rule.runs != NK_RUNS_JIT) return answer(q, rule, i);
    switch (hold(q, (size_t)i)) {
    case NK_HOLD_ABSENT:
        return answer(q, (struct nk_rule){NK_RUNS_NONE, NK_REASON_KERNEL_NOT_IN_IMAGE}, i);
    case NK_HOLD_HOLLOW:
        return answer(q, (struct nk_rule){NK_RUNS_HOLLOW, NK_REASON_HOLLOW}, i);
    case NK_HOLD_UNKNOWN:
        return answer(q, (struct nk_rule){NK_RUNS_UNKNOWN, NK_REASON_UNKNOWN_HOLD}, i);
    default:
        return answer(q, rule, i);
    }
}

// Would another image of the same kind that fits, had the driver taken it, have given another answer?
static bool disputed(const struct question *q, struct nk_verdict chosen)
{
    enum nk_runs as = nk_rule_fits(&q->images[chosen.image], q->target).runs;
    for (size_t i = 0; i < q->count; i++)
        if (nk_rule_fits(&q->images[i], q->target).runs == as && taken(q, (int)i).runs != chosen.runs) return true;
    // A cubin that cannot be loaded: whether the driver then turns to PTX is not known.
    int other = as == NK_RUNS_NATIVE ? best(q, NK_RUNS_JIT) : -1;
    bool refused = chosen.runs == NK_RUNS_NONE && chosen.reason != NK_REASON_KERNEL_NOT_IN_IMAGE;
    return refused && other >= 0 && taken(q, other).runs != NK_RUNS_NONE;
}

// How near image i, which does not fit, came: the lower the nearer.
static long distance(const struct question *q, size_t i)
{
    const struct nk_image *image = &q->images[i];
    int sm = q->target->sm;
    enum nk_reason reason = nk_rule_fits(image, q->target).reason;
    bool suffixed = reason == NK_REASON_ARCH_SPECIFIC || reason == NK_REASON_FAMILY;
    // A cubin of another generation would not fit without its suffix either.
    if (suffixed && image->kind == NK_KIND_CUBIN && nk_arch_major(image->arch) != nk_arch_major(sm))
        reason = NK_REASON_LTO_ONLY;
    long rank = (long)reason + (hold(q, i) == NK_HOLD_ABSENT ? NK_REASON_COUNT : 0);
    return rank * 100000L + labs((long)image->arch - sm);
}

static struct nk_verdict nothing_fits(const struct question *q)
{
    int nearest = -1;
    for (size_t i = 0; i < q->count; i++) {
        struct nk_rule fits = nk_rule_fits(&q->images[i], q->target);
        // Only under CUDA_FORCE_PTX_JIT can a cubin fit and be here.
        if (fits.runs == NK_RUNS_NATIVE)
            return answer(q, (struct nk_rule){NK_RUNS_NONE, NK_REASON_FORCE_PTX_NO_PTX}, (int)i);
        if (nearest < 0 || distance(q, i) < distance(q, (size_t)nearest)) nearest = (int)i;
    }
    if (nearest < 0) return answer(q, (struct nk_rule){NK_RUNS_NONE, NK_REASON_NO_IMAGE}, -1);
    return answer(q, nk_rule_fits(&q->images[nearest], q->target), nearest);
}

// "None" is never said while there is something that could not be read: index of the first such image, or -1.
static int unreadable(const struct question *q)
{
    for (size_t i = 0; i < q->count; i++)
        if (nk_rule_fits(&q->images[i], q->target).runs == NK_RUNS_UNKNOWN) return (int)i;
    return -1;
}

struct nk_verdict nk_judge(const struct nk_image *images, size_t count, const unsigned char *holds,
                           const struct nk_target *target)
{
    struct question q = {images, count, holds, target};
    if (empty(&q)) return answer(&q, (struct nk_rule){NK_RUNS_UNKNOWN, NK_REASON_EMPTY}, -1);
    int image = best(&q, NK_RUNS_NATIVE);
    if (image < 0) image = best(&q, NK_RUNS_JIT);
    struct nk_verdict v = image < 0 ? nothing_fits(&q) : taken(&q, image);
    if (image >= 0) v.disagree = disputed(&q, v);
    int unread = v.runs == NK_RUNS_NONE ? unreadable(&q) : -1;
    return unread < 0 ? v : answer(&q, nk_rule_fits(&images[unread], target), unread);
}

struct nk_verdict nk_judge_image(const struct nk_image *image, const struct nk_target *target)
{
    return nk_judge(image, 1, NULL, target);
}

const char *nk_runs_word(enum nk_runs runs)
{
    static const char *const words[] = {"native", "jit", "hollow", "none", "unknown"};
    return (unsigned)runs < sizeof words / sizeof *words ? words[runs] : "unknown";
}

static const struct {
    const char *key, *sentence, *chinese;
} reasons[] = {
#define NK_REASON(name, key, sentence, chinese) {key, sentence, chinese},
#include "verdict/reasons.def"
#undef NK_REASON
};

const char *nk_reason_key(enum nk_reason reason)
{
    return (unsigned)reason < NK_REASON_COUNT ? reasons[reason].key : "";
}

const char *nk_reason_sentence(enum nk_reason reason)
{
    return (unsigned)reason < NK_REASON_COUNT ? reasons[reason].sentence : "";
}

const char *nk_reason_chinese(enum nk_reason reason)
{
    return (unsigned)reason < NK_REASON_COUNT ? reasons[reason].chinese : "";
}
