// parts.h - what the files of the room share. No other room needs this door.
#ifndef NK_ADVICE_PARTS_H
#define NK_ADVICE_PARTS_H

#include "advice/advice.h"
#include "advice/installer.h"
#include "advice/knowledge.h"

// The next repair to fill, its text begun with a text of the catalogue; NULL when there are three already.
struct nk_repair *nk_repair_add(struct nk_advice *out, enum nk_text safe, const char *evidence, enum nk_text text,
                                const char *first, const char *second, const char *third, const char *fourth);
// Adds a further sentence after a semicolon. `repair` may be NULL.
void nk_repair_say(struct nk_advice *out, struct nk_repair *repair, enum nk_text text, const char *first);
// Where only its makers can help, and there is a recording: the text for an issue. `repair` may be NULL.
void nk_repair_upstream(struct nk_advice *out, struct nk_repair *repair, const struct nk_advice_case *about);
// It is not safe after all.
void nk_repair_risks(struct nk_repair *repair, enum nk_text risk);
// The command of pip or uv for the case, up to the names. `command` may be NULL.
void nk_repair_pip(struct nk_buf *command, const struct nk_advice_case *about, enum nk_installing what);

enum { NK_NAME_TEXT = 48 }; // bytes for names that are made on the stack
// "sm_120"; "CUDA 12.8" without the word: "12.8".
const char *nk_name_sm(char out[NK_NAME_TEXT], int sm);
const char *nk_name_cuda(char out[NK_NAME_TEXT], int cuda);
// "8.7" of 87.
const char *nk_name_cc(char out[NK_NAME_TEXT], int sm);
// The driver branch for a CUDA version: "580", or "" when it is not known.
const char *nk_name_driver(char out[NK_NAME_TEXT], int cuda);
// "CUDA 12.8 or newer", "CUDA 9.0 to 12.9": the toolkits that compile for the architecture. False: not known.
bool nk_name_toolkit(struct nk_buf *out, enum nk_language language, int sm);
// A cell of prose; its Chinese stands in the next column, and may be missing in rows of a user's own.
const char *nk_known_in(enum nk_language language, const struct nk_knowledge *table, int row, int column);
// Package names are one when they differ only in case and in "-", "_" and ".".
bool nk_same_package(const char *a, const char *b);
// May code for this CUDA version start on this driver? (Minor-version compatibility; 0 unknown: yes.)
bool nk_driver_starts(int driver, int cuda);

// The machine that the GPU sits in: Tegra boards and GB10 are aarch64, wherever this is asked.
const char *nk_case_machine(const struct nk_advice_case *about);

// A wheel of torch: an exact version of a row of torch_wheels.
struct nk_wheel {
    int row;
    const char *torch; // "2.7.1"
    const char *variant;
    int cuda;
};
enum { NK_WHEELS_MOST = 256 };
// All of them for a machine, in rising order of version, then of CUDA. Returns how many.
size_t nk_wheels(struct nk_wheel out[NK_WHEELS_MOST], const char *machine);
// Has it machine code that runs there? `linalg`: in its linear algebra library too, as far as is measured.
bool nk_wheel_serves(const struct nk_wheel *wheel, int sm, bool linalg);

// Repairs for torch itself.
void nk_advise_torch(const struct nk_advice_case *about, struct nk_advice *out);
// Another version of a package, or another package. True when something was found that helps.
bool nk_advise_package(const struct nk_advice_case *about, struct nk_advice *out);
// What conda and Debian installed is left or stepped round before pip comes. `name`: what they call it.
void nk_advise_installer(const struct nk_advice_case *about, const char *name, struct nk_advice *out);
// Building it for the GPU.
void nk_advise_build(const struct nk_advice_case *about, struct nk_advice *out);

#endif
