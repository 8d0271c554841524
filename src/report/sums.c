// sums.c - what follows from a run: verdicts, classes of failures, coverage, counts.
#include "report/sums.h"
#include "driver/abi.h"
#include "driver/results.h"

#include <string.h>

static bool held_by_all(const struct nk_run_kernel *kernel)
{
    for (size_t i = 0; kernel->holds && i < kernel->container->count; i++)
        if (kernel->holds[i] != NK_HOLD_PRESENT) return false;
    return true;
}

struct nk_verdict nk_sums_kernel(const struct nk_run *run, const struct nk_run_kernel *kernel,
                                 const struct nk_run_gpu *gpu)
{
    if (!kernel || !kernel->container || !gpu) return (struct nk_verdict){.runs = NK_RUNS_UNKNOWN, .image = -1};
    struct nk_run_container *c = kernel->container;
    struct nk_target target = nk_run_target(run, gpu);
    if (!held_by_all(kernel)) return nk_judge(c->images, c->count, kernel->holds, &target);
    if (c->judged_for != gpu) {
        c->judged = nk_judge(c->images, c->count, NULL, &target);
        c->judged_for = gpu;
    }
    return c->judged;
}

static bool holds_somewhere(const struct nk_run_kernel *kernel)
{
    for (size_t i = 0; kernel && kernel->holds && i < kernel->container->count; i++)
        if (kernel->holds[i] == NK_HOLD_PRESENT) return true;
    return false;
}

// Results that say "no image" whatever the call was about. 98 and 500 are left out: they also mean a wrong name.
static bool strict(int32_t result)
{
    return nk_result_is_image(result) && result != NK_CUDA_NOT_FOUND && result != NK_CUDA_UNSUPPORTED_DEVSIDE_SYNC;
}

// EAGER runtimes 12.8 and 12.9 answer 400 for a kernel whose fat binary was refused at their start (measured).
static bool is_echo(const struct nk_run_failure *f)
{
    return f->r.result == NK_CUDA_INVALID_HANDLE && f->container && f->container->refused;
}

// What a look-up returns only when something is broken: no memory, source that does not compile, an error of the GPU.
static bool is_serious(int32_t result)
{
    return result == NK_CUDA_OUT_OF_MEMORY || result == NK_CUDA_INVALID_SOURCE || result == 214 || result == 220 ||
           (result >= 700 && result <= 720);
}

static enum nk_failure_class class_of(const struct nk_run_failure *f)
{
    int32_t result = f->r.result;
    switch (f->r.kind) {
    case NK_FAILED_PROBE:
        return NK_CLASS_ASKED;
    case NK_FAILED_LAUNCH:
    case NK_FAILED_GRAPH:
    case NK_FAILED_LOAD:
        // What is no image at all, or PTX with mistakes, says nothing about the GPU unless the rules do so too.
        if (f->r.kind == NK_FAILED_LOAD && (result == NK_CUDA_INVALID_IMAGE || result == NK_CUDA_INVALID_PTX) &&
            f->verdict.runs != NK_RUNS_NONE)
            return NK_CLASS_OTHER;
        return nk_result_is_image(result) || is_echo(f) ? NK_CLASS_MISSING : NK_CLASS_OTHER;
    case NK_FAILED_LOOKUP:
        if (is_serious(result)) return NK_CLASS_OTHER;
        if (strict(result)) return NK_CLASS_MISSING;
        // A name that is nowhere was only asked for; one that another image of the container holds is missing here.
        if (result == NK_CUDA_NOT_FOUND && f->verdict.runs == NK_RUNS_NONE && holds_somewhere(f->kernel))
            return NK_CLASS_MISSING;
        return NK_CLASS_ASKED;
    default:
        return result == NK_CUDA_NO_BINARY_FOR_GPU ? NK_CLASS_MISSING : NK_CLASS_OTHER;
    }
}

// The host function of a kernel stands in the native stack of its launch: under the kernel's own name, or with
// "__device_stub_" before it (nvcc's names for what `kernel<<<>>>` calls). Tells which kernel of a container it was.
static uint32_t guess_by(struct nk_run *run, const struct nk_run_failure *f, bool file)
{
    static const char stub[] = "__device_stub_";
    for (uint32_t i = 0; i < f->stack->count && i < 64; i++) {
        const char *symbol = f->stack->frames[i].symbol;
        const char *at = strstr(symbol, stub);
        bool by_file = !f->stack->frames[i].r.symbol;
        if (at) symbol = at + sizeof stub - 1;
        for (uint32_t k = 0; *symbol && by_file == file && k < f->container->names_count; k++)
            if (!strcmp(symbol, nk_run_text(run, f->container->names[k]))) return f->container->names[k];
    }
    return 0;
}

static void guess(struct nk_run *run, struct nk_run_failure *f)
{
    f->guess = 0;
    if (f->kernel || !f->container || !f->stack) return;
    f->guess = guess_by(run, f, false);
    f->guess_by_file = !f->guess;
    if (!f->guess) f->guess = guess_by(run, f, true);
}

static struct nk_verdict judge_failure(struct nk_run *run, const struct nk_run_failure *f)
{
    if (f->kernel) return nk_sums_kernel(run, f->kernel, f->gpu);
    struct nk_run_kernel unnamed = {.container = f->container};
    return nk_sums_kernel(run, &unnamed, f->gpu);
}

static void judge_failures(struct nk_run *run)
{
    for (size_t i = 0; i < run->failure_count; i++) {
        struct nk_run_failure *f = &run->failures[i];
        f->verdict = judge_failure(run, f);
        f->class = class_of(f);
        guess(run, f);
        bool runs = f->verdict.runs == NK_RUNS_NATIVE || f->verdict.runs == NK_RUNS_JIT;
        bool said = f->r.result == NK_CUDA_NO_BINARY_FOR_GPU || f->r.result == NK_CUDA_UNSUPPORTED_PTX_VERSION ||
                    f->r.result == NK_CUDA_JIT_COMPILATION_DISABLED;
        f->contradiction = f->class == NK_CLASS_MISSING && runs && said && !f->verdict.disagree;
        if (f->kernel && f->class != NK_CLASS_ASKED) f->kernel->failed += f->count;
    }
}

// Launch counts are not kept apart by GPU, so with GPUs of several architectures nothing follows from them.
static bool one_architecture(const struct nk_run *run)
{
    for (size_t i = 1; i < run->gpu_count; i++)
        if (run->gpus[i].r.sm != run->gpus[0].r.sm) return false;
    return run->gpu_count > 0;
}

bool nk_sums_runs_against_rules(const struct nk_run *run, const struct nk_run_kernel *kernel)
{
    if (kernel->launches <= kernel->failed || kernel->failed || !one_architecture(run)) return false;
    struct nk_verdict verdict = nk_sums_kernel(run, kernel, kernel->gpu);
    return verdict.runs == NK_RUNS_NONE && !verdict.disagree;
}

// Is an earlier failure about the same kernel, container or (with neither) call? Then it is counted already.
static bool counted(const struct nk_run *run, size_t index)
{
    const struct nk_run_failure *f = &run->failures[index];
    for (size_t i = 0; i < index; i++) {
        const struct nk_run_failure *e = &run->failures[i];
        if (e->class != f->class || e->kernel != f->kernel || e->graph != f->graph) continue;
        if (f->kernel || f->graph || (e->container == f->container && (f->container || e->r.api == f->r.api)))
            return true;
    }
    return false;
}

// A library that carries kernels for several GPUs asks for some that do not fit, and copes. One that has nothing at all
// for this GPU has nothing to cope with: what it made of the refusal is doubtful (nonzero() of PyTorch 2.1 then answers
// with a made-up size).
static bool is_image_query(const struct nk_run_failure *f)
{
    return f->r.kind == NK_FAILED_PROBE && nk_result_is_image(f->r.result);
}

static bool is_covered(const struct nk_run *run, const struct nk_run_failure *f, const char *how)
{
    const struct nk_run_library *library = f->container ? f->container->library : NULL;
    const char *word = library && f->gpu && is_image_query(f) ? nk_sums_cover(run, library, f->gpu).word : NULL;
    return word && !strcmp(word, how);
}

// NCCL asks at its start for all of its kernels, some of which exist for one family of GPUs only: whoever asks for
// another kernel after a refusal has not stopped because of it. A single refusal says nothing.
static bool has_coped(const struct nk_run *run, const struct nk_run_failure *f)
{
    for (size_t i = 0; i < run->failure_count && f->kernel; i++) {
        const struct nk_run_failure *e = &run->failures[i];
        if (is_image_query(e) && e->kernel && e->kernel->name != f->kernel->name && e->r.api == f->r.api &&
            e->library == f->library && e->gpu == f->gpu)
            return is_covered(run, f, "partly");
    }
    return false;
}

static void count_failures(struct nk_run *run, struct nk_sums *out)
{
    for (size_t i = 0; i < run->failure_count; i++) {
        struct nk_run_failure *f = &run->failures[i];
        f->barren = is_covered(run, f, "none");
        f->coped = is_image_query(f) && has_coped(run, f);
        out->contradictions += f->contradiction;
        if (f->class == NK_CLASS_ASKED) {
            out->asked += is_image_query(f);
            out->asked_late += is_image_query(f) && f->surfaced && f->surfaced->r.later;
            out->asked_barren += f->barren;
            out->asked_coped += f->coped;
            out->sought += f->r.kind == NK_FAILED_LOOKUP;
        } else if (!counted(run, i)) {
            out->other += f->class == NK_CLASS_OTHER;
            out->missing += f->class == NK_CLASS_MISSING && f->kernel;
            out->missing_boxes += f->class == NK_CLASS_MISSING && !f->kernel;
        }
    }
}

void nk_sums(struct nk_run *run, struct nk_sums *out)
{
    *out = (struct nk_sums){0};
    for (size_t i = 0; i < run->kernel_count; i++) run->kernels[i].failed = 0;
    judge_failures(run);
    count_failures(run, out);
    for (size_t i = 0; i < run->kernel_count; i++) {
        struct nk_run_kernel *kernel = &run->kernels[i];
        if (!kernel->launches && !kernel->failed) continue;
        struct nk_verdict verdict = nk_sums_kernel(run, kernel, kernel->gpu);
        out->launched++;
        out->jit += verdict.runs == NK_RUNS_JIT && !kernel->failed;
        out->hollow += verdict.runs == NK_RUNS_HOLLOW && kernel->launches;
        out->contradictions += nk_sums_runs_against_rules(run, kernel);
    }
    for (size_t i = 0; i < run->container_count; i++) out->refused += run->containers[i].refused;
    out->ended_badly = !run->has_exit || run->exit.status != 0;
    out->healthy = !out->missing && !out->missing_boxes && !out->other && !out->asked_late && !out->asked_barren &&
                   !out->hollow && !out->contradictions &&
                   !(out->ended_badly && (out->asked > out->asked_coped || out->refused || out->sought));
}

bool nk_sums_stands(const struct nk_run_container *c)
{
    if (!c->library || c->r.flags & NK_CONTAINER_RELOCATABLE) return false;
    return (c->r.origin == NK_ORIGIN_SCANNED) == c->library->scanned;
}

struct nk_cover nk_sums_cover(const struct nk_run *run, const struct nk_run_library *library,
                              const struct nk_run_gpu *gpu)
{
    struct nk_cover cover = {0};
    struct nk_target target = nk_run_target(run, gpu);
    for (size_t i = 0; i < run->container_count; i++) {
        const struct nk_run_container *c = &run->containers[i];
        if (c->library != library || !nk_sums_stands(c)) continue;
        struct nk_verdict verdict = nk_judge(c->images, c->count, NULL, &target);
        if (verdict.reason == NK_REASON_EMPTY) continue;
        size_t alike = c->r.origin == NK_ORIGIN_SCANNED ? c->r.count : 1;
        *(verdict.runs == NK_RUNS_NATIVE ? &cover.native
          : verdict.runs == NK_RUNS_JIT  ? &cover.jit
          : verdict.runs == NK_RUNS_NONE ? &cover.none
                                         : &cover.unknown) += alike;
    }
    size_t runs = cover.native + cover.jit;
    if (cover.none)
        cover.word = runs || cover.unknown ? "partly" : "none";
    else if (cover.unknown)
        cover.word = "unknown";
    else if (runs)
        cover.word = cover.jit ? "jit" : "native";
    return cover;
}

static int compare(const struct nk_arch_item *a, const struct nk_arch_item *b)
{
    // Code before PTX, then by architecture: plain, 'a', 'f'.
    if (a->kind != b->kind) return a->kind == NK_KIND_CUBIN ? -1 : b->kind == NK_KIND_CUBIN ? 1 : a->kind - b->kind;
    if (a->arch != b->arch) return a->arch - b->arch;
    if (a->suffix != b->suffix) return a->suffix - b->suffix;
    if (a->kind != NK_KIND_PTX) return 0; // of a cubin it is the version of the entry, which no user knows
    int isa = a->isa_major * 256 + a->isa_minor, other = b->isa_major * 256 + b->isa_minor;
    return isa - other;
}

static void insert(struct nk_archs *archs, struct nk_arch_item item)
{
    size_t at = 0;
    while (at < archs->count && compare(&archs->item[at], &item) < 0) at++;
    if (at < archs->count && !compare(&archs->item[at], &item)) {
        archs->item[at].images += item.images;
        archs->item[at].hollow = archs->item[at].hollow && item.hollow;
        return;
    }
    if (archs->count == NK_ARCHS_MOST) return;
    memmove(&archs->item[at + 1], &archs->item[at], (archs->count - at) * sizeof item);
    archs->item[at] = item;
    archs->count++;
}

void nk_archs_add(struct nk_archs *archs, const struct nk_run_container *c, const unsigned char *holds)
{
    uint32_t alike = c->r.origin == NK_ORIGIN_SCANNED && c->r.count ? c->r.count : 1;
    for (size_t i = 0; i < c->count; i++) {
        const struct nk_image *image = &c->images[i];
        if ((holds && holds[i] == NK_HOLD_ABSENT) || image->kernels == 0) continue;
        insert(archs, (struct nk_arch_item){image->kind, image->arch, image->suffix, image->isa_major, image->isa_minor,
                                            holds && holds[i] == NK_HOLD_HOLLOW, alike});
    }
}

void nk_archs_library(struct nk_archs *archs, const struct nk_run *run, const struct nk_run_library *library)
{
    for (size_t i = 0; i < run->container_count; i++)
        if (run->containers[i].library == library && nk_sums_stands(&run->containers[i]))
            nk_archs_add(archs, &run->containers[i], NULL);
}

struct nk_refusals nk_sums_refusals(const struct nk_run *run, const struct nk_run_library *library)
{
    struct nk_refusals r = {0};
    for (size_t i = 0; library && i < run->container_count; i++) {
        const struct nk_run_container *c = &run->containers[i];
        if (c->library != library || c->r.origin == NK_ORIGIN_SCANNED) continue;
        r.refused += c->refused;
        r.loaded++;
    }
    const char *word = r.refused && run->gpu_count ? nk_sums_cover(run, library, &run->gpus[0]).word : NULL;
    r.whole = r.refused && (r.refused == r.loaded || (word && !strcmp(word, "none")));
    return r;
}
