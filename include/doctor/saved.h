// saved.h - an environment that worked, kept in a file; and what has changed since.
//
// The file is JSON (schema nokernel-doctor-saved/1): GPUs, driver, Python, frameworks and companions with a fingerprint
// of their RECORD, libraries with GPU code with the hash that RECORD gives them, CUDA libraries that the loader takes,
// settings. Nothing of it is read again but by nk_doctor_compare.
#ifndef NK_DOCTOR_SAVED_H
#define NK_DOCTOR_SAVED_H

#include "base/err.h"
#include "doctor/model.h"

// Writes the file (a part file beside it, then renamed). 0, or -1 with a sentence.
int nk_doctor_save(const struct nk_doctor *doctor, const char *path, struct nk_err *err);

// Who installed a package, and what he calls it: see state.h.
struct nk_doctor_by {
    const char *installer, *spec;
};
struct nk_doctor_change {
    const char *area;                    // "GPU", "driver", "python", "package", "library", "runtime", "setting"
    const char *name;                    // "torch", "CUDA_VISIBLE_DEVICES"; "" for areas of one thing
    const char *then, *now;              // "" when it was not there, or is not
    struct nk_doctor_by then_by, now_by; // of packages
};
struct nk_doctor_changes {
    char saved[32]; // when: "2026-11-30T07:20:00Z"
    struct nk_doctor_change *change;
    size_t count, room;
    size_t packages, libraries; // that were compared
    struct nk_doctor_back {
        enum nk_text text;
        const char *value;   // put into the text
        const char *command; // "" when there is none
        enum nk_text safety;
    } * back; // what brings it back, in this order
    size_t back_count, back_room;
};

// Fills changes->back from what changed: way_back.c. Texts belong to the doctor.
void nk_doctor_way_back(struct nk_doctor *doctor, struct nk_doctor_changes *changes);

// Compares with a saved file. 0, or -1 with a sentence: it cannot be read, or was not made by --save. Texts belong to
// the doctor; free *changes before it.
int nk_doctor_compare(struct nk_doctor *doctor, const char *path, struct nk_doctor_changes *changes,
                      struct nk_err *err);
void nk_doctor_changes_free(struct nk_doctor_changes *changes);

void nk_doctor_changes_text(struct nk_buf *out, const struct nk_doctor *doctor, const struct nk_doctor_changes *changes,
                            const char *path);
void nk_doctor_changes_json(struct nk_buf *out, const struct nk_doctor *doctor,
                            const struct nk_doctor_changes *changes);

#endif
