// python.h - the interpreter, and the folders that it imports from: read from its layout, never run.
#ifndef NK_DOCTOR_PYTHON_H
#define NK_DOCTOR_PYTHON_H

#include "doctor/model.h"

// Fills doctor->python. Where there is none, .why says so and .exe is "".
void nk_python_find(struct nk_doctor *doctor);
// Findings and the row about it.
void nk_python_check(struct nk_doctor *doctor);

#endif
