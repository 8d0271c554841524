// json_more.c - members of the JSON report that are there when they were asked for: exercised, everywhere.
#include "report/json_parts.h"
#include "base/json_text.h"
#include "report/everywhere.h"
#include "report/exercised.h"
#include "report/words.h"

#include <string.h>

static json_t *counts(const struct nk_exercised_count *c)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "native", nk_json_number(c->native), "jit",
                     nk_json_number(c->jit), "empty", nk_json_number(c->empty), "failed", nk_json_number(c->failed),
                     "unknown", nk_json_number(c->unknown), "idle", nk_json_number(c->idle), "held",
                     nk_json_number(c->held), "launches", nk_json_number(c->launches));
}

static json_t *held(const struct nk_exercised_library *library)
{
    json_t *object = json_object();
    for (unsigned kind = 0; kind < NK_KINDS; kind++)
        if (library->held[kind]) json_object_set_new(object, nk_kind_word(kind), nk_json_number(library->held[kind]));
    return object;
}

json_t *nk_json_exercised(const struct nk_exercised *e, bool full)
{
    json_t *kinds = json_object(), *libraries = json_array();
    for (unsigned kind = 0; kind < NK_KINDS; kind++) {
        const struct nk_exercised_count *c = &e->of[kind];
        if (nk_kind_word(kind)) json_object_set_new(kinds, nk_kind_word(kind), counts(c));
    }
    for (size_t i = 1; i < e->library_count; i++) {
        const struct nk_exercised_library *l = &e->libraries[i];
        struct nk_buf path = {0};
        nk_words_redacted(&path, l->path, full);
        json_array_append_new(libraries, json_pack("{s:o, s:o, s:o, s:b, s:o}", "path", nk_json_or_null(path.data),
                                                   "package", nk_json_or_null(l->package), "version",
                                                   nk_json_or_null(l->version), "read", l->read, "held", held(l)));
        nk_buf_free(&path);
    }
    return json_pack("{s:o, s:o, s:o, s:o}", "total", counts(&e->total), "classified", nk_json_number(e->classified),
                     "kinds", kinds, "libraries", libraries);
}

// Lines of a buffer as an array.
static json_t *lines(const struct nk_buf *from)
{
    json_t *array = json_array();
    for (const char *at = from->data, *end; at && *at; at = end + 1) {
        struct nk_buf line = {0};
        end = strchr(at, '\n');
        nk_buf_add(&line, at, (size_t)(end - at));
        json_array_append_new(array, nk_json_text(line.data ? line.data : ""));
        nk_buf_free(&line);
    }
    return array;
}

json_t *nk_json_everywhere(const struct nk_everywhere *e)
{
    json_t *gpus = json_array();
    for (size_t i = 0; i < e->count; i++) {
        const struct nk_everywhere_gpu *g = &e->gpu[i];
        json_array_append_new(
            gpus, json_pack("{s:o, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "sm", json_sprintf("sm_%d", g->sm), "runs",
                            nk_everywhere_word(g), "native", (json_int_t)g->native, "jit", (json_int_t)g->jit, "hollow",
                            (json_int_t)g->hollow, "missing", (json_int_t)g->missing, "unknown", (json_int_t)g->unknown,
                            "memory", (json_int_t)g->memory, "kernels", lines(&g->names)));
    }
    return json_pack("{s:I, s:o, s:o}", "kernels", (json_int_t)e->kernels, "cuda", nk_json_cuda((uint32_t)e->driver),
                     "gpus", gpus);
}
