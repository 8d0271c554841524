// override.h - rows of a user's own in place of, or beside, those of the embedded tables (NOKERNEL_KNOWLEDGE).
//
// Only commands read them: a watched program's process never does. Not safe to call while other threads read tables.
#ifndef NK_ADVICE_OVERRIDE_H
#define NK_ADVICE_OVERRIDE_H

#include "base/bytes.h"
#include "base/err.h"

// `path`: a file NAME.tsv of one table, or a folder with such files. 0, or -1 with a sentence that names the file, the
// line and what was expected; then all tables are as they were.
int nk_knowledge_override(const char *path, struct nk_err *err);
// The same from bytes: `name` is that of the table, `where` is put before sentences.
int nk_knowledge_read(const char *name, struct nk_bytes text, const char *where, struct nk_err *err);
// Back to the embedded tables; gives the memory back.
void nk_knowledge_reset(void);

#endif
