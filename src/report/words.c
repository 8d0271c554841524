// words.c - the words that all formats of the report share.
#define _GNU_SOURCE
#include "report/words.h"
#include "driver/abi.h"
#include "driver/results.h"
#include "verdict/arch.h"
#include "verdict/text.h"
#if __has_include("base/demangle.h")
#include "base/demangle.h"
#endif

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// Length of a home directory that `at` begins with, or 0. Only whole names: "/home/anna" is no part of "/home/annabel".
static size_t home_at(const char *at)
{
    const char *home = getenv("HOME");
    size_t size = home && home[0] == '/' && home[1] ? strlen(home) : 0;
    while (size > 1 && home[size - 1] == '/') size--;
    if (size > 1 && !strncmp(at, home, size) && (!at[size] || strchr("/:;, '\"", at[size]))) return size;
    if (!strncmp(at, "/home/", 6)) return 6 + strcspn(at + 6, "/:;, '\"");
    return 0;
}

void nk_words_redacted(struct nk_buf *out, const char *text, bool full)
{
    for (const char *at = text; *at; at++) {
        // A home directory begins a word: "/data/home/x" is none.
        size_t size = !full && *at == '/' && (at == text || strchr(":;=, '\"(@", at[-1])) ? home_at(at) : 0;
        nk_buf_add(out, size ? "~" : at, 1);
        if (size) at += size - 1;
    }
}

void nk_words_shell(struct nk_buf *out, const char *path, bool full)
{
    struct nk_buf shown = {0};
    nk_words_redacted(&shown, path, full);
    for (const char *c = shown.data; c && *c; c++) {
        if (!isalnum((unsigned char)*c) && !strchr("/._-+~@:,=%", *c) && !(*c & 0x80)) nk_buf_text(out, "\\");
        nk_buf_add(out, c, 1);
    }
    nk_buf_free(&shown);
}

// The path in an origin begins there; 0: it is none on this machine. "file://" is what recordings of 0.1 may hold.
static size_t path_in(const char *origin)
{
    return !strncmp(origin, "file://", 7)     ? 7
           : !strncmp(origin, "file:", 5)     ? 5
           : !strncmp(origin, "editable:", 9) ? 9
                                              : 0;
}

void nk_words_origin(struct nk_buf *out, const char *origin, bool full, bool shell)
{
    size_t path = path_in(origin);
    nk_buf_add(out, origin, strcspn(origin, ":") + (path ? 1 : 0));
    origin += path ? path : strcspn(origin, ":");
    if (path && shell)
        nk_words_shell(out, origin, full);
    else
        nk_words_redacted(out, origin, full || !path);
}

const char *nk_words_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void nk_words_path(struct nk_buf *out, const char *path, bool full)
{
    static const char *const roots[] = {"/site-packages/", "/dist-packages/"};
    for (size_t i = 0; !full && i < 2; i++) {
        const char *at = strstr(path, roots[i]);
        if (at) {
            nk_buf_text(out, at + strlen(roots[i]));
            return;
        }
    }
    nk_words_redacted(out, *path ? path : "a library that is not known", full);
}

bool nk_words_package(struct nk_buf *out, const struct nk_run_library *library)
{
    if (!library || !*library->package) return false;
    nk_buf_format(out, "%s%s%s", library->package, *library->version ? " " : "", library->version);
    return true;
}

static void library(struct nk_buf *out, const struct nk_run_library *which, bool full)
{
    if (nk_words_package(out, which)) nk_buf_text(out, "   ");
    nk_words_path(out, which->path, full);
}

void nk_words_place(struct nk_buf *out, const struct nk_run_container *c, bool full)
{
    if (!c)
        nk_buf_text(out, "a library that is not known");
    else if (c->library)
        library(out, c->library, full);
    else if (*c->file)
        nk_words_redacted(out, c->file, full);
    else {
        nk_buf_text(out, "memory, not a file");
        if (c->loader) {
            nk_buf_text(out, "; loaded by ");
            library(out, c->loader, full);
        }
    }
}

void nk_words_kernel(struct nk_buf *out, const char *mangled, size_t columns)
{
#ifdef NK_BASE_DEMANGLE_H
    if (columns)
        nk_demangle_short(mangled, columns, out);
    else
        nk_demangle(mangled, out);
#else
    size_t size = strlen(mangled);
    nk_buf_add(out, mangled, columns && size > columns ? columns : size);
#endif
}

void nk_words_arch(struct nk_buf *out, const struct nk_arch_item *item, bool isa)
{
    bool ptx = item->kind == NK_KIND_PTX || item->kind == NK_KIND_PTX_LINK;
    if (item->kind == NK_KIND_LTO)
        nk_buf_text(out, "LTO-IR for ");
    else if (!ptx && item->kind != NK_KIND_CUBIN)
        nk_buf_format(out, "kind %u for ", item->kind);
    char text[NK_ARCH_TEXT];
    nk_buf_text(out, nk_arch_text(text, (struct nk_arch){item->arch, (char)item->suffix, ptx}));
    if (isa && ptx) nk_buf_format(out, "@%u.%u", item->isa_major, item->isa_minor);
}

void nk_words_has(struct nk_buf *out, const struct nk_archs *archs)
{
    struct nk_image images[NK_ARCHS_MOST];
    for (size_t i = 0; i < archs->count; i++) {
        const struct nk_arch_item *item = &archs->item[i];
        images[i] = (struct nk_image){.kind = item->kind,
                                      .arch = item->arch,
                                      .suffix = item->suffix,
                                      .isa_major = item->isa_major,
                                      .isa_minor = item->isa_minor,
                                      .kernels = NK_NONE};
    }
    nk_arch_list_text(images, archs->count, out);
    for (size_t i = 0, n = 0; i < archs->count; i++) {
        if (!archs->item[i].hollow) continue;
        nk_buf_text(out, n++ ? " " : "; with an empty body in ");
        nk_words_arch(out, &archs->item[i], false);
    }
}

void nk_words_needs(struct nk_buf *out, const struct nk_run *run, const struct nk_run_container *c,
                    const unsigned char *holds, const struct nk_run_gpu *gpu)
{
    struct nk_target target = nk_run_target(run, gpu);
    size_t count = 0;
    // Not on the stack: a report is also printed by a thread that ends the process and may have little of it.
    struct nk_image *held = c && gpu && c->count ? nk_got(malloc(c->count * sizeof *held)) : NULL;
    if (!c || !gpu || (c->count && !held)) return;
    for (size_t i = 0; i < c->count; i++)
        if (!holds || holds[i] == NK_HOLD_PRESENT || holds[i] == NK_HOLD_UNKNOWN) held[count++] = c->images[i];
    nk_verdict_needs(held, count, &target, out);
    free(held);
}

const char *nk_words_means(int32_t result)
{
    switch (result) {
    case NK_CUDA_INVALID_DEVICE_FUNCTION:
        return "the image that was used does not hold this kernel";
    case NK_CUDA_INVALID_IMAGE:
        return "the driver cannot read the image: it is damaged, or made by a toolkit that is newer than the driver";
    case NK_CUDA_INVALID_PTX:
        return "the driver's compiler refused the PTX: it is damaged, or uses what its target does not have";
    case NK_CUDA_JIT_COMPILER_NOT_FOUND:
        return "the driver's compiler for PTX, libnvidia-ptxjitcompiler.so.1, was not found";
    case NK_CUDA_UNSUPPORTED_PTX_VERSION:
        return "the PTX is of a newer version than the driver knows";
    case NK_CUDA_JIT_COMPILATION_DISABLED:
        return "compiling PTX is switched off (CUDA_DISABLE_PTX_JIT)";
    case NK_CUDA_INVALID_SOURCE:
        return "the driver cannot compile or read what it was given: it is damaged, or no device code";
    case NK_CUDA_NOT_FOUND:
        return "no kernel of that name is in the image that was used";
    default:
        return NULL;
    }
}

void nk_words_image(struct nk_buf *out, const struct nk_image *image)
{
    bool ptx = image->kind == NK_KIND_PTX || image->kind == NK_KIND_PTX_LINK;
    char text[NK_ARCH_TEXT];
    nk_buf_text(out, ptx ? "PTX " : "");
    nk_buf_text(out, nk_arch_text(text, (struct nk_arch){image->arch, (char)image->suffix, ptx}));
}

void nk_words_result(struct nk_buf *out, const struct nk_rec_failure *f)
{
    nk_buf_format(out, "%d %s", f->result, nk_result_name(f->runtime ? NK_RUNTIME : NK_DRIVER, f->result));
}

void nk_words_times(struct nk_buf *out, uint64_t count)
{
    if (count == 1)
        nk_buf_text(out, "once");
    else
        nk_buf_format(out, "%llu times", (unsigned long long)count);
}

void nk_words_count(struct nk_buf *out, uint64_t count, const char *one, const char *many)
{
    nk_buf_format(out, "%llu %s", (unsigned long long)count, count == 1 ? one : many);
}

void nk_words_cuda(struct nk_buf *out, uint32_t cuda)
{
    nk_buf_format(out, "CUDA %u.%u", cuda / 1000, cuda % 1000 / 10);
}

void nk_words_gpu(struct nk_buf *out, struct nk_run *run, const struct nk_run_gpu *gpu)
{
    const char *version = nk_run_text(run, run->driver.version);
    nk_buf_format(out, "%s%ssm_%u", gpu->name, *gpu->name ? ", " : "", gpu->r.sm);
    if (*version) nk_buf_format(out, ", driver %s", version);
    if (!run->driver.cuda) return;
    nk_buf_text(out, *version ? " (" : ", driver of ");
    nk_words_cuda(out, run->driver.cuda);
    if (*version) nk_buf_text(out, ")");
}

void nk_words_end(struct nk_buf *out, const struct nk_run *run)
{
    if (run->has_exit && run->exit.how == NK_EXIT_UNKNOWN)
        nk_buf_text(out, "ended in a way that could not be seen");
    else if (run->has_exit)
        nk_buf_format(out, "ended with status %d", run->exit.status);
    else
        nk_buf_format(out, "was killed, or still runs%s",
                      run->reader.copied ? " (its last launches may not be counted)" : "");
}

void nk_words_unread(struct nk_buf *out, const struct nk_run *run)
{
    size_t failed = 0, unread = 0, by_runtime = 0;
    for (size_t i = 0; i < run->failure_count; i++) {
        const struct nk_run_failure *f = &run->failures[i];
        if (f->class == NK_CLASS_ASKED) continue;
        failed++;
        unread += !f->surfaced;
        by_runtime += !f->surfaced && (f->r.runtime || f->r.inside);
    }
    if (!failed || !run->has_exit || run->exit.how == NK_EXIT_UNKNOWN || run->exit.status) return;
    if (by_runtime)
        nk_buf_text(out, "The program never read this error and ended with 0: its results are wrong.");
    else if (unread)
        nk_buf_text(out, "The program went on and ended with 0: check its results.");
    else
        nk_buf_text(out, "The program read the error and ended with 0 all the same: unless it has another way, its "
                         "results are wrong.");
}

const char *nk_words_pinned(uint32_t pinned)
{
    return pinned == NK_PINNED_SYNCHRONISED ? "synchronised" : pinned == NK_PINNED_TRAIL ? "trail" : "returned";
}

const char *nk_words_kind(uint32_t kind)
{
    static const char *const words[] = {"unknown", "launch", "load", "lookup", "probe", "graph", "wait"};
    return words[kind < sizeof words / sizeof *words ? kind : 0];
}

static bool starts(const char *text, const char *prefix) { return !strncmp(text, prefix, strlen(prefix)); }

bool nk_words_folded(const struct nk_run_frame *frame)
{
    static const char *const files[] = {"libcudart", "libcuda.so", "libnokernel", "libpthread", "ld-linux"};
    const char *base = frame->library ? nk_words_base(frame->library->path) : "";
    static const char *const linked[] = {"libcudart_static_", "__cudart", "cudaLaunch", "__cudaLaunch"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (starts(base, files[i])) return true;
    for (size_t i = 0; i < sizeof linked / sizeof *linked; i++)
        if (starts(frame->symbol, linked[i])) return true;
    return false;
}

bool nk_words_frame(struct nk_buf *out, const struct nk_run_frame *frame, size_t columns, bool *last)
{
    static const char *const ends[] = {"libpython", "python", "libc.so", "libc-"};
    const char *base = frame->library ? nk_words_base(frame->library->path) : "";
    const char *symbol = frame->symbol;
    if (nk_words_folded(frame)) return false;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) *last |= starts(base, ends[i]);
    *last |= starts(symbol, "_PyEval_") || starts(symbol, "PyEval_") || !strcmp(symbol, "_start");
    if (*last || (!*base && !*symbol)) return false;
    size_t room = columns > strlen(base) + 2 ? columns - strlen(base) - 2 : 0;
    if (*symbol)
        nk_words_kernel(out, symbol, columns ? (room > 20 ? room : 20) : 0);
    else
        nk_buf_format(out, "%s+0x%llx%s", base, (unsigned long long)frame->r.offset,
                      frame->named == NK_NAMED_CHANGED ? " (the file has changed since)"
                      : frame->named == NK_NAMED_GONE  ? " (the file is gone)"
                                                       : "");
    if (*base && *symbol) nk_buf_format(out, "  %s", base);
    return true;
}
