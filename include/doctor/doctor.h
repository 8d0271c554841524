// doctor.h - looks at everything that decides whether GPU programs run in an environment.
//
// Nothing of the environment is run or imported; the driver is opened in a child process. No network.
#ifndef NK_DOCTOR_DOCTOR_H
#define NK_DOCTOR_DOCTOR_H

#include "base/err.h"
#include "doctor/model.h"
#include "report/page.h"

#include <jansson.h>

// Fills *doctor (whatever was in it); free it with nk_doctor_free. What cannot be looked at becomes a finding or an
// unchecked row. 0, or -1 with a sentence when `asked` makes no sense (GPUs) or memory was short.
int nk_doctor_examine(struct nk_doctor *doctor, const struct nk_doctor_asked *asked, struct nk_err *err);

// How many findings are at least that severe.
size_t nk_doctor_count(const struct nk_doctor *doctor, enum nk_severity severity);
// The likely cause, or NULL.
const struct nk_doctor_finding *nk_doctor_cause(const struct nk_doctor *doctor);
// "ok", "note", "warning", "FAILS", "not checked".
const char *nk_doctor_status(const struct nk_doctor *doctor, const struct nk_doctor_row *row);

// As one screen of text (column counts of 80), and as JSON (schema nokernel-doctor/1).
void nk_doctor_write_text(struct nk_buf *out, const struct nk_doctor *doctor, bool colour);
void nk_doctor_write_json(struct nk_buf *out, const struct nk_doctor *doctor);

// ---- parts of it, for a command that shows less

// The driver and its GPUs alone. Where the driver does not work, findings say why.
void nk_doctor_examine_driver(struct nk_doctor *doctor, const struct nk_doctor_asked *asked);
void nk_doctor_write_findings(struct nk_page *page, const struct nk_doctor *doctor);
// Members of the JSON: NULL when memory is short.
json_t *nk_doctor_json_driver(const struct nk_doctor *doctor);
json_t *nk_doctor_json_findings(const struct nk_doctor *doctor);

#endif
