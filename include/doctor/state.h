// state.h - what an environment consists of, as JSON that two times can be compared by: see saved.h.
#ifndef NK_DOCTOR_STATE_H
#define NK_DOCTOR_STATE_H

#include "doctor/model.h"

#include <jansson.h>

// A new reference: {"gpus", "driver", "python": texts; "settings": texts by name; "packages", "libraries", "runtimes":
// {"version", "content"} by name}; packages also "installer" and "spec", what that calls them ("" when unknown). NULL
// when memory is short.
json_t *nk_doctor_state(const struct nk_doctor *doctor);

#endif
