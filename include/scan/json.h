// json.h - a scan as JSON, of the schema "nokernel-scan/1" (include/report/schema/nokernel-scan-1.json).
//
// Used by the command only: it needs jansson.
#ifndef NK_SCAN_JSON_H
#define NK_SCAN_JSON_H

#include "scan/gate.h"
#include "scan/text.h"

#include <jansson.h>

// Appends the document and a line end. Fails only as nk_buf does.
void nk_scan_write_json(struct nk_buf *out, const struct nk_scan *scan, const struct nk_scan_show *show,
                        const struct nk_scan_findings *findings);
// The findings as SARIF 2.1.0, for code scanning services.
void nk_scan_write_sarif(struct nk_buf *out, const struct nk_scan *scan, const struct nk_scan_show *show,
                         const struct nk_scan_findings *findings);
// The findings as JUnit XML: a suite an item, a case a library and GPU (and one for what is expected).
void nk_scan_write_junit(struct nk_buf *out, const struct nk_scan *scan, const struct nk_scan_show *show,
                         const struct nk_scan_findings *findings);

// Parts that the documents share; new references.
json_t *nk_scan_json_path(const char *path, const struct nk_scan_show *show);
json_t *nk_scan_json_gpus(const struct nk_scan_show *show);
json_t *nk_scan_json_problems(const struct nk_scan *scan, const struct nk_scan_show *show);

#endif
