// driver.h - the driver and its GPUs, asked in a child process: a driver that hangs or crashes takes nothing with it.
#ifndef NK_DOCTOR_DRIVER_H
#define NK_DOCTOR_DRIVER_H

#include "base/child.h"
#include "doctor/model.h"

enum { NK_DRIVER_SECONDS = 10 }; // that an answer may take

struct nk_driver_child {
    struct nk_child child[2]; // [0] as the environment says, [1] without CUDA_VISIBLE_DEVICES
};

// Starts the children; what else is to be done can be done meanwhile. Does nothing when GPUs were named.
void nk_driver_start(struct nk_doctor *doctor, struct nk_driver_child *child);
// Waits for their answers, then fills doctor->driver and doctor->gpus.
void nk_driver_finish(struct nk_doctor *doctor, struct nk_driver_child *child);
// Findings and rows about driver and GPUs.
void nk_driver_check(struct nk_doctor *doctor);

#endif
