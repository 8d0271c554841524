// json_parts.h - what the files that make the JSON report share: src/report/json*.c alone.
//
// Every function that returns a json_t gives it to the caller; JSON null stands for what is not known, never a missing
// member. Texts of a recording may hold any bytes: they become valid UTF-8 (base/json_text.h).
#ifndef NK_REPORT_JSON_PARTS_H
#define NK_REPORT_JSON_PARTS_H

#include "base/json_text.h"
#include "report/sums.h"
#include "report/text.h"

#include <jansson.h>

struct nk_json_doc {
    json_t *recordings, *gpus, *libraries, *kernels, *failures, *probes, *refused, *contradictions, *notes, *advice;
    json_t *unknown_calls;
    struct nk_sums sum; // over all recordings
    size_t none;        // with --gpu: kernels that would be missing there
    json_t *process;    // of the first recording with a failure, else of the first
    bool failed;        // that one has a failure
};

// What functions of one recording pass on.
struct nk_json_at {
    struct nk_json_doc *doc;
    struct nk_run *run;
    json_int_t index;
    const struct nk_text_options *options;
    const struct nk_run_gpu *asked; // with --gpu
};

// ---- values (json_values.c)

json_t *nk_json_id(const struct nk_json_at *at, uint32_t string);    // a string of the recording
json_t *nk_json_path(const struct nk_json_at *at, const char *from); // the home folder as "~", unless asked otherwise
json_t *nk_json_library(const struct nk_json_at *at, const struct nk_run_library *library); // its path; null for NULL
json_t *nk_json_demangled(const char *mangled);
json_t *nk_json_cuda(uint32_t version);                        // 12040: "12.4"; 0: null
json_t *nk_json_ordinal(const struct nk_run_gpu *gpu);         // null for NULL and for a GPU that was only asked about
json_t *nk_json_when(uint64_t nanoseconds);                    // since 1970, as ISO 8601 in UTC; 0: null
json_t *nk_json_number(uint64_t value);                        // more than JSON's integers hold: their largest
json_t *nk_json_archs(const struct nk_archs *archs, int kind); // names of those of a kind; -1: of all

// The members that say how something would run (runs, reason, has, needs), and where it lies (library, package,
// version, loaded_by). `holds`: which images of the container hold the kernel, or NULL; the container may be NULL.
void nk_json_add_verdict(const struct nk_json_at *at, json_t *object, const struct nk_run_container *c,
                         const unsigned char *holds, const struct nk_run_gpu *gpu, struct nk_verdict verdict);
void nk_json_add_place(const struct nk_json_at *at, json_t *object, const struct nk_run_container *c);

// ---- launches (json_launches.c): null where a failure has none

json_t *nk_json_graph(const struct nk_json_at *at, const struct nk_run_graph *graph);
json_t *nk_json_trail(const struct nk_json_at *at, const struct nk_run_failure *f);

// ---- members of the document

struct nk_exercised;
struct nk_everywhere;
json_t *nk_json_exercised(const struct nk_exercised *e, bool full_paths); // json_more.c
json_t *nk_json_everywhere(const struct nk_everywhere *e);

void nk_json_add_recording(const struct nk_json_at *at, const struct nk_sums *sums);   // json_process.c
void nk_json_add_failure(const struct nk_json_at *at, const struct nk_run_failure *f); // json_failures.c

#endif
