// gpus.h - the GPUs that --gpu asks about.
#ifndef NK_SCAN_GPUS_H
#define NK_SCAN_GPUS_H

#include "scan/sum.h"

enum { NK_SCAN_GPUS = 64 };

struct nk_scan_gpus {
    struct nk_scan_gpu gpu[NK_SCAN_GPUS];
    size_t count;
};

// Reads "sm_120", "12.0@13.0,sm_89@535", "all" (every architecture that is known, with any driver). Behind @ stands the
// CUDA version that the driver is for (12.4, 12040) or the driver's own number (535, 580.65). 0, or -1 with a sentence.
int nk_scan_gpus_parse(const char *text, struct nk_scan_gpus *gpus, struct nk_err *err);

#endif
