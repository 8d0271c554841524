// requires.h - what a package says that it needs: Requires-Dist of METADATA, with versions and markers (PEP 508, 440).
#ifndef NK_DOCTOR_REQUIRES_H
#define NK_DOCTOR_REQUIRES_H

#include <stdbool.h>
#include <stddef.h>

struct nk_requirement {
    char name[128];   // "nvidia-cublas-cu12"
    char extras[128]; // "[cublas,cudart]"; ""
    char spec[128];   // "==12.1.3.1", ">=2,<3"; "" any version
};

// The environment that markers ask about.
struct nk_marker_env {
    const char *python;  // "3.11"
    const char *full;    // "3.11.7"
    const char *machine; // "x86_64"
};

// The next requirement of a METADATA text that holds in that environment; *rest starts at the text and moves on. False
// at the end. Those of extras do not hold.
bool nk_requires_next(const char **rest, const struct nk_marker_env *env, struct nk_requirement *out);
// Does the version fulfil it? What follows "+" counts only where the specifier has it. A clause that is not understood
// is taken as fulfilled.
bool nk_requires_met(const char *spec, const char *version);

#endif
