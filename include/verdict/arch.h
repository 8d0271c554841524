// arch.h - names of architectures, and what is known about them (arch.def).
//
// An architecture is a number (120 = compute capability 12.0) and a suffix: 0, 'a' (that one only) or 'f' (its family).
#ifndef NK_VERDICT_ARCH_H
#define NK_VERDICT_ARCH_H

#include "base/err.h"

#include <stdbool.h>

struct nk_arch {
    int sm;       // 90
    char suffix;  // 0, 'a', 'f'
    bool virtual; // "compute_90": what PTX is made for
};

enum nk_kin {
    NK_KIN_UNKNOWN, // not in arch.def: newer than this build, or a mistake
    NK_KIN_DESKTOP, // runs code of lower minor numbers of its generation
    NK_KIN_TEGRA,   // runs only code made for exactly it
    NK_KIN_ALONE,   // the same, though no Tegra
};

enum { NK_ARCH_TEXT = 24 }; // bytes for the longest name

// Reads "sm_90a", "compute_120f", "12.0", "9.0a", "90", "sm120", in either case. 0, or -1 with a sentence.
int nk_arch_parse(const char *text, struct nk_arch *out, struct nk_err *err);
// Writes "sm_90a" or "compute_90a" into `out` and returns it.
const char *nk_arch_text(char out[NK_ARCH_TEXT], struct nk_arch arch);

enum nk_kin nk_arch_kin(int sm);
// True when both are names of one architecture: equal, or renamed (101 and 110).
bool nk_arch_same(int a, int b);
// CUDA version (13010) of the first driver of which it is not known whether TEGRA and ALONE architectures of this
// generation still stand alone, or 0: they do.
int nk_arch_alone_until(int major);
// Generation: 12 for 121.
int nk_arch_major(int sm);
// Does code for sm_<target>f run on sm? 1 yes, 0 no, -1 not known (sm or target is not in arch.def).
int nk_arch_in_family(int target, int sm);
// Walks the known architectures in rising order: the first one above sm, or 0.
int nk_arch_next(int sm);

// The newest PTX ISA that a driver of this CUDA version (13000) compiles: 90 = 9.0. A driver between two rows of
// arch.def counts as the older one. 0: older than the table. *exact (may be NULL) is false for a driver newer than
// every row, whose limit is then at least the returned one.
int nk_driver_ptx_limit(int cuda, bool *exact);
// CUDA version (12040) of the first driver that compiles this PTX ISA, and in *branch (may be NULL) its number (550, or
// 0 where not known). 0: newer than the table.
int nk_driver_for_ptx(int isa, int *branch);

enum nk_reads {
#define NK_DRIVER_READS(what, cuda, source) NK_READS_##what,
#include "verdict/arch.def"
#undef NK_DRIVER_READS
    NK_READS_COUNT
};
// CUDA version of the first driver that can read it.
int nk_driver_reads(enum nk_reads what);

#endif
