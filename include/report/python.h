// python.h - the Python stack of a failure as lines of the report.
#ifndef NK_REPORT_PYTHON_H
#define NK_REPORT_PYTHON_H

#include "report/model.h"
#include "report/page.h"

// "train.py:12 in forward  <-  train.py:23 in main", labelled "at": the innermost frames of the program itself; those
// of installed packages and of the standard library only where there are no others. `python` may be NULL. True when
// something was written.
bool nk_row_python(struct nk_page *page, struct nk_run *run, const struct nk_run_python *python, const char *label);

#endif
