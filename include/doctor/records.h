// records.h - the libraries of the installed distributions, by their RECORD; and what is there without one.
#ifndef NK_DOCTOR_RECORDS_H
#define NK_DOCTOR_RECORDS_H

#include "doctor/model.h"

void nk_records_read(struct nk_doctor *doctor);

#endif
