// json.h - the report as JSON, of the schema "nokernel-report/1" (include/report/schema/nokernel-report-1.json).
//
// One document for all recordings. Used by the command only: it needs jansson.
#ifndef NK_REPORT_JSON_H
#define NK_REPORT_JSON_H

#include "report/text.h"

// Appends the document and a line end. 0; -1 with a sentence when a recording cannot be read (the others are in the
// document all the same) or memory is short. Of the options `columns` and `colour` mean nothing here.
int nk_report_json(const char *const *paths, size_t count, const struct nk_text_options *options, struct nk_buf *out,
                   struct nk_err *err);

#endif
