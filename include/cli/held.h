// held.h - the names of all kernels in the libraries of a recording, read from their files.
#ifndef NK_CLI_HELD_H
#define NK_CLI_HELD_H

#include "report/exercised.h"

// Reads each library that is still the recorded one (same build id); the others are left as not read. Names that a
// library keeps inside compressed code are read too, which takes about a second for 500 MB.
void nk_held_read(struct nk_exercised *exercised);

#endif
