// checks.h - what follows from what was looked at: each function adds findings and rows of its area.
#ifndef NK_DOCTOR_CHECKS_H
#define NK_DOCTOR_CHECKS_H

#include "doctor/model.h"

void nk_check_framework(struct nk_doctor *doctor);  // CPU builds, frameworks
void nk_check_companions(struct nk_doctor *doctor); // pairs, requirements, CUDA majors
void nk_check_runtime(struct nk_doctor *doctor);    // libraries that the loader would take
void nk_check_coverage(struct nk_doctor *doctor);   // code for the GPUs
void nk_check_recordings(struct nk_doctor *doctor); // refused launches; after nk_check_coverage
void nk_check_settings(struct nk_doctor *doctor);   // environment variables
// The variables that count: i = 0, 1, ...; NULL at the end.
const char *nk_check_setting(size_t i);
void nk_check_toolkit(struct nk_doctor *doctor);
void nk_check_compilers(struct nk_doctor *doctor); // of packages that compile at run time
void nk_check_caches(struct nk_doctor *doctor);

// Does a compiler of that CUDA version know the architecture?
bool nk_check_compiles(int sm, int cuda);
// What to do about a package on a GPU: fills the finding's advice.
void nk_check_advise(struct nk_doctor *doctor, struct nk_doctor_finding *finding,
                     const struct nk_doctor_library *library);
// The same where the package (not NULL) has no code for any GPU: another build of it for those that are here (one at
// least).
void nk_check_advise_build(struct nk_doctor *doctor, struct nk_doctor_finding *finding);

#endif
