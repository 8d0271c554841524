// markdown.h - the report to paste into an issue: a sentence, a table, the text report, how to see more.
#ifndef NK_REPORT_MARKDOWN_H
#define NK_REPORT_MARKDOWN_H

#include "report/text.h"

// As nk_report_text.
int nk_report_markdown(const char *const *paths, size_t count, const struct nk_text_options *options,
                       struct nk_buf *out, struct nk_err *err);

#endif
