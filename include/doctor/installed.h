// installed.h - what is installed in the folders of an interpreter: distributions and their libraries.
#ifndef NK_DOCTOR_INSTALLED_H
#define NK_DOCTOR_INSTALLED_H

#include "base/bytes.h"
#include "doctor/model.h"

// Fills doctor->packages and, with the libraries that hold device code, doctor->libraries. Tells of what is left over
// or lost on the way (leftovers of older installs, files that a package lists and lacks).
void nk_installed_find(struct nk_doctor *doctor);
// Findings about places: packages that are there twice, or come from where nobody expects them.
void nk_installed_check(struct nk_doctor *doctor);

// Reads the metadata of a package that matters; it then counts as known.
void nk_installed_learn(struct nk_doctor *doctor, struct nk_doctor_package *package);
// A framework or a companion of one, by name.
bool nk_installed_known(const char *name);
// A package of NVIDIA's own libraries (nvidia-cublas-cu12).
bool nk_installed_nvidia(const char *name);

// Adds the library when it holds device code. NULL when it holds none, cannot be read, or is there already.
struct nk_doctor_library *nk_coverage_add(struct nk_doctor *doctor, const char *path,
                                          struct nk_doctor_package *package);
// Looks at a library that is no package's: true when it holds device code, with verdicts; then drop it afterwards.
bool nk_coverage_look(struct nk_doctor *doctor, const char *path, struct nk_doctor_library *library);
void nk_coverage_drop(struct nk_doctor_library *library);
// "sm_80 sm_90, no PTX".
void nk_coverage_has(const struct nk_doctor_library *library, struct nk_buf *out);
// Fills the verdicts of all libraries, once the GPUs are known.
void nk_coverage_judge(struct nk_doctor *doctor);

#endif
