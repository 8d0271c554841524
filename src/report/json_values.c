// json_values.c - values of the JSON report: texts, paths, versions, lists of architectures, verdicts.
#define _GNU_SOURCE
#include "report/json_parts.h"
#include "base/json_text.h"
#include "report/words.h"

#include <time.h>

json_t *nk_json_id(const struct nk_json_at *at, uint32_t string)
{
    return nk_json_or_null(nk_run_text(at->run, string));
}

// The contents of a buffer, which it empties.
static json_t *buf(struct nk_buf *from)
{
    json_t *value = nk_json_or_null(from->data);
    nk_buf_free(from);
    return value;
}

json_t *nk_json_path(const struct nk_json_at *at, const char *from)
{
    struct nk_buf out = {0};
    nk_words_redacted(&out, from, at->options->full_paths);
    return buf(&out);
}

json_t *nk_json_library(const struct nk_json_at *at, const struct nk_run_library *library)
{
    return library ? nk_json_path(at, library->path) : json_null();
}

json_t *nk_json_demangled(const char *mangled)
{
    struct nk_buf out = {0};
    nk_words_kernel(&out, mangled, 0);
    return buf(&out);
}

json_t *nk_json_cuda(uint32_t version)
{
    return version ? json_sprintf("%u.%u", version / 1000, version % 1000 / 10) : json_null();
}

json_t *nk_json_ordinal(const struct nk_run_gpu *gpu)
{
    return gpu && !gpu->asked ? json_integer(gpu->r.ordinal) : json_null();
}

json_t *nk_json_when(uint64_t nanoseconds)
{
    char out[40];
    time_t seconds = (time_t)(nanoseconds / 1000000000u);
    struct tm utc;
    if (!nanoseconds || !gmtime_r(&seconds, &utc) || !strftime(out, sizeof out, "%Y-%m-%dT%H:%M:%SZ", &utc))
        return json_null();
    return json_string(out);
}

json_t *nk_json_number(uint64_t value) { return json_integer((json_int_t)(value > INT64_MAX ? INT64_MAX : value)); }

// ---- lists of architectures

json_t *nk_json_archs(const struct nk_archs *archs, int kind) // kind -1: all
{
    json_t *list = json_array();
    for (size_t i = 0; i < archs->count; i++) {
        struct nk_buf name = {0};
        if (kind >= 0 && archs->item[i].kind != kind) continue;
        nk_words_arch(&name, &archs->item[i], true);
        json_array_append_new(list, buf(&name));
    }
    return list;
}

static json_t *has(const struct nk_run_container *c, const unsigned char *holds)
{
    struct nk_archs archs = {0};
    if (c) nk_archs_add(&archs, c, holds);
    return nk_json_archs(&archs, -1);
}

static json_t *needs(const struct nk_json_at *at, const struct nk_run_container *c, const unsigned char *holds,
                     const struct nk_run_gpu *gpu, struct nk_verdict verdict)
{
    struct nk_buf out = {0};
    if (verdict.runs == NK_RUNS_NONE || verdict.runs == NK_RUNS_HOLLOW) nk_words_needs(&out, at->run, c, holds, gpu);
    return buf(&out);
}

// The members that say how something would run: in kernels and in failures.
void nk_json_add_verdict(const struct nk_json_at *at, json_t *object, const struct nk_run_container *c,
                         const unsigned char *holds, const struct nk_run_gpu *gpu, struct nk_verdict verdict)
{
    json_object_set_new(object, "runs", json_string(nk_runs_word(verdict.runs)));
    json_object_set_new(object, "reason", nk_json_or_null(nk_reason_key(verdict.reason)));
    json_object_set_new(object, "has", has(c, holds));
    json_object_set_new(object, "needs", needs(at, c, holds, gpu, verdict));
}

void nk_json_add_place(const struct nk_json_at *at, json_t *object, const struct nk_run_container *c)
{
    const struct nk_run_library *library = c ? c->library : NULL;
    json_object_set_new(object, "library",
                        library ? nk_json_library(at, library)
                        : c     ? nk_json_path(at, c->file)
                                : json_null());
    json_object_set_new(object, "package", library ? nk_json_or_null(library->package) : json_null());
    json_object_set_new(object, "version", library ? nk_json_or_null(library->version) : json_null());
    json_object_set_new(object, "loaded_by", c ? nk_json_library(at, c->loader) : json_null());
}
