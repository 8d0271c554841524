// everywhere.c - the kernels of a workload judged for every architecture that is known.
#define _GNU_SOURCE
#include "report/everywhere.h"
#include "advice/texts.h"
#include "base/cells.h"
#include "report/page.h"
#include "report/sums.h"
#include "report/words.h"
#include "verdict/arch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 3 };

void nk_everywhere_init(struct nk_everywhere *e, int driver)
{
    *e = (struct nk_everywhere){.driver = driver};
    for (int sm = 0; e->count < NK_EVERYWHERE_GPUS && (sm = nk_arch_next(sm));)
        e->gpu[e->count++] = (struct nk_everywhere_gpu){
            .sm = sm, .as = {.r = {.ordinal = NK_NONE, .sm = (uint32_t)sm}, .name = "", .asked = true}};
}

// Is the name one of the lines?
static bool listed(const struct nk_buf *names, const char *name)
{
    size_t size = strlen(name);
    for (const char *at = names->data; at && *at; at = strchr(at, '\n') + 1)
        if (!strncmp(at, name, size) && at[size] == '\n') return true;
    return false;
}

static void count(struct nk_everywhere_gpu *gpu, const char *name, enum nk_runs runs)
{
    gpu->native += runs == NK_RUNS_NATIVE;
    gpu->jit += runs == NK_RUNS_JIT;
    gpu->hollow += runs == NK_RUNS_HOLLOW;
    gpu->missing += runs == NK_RUNS_NONE;
    gpu->unknown += runs == NK_RUNS_UNKNOWN;
    if (runs != NK_RUNS_NONE || listed(&gpu->names, name)) return;
    nk_buf_format(&gpu->names, "%s\n", *name ? name : "?");
    gpu->named++;
}

// Code that was made or picked out for the GPU at hand says nothing about what another would get.
static bool in_memory(const struct nk_run_container *c) { return c && !c->library && !*c->file; }

void nk_everywhere_add(struct nk_everywhere *e, struct nk_run *run)
{
    uint32_t recorded = run->driver.cuda;
    if (e->driver) run->driver.cuda = (uint32_t)e->driver;
    for (size_t i = 0; i < run->kernel_count; i++) {
        const struct nk_run_kernel *kernel = &run->kernels[i];
        if (!kernel->launches && !kernel->failed) continue;
        e->kernels++;
        for (size_t k = 0; k < e->count; k++) {
            enum nk_runs runs = nk_sums_kernel(run, kernel, &e->gpu[k].as).runs;
            bool memory = runs == NK_RUNS_NONE && in_memory(kernel->container);
            e->gpu[k].memory += memory;
            count(&e->gpu[k], nk_run_text(run, kernel->name), memory ? NK_RUNS_UNKNOWN : runs);
            e->failed |= e->gpu[k].names.failed;
        }
    }
    run->driver.cuda = recorded;
}

void nk_everywhere_free(struct nk_everywhere *e)
{
    for (size_t i = 0; i < e->count; i++) nk_buf_free(&e->gpu[i].names);
}

const char *nk_everywhere_word(const struct nk_everywhere_gpu *gpu)
{
    if (gpu->missing) return "missing";
    if (gpu->hollow) return "hollow";
    if (gpu->unknown) return gpu->unknown == gpu->memory ? "likely" : "unknown";
    return gpu->jit ? "jit" : "native";
}

// The names that are missing, demangled and shortened.
static void names(struct nk_buf *out, const struct nk_everywhere_gpu *gpu, size_t columns, bool all)
{
    char *copy = gpu->names.data ? strdup(gpu->names.data) : NULL, *rest = copy, *name;
    size_t shown = 0;
    while (rest && (name = strsep(&rest, "\n")) && (all || shown < FEW)) {
        if (!*name) continue;
        if (shown++) nk_buf_text(out, ", ");
        nk_words_kernel(out, name, columns);
    }
    if (gpu->named > shown) nk_buf_format(out, " and %zu more", gpu->named - shown);
    out->failed |= gpu->names.data && !copy;
    free(copy);
}

static void headline(struct nk_buf *out, const struct nk_everywhere *e)
{
    nk_buf_text(out, "where the ");
    nk_words_count(out, e->kernels, "kernel", "kernels");
    nk_buf_text(out, " of this workload would run");
    if (!e->driver) return;
    nk_buf_text(out, ", with a driver for ");
    nk_words_cuda(out, (uint32_t)e->driver);
}

// Lacks some of the kernels, and runs others?
static bool lacks_some(const struct nk_everywhere_gpu *gpu) { return gpu->missing && (gpu->native || gpu->jit); }

static bool same_names(const struct nk_everywhere_gpu *a, const struct nk_everywhere_gpu *b)
{
    return a->names.size == b->names.size && (!a->names.size || !memcmp(a->names.data, b->names.data, a->names.size));
}

// Those that lack some kernels but not all: that tells what to add. GPUs that lack the same stand together.
static void missing(struct nk_page *page, const struct nk_everywhere *e, bool all)
{
    struct nk_buf line = {0};
    for (size_t i = 0; i < e->count; i++) {
        const struct nk_everywhere_gpu *gpu = &e->gpu[i];
        bool told = !gpu->missing || !(lacks_some(gpu) || all);
        for (size_t k = 0; k < i && !told; k++) told = same_names(&e->gpu[k], gpu);
        if (told) continue;
        nk_page_gap(page);
        nk_buf_text(&line, "missing on");
        for (size_t k = i; k < e->count; k++)
            if (same_names(&e->gpu[k], gpu)) nk_buf_format(&line, " sm_%d", e->gpu[k].sm);
        nk_page_sentence(page, 2, line.data ? line.data : "");
        nk_buf_clear(&line);
        names(&line, gpu, page->columns - 6, all);
        nk_page_sentence(page, 4, line.data ? line.data : "");
        nk_buf_clear(&line);
    }
    nk_buf_free(&line);
}

static void notes(struct nk_buf *out, const struct nk_everywhere *e)
{
    bool partly = false, memory = false;
    for (size_t i = 0; i < e->count; i++) {
        partly |= lacks_some(&e->gpu[i]);
        memory |= !strcmp(nk_everywhere_word(&e->gpu[i]), "likely");
    }
    enum nk_language language = nk_text_language();
    if (partly) nk_buf_text(out, nk_text_raw(language, NK_TEXT_CHOOSES_BY_GPU));
    if (partly && memory && language == NK_ENGLISH) nk_buf_text(out, " ");
    if (memory) nk_buf_text(out, nk_text_raw(language, NK_TEXT_LIKELY));
}

void nk_everywhere_text(struct nk_buf *out, const struct nk_everywhere *e, size_t columns, bool all)
{
    static const char *const words[][2] = {{"likely", "likely"},   {"missing", "NO"}, {"hollow", "EMPTY"},
                                           {"unknown", "unknown"}, {"jit", "by JIT"}, {"native", "native"}};
    struct nk_page page = {.out = out, .columns = columns ? columns : 80};
    struct nk_buf line = {0};
    nk_buf_text(&line, "nokernel: ");
    headline(&line, e);
    nk_page_sentence(&page, 0, line.data ? line.data : "");
    nk_buf_clear(&line);
    nk_buf_format(out, "\n  %-8s %-8s %8s %8s %8s %8s %8s\n", "GPU", "", "native", "JIT", "empty", "missing",
                  "unknown");
    for (size_t i = 0; i < e->count; i++) {
        const struct nk_everywhere_gpu *g = &e->gpu[i];
        const char *said = "";
        char sm[24];
        for (size_t k = 0; k < sizeof words / sizeof *words; k++)
            if (!strcmp(words[k][0], nk_everywhere_word(g))) said = words[k][1];
        snprintf(sm, sizeof sm, "sm_%d", g->sm);
        nk_buf_format(out, "  %-8s %-8s %8zu %8zu %8zu %8zu %8zu\n", sm, e->kernels ? said : "", g->native, g->jit,
                      g->hollow, g->missing, g->unknown);
    }
    missing(&page, e, all);
    notes(&line, e);
    if (line.size) nk_page_gap(&page);
    nk_page_sentence(&page, 2, line.data ? line.data : "");
    nk_buf_free(&line);
}

void nk_everywhere_markdown(struct nk_buf *out, const struct nk_everywhere *e, bool all)
{
    struct nk_buf text = {0};
    nk_buf_text(out, "### On other GPUs: ");
    headline(out, e);
    nk_buf_text(out, "\n\n| GPU | runs | native | JIT | empty | missing | unknown | missing are |\n"
                     "|---|---|---:|---:|---:|---:|---:|---|\n");
    for (size_t i = 0; i < e->count; i++) {
        const struct nk_everywhere_gpu *g = &e->gpu[i];
        nk_buf_format(out, "| sm\\_%d | %s | %zu | %zu | %zu | %zu | %zu | ", g->sm,
                      e->kernels ? nk_everywhere_word(g) : "", g->native, g->jit, g->hollow, g->missing, g->unknown);
        if (g->missing && !lacks_some(g) && !all)
            nk_buf_text(&text, "all of them");
        else
            names(&text, g, 60, all);
        nk_cell_markdown(out, text.data ? text.data : "");
        nk_buf_text(out, " |\n");
        nk_buf_clear(&text);
    }
    notes(&text, e);
    if (text.size) nk_buf_format(out, "\n%s\n", text.data);
    nk_buf_free(&text);
}
