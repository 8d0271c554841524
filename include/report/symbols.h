// symbols.h - names for the functions of a native stack that the process itself could not name.
//
// A recording keeps a library, its build-id and an offset for each frame, and the names that the library exports. The
// names of other functions (static ones, for instance) are looked up when a report is made: in the symbol table of the
// library's file, or of a separate file of symbols (/usr/lib/debug/.build-id, .gnu_debuglink). A file is only believed
// if its build-id is that of the recording.
#ifndef NK_REPORT_SYMBOLS_H
#define NK_REPORT_SYMBOLS_H

#include "report/model.h"

// Fills symbol, displacement and named of the frames that have no name yet. What cannot be read stays as it is.
void nk_symbols_name(struct nk_run *run);

#endif
