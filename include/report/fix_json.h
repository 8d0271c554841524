// fix_json.h - the member "advice" of the JSON report. Used by the command only: it needs jansson.
#ifndef NK_REPORT_FIX_JSON_H
#define NK_REPORT_FIX_JSON_H

#include "report/fix.h"

#include <jansson.h>

// Appends the repairs of a run, the best first, to `list`.
void nk_fix_json(json_t *list, struct nk_run *run, json_int_t recording, const struct nk_run_gpu *asked,
                 bool full_paths);

#endif
